"""A decoder without an encoder, as in GPT: architecture 2 of the tutorial."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.attention.kv_cache import KV_CACHE
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A language model's layer: every position looks only back, so that all of them can learn at once to
say what comes next.
"""

WHY = """
It is the encoder's layer with one change, the mask. As no position sees what follows it, one pass
over a text of *t* words is *t* exercises in guessing the next word. And when the model writes, what
it has worked out for the earlier words stays as it is: only the new word has to go through the
layers, and it needs the others' keys and values, nothing else. Those are kept: the KV cache. Switch
it on, and the diagram is one such step: one position comes in, and for each layer what it has kept.

Sources: *From autograd to transformers*, architecture 2; Radford et al. 2019, *Language Models are
Unsupervised Multitask Learners*, section 2.3.
"""

render_page(
    entry=catalogue["decoder-only-block"],
    lead=LEAD,
    why=WHY,
    panels=(
        ATTENTION_MAPS,
        KV_CACHE,
        CACHED_PASS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
