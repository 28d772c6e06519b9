"""The transformer's decoder: architecture 2 of the tutorial from autograd to transformers."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.attention.kv_cache import KV_CACHE
from ncd.app.panels.attention.torch_layer import TORCH_LAYER
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
The text that is being written looks back at itself, and then at the text that was read.
"""

WHY = """
The first attention is masked: query *y* puts no weight on later keys, or in training it would just
copy the word that it has to predict. The second takes its queries from what is written
and its keys and values from what was read, the *s* positions of the encoder: cross-attention, the
only place where the two meet. The same *s* positions go to every layer, so their wire passes the
brackets instead of running through them.

When it writes word by word, the keys and values of the earlier words do not change, and those of
the *s* positions are the same at every step: both are kept. Switch the cache on, and the diagram is
one such step.

In the tutorial's picture the sums are called “Add & Norm”, but in its code the norm comes before,
and the node only adds.

Sources: *From autograd to transformers*, architecture 2; Vaswani et al. 2017, *Attention Is All You
Need*, sections 3.1 and 3.2.3.
"""

render_page(
    entry=catalogue["decoder-block"],
    lead=LEAD,
    why=WHY,
    panels=(
        ATTENTION_MAPS,
        KV_CACHE,
        TORCH_LAYER,
        CACHED_PASS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
