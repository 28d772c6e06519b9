"""Gemma 2: windows and whole texts by turns."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.attention.token_reach import LAYER_WINDOWS
from ncd.app.panels.language_models.model_size import MODEL_SIZE
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Every second layer sees only the last few words; the layers between them see the whole text.
"""

WHY = """
A layer that sees all positions has to keep the keys and values of all, and compare each word with
each. A layer with a window of *w* keeps *w* of them, whatever the length of the text. What it
cannot see reaches it through the layers in between: a whole layer has gathered from everywhere, and
hands on. Stacked windows alone also reach back, *w* − 1 positions further with each layer.

The maps of the panel *Attention* show both: bands next to full triangles. Numbers that could grow
without limit are bent: a score *s* becomes 50 · tanh(*s* / 50), and the scores of words likewise
with 30. A norm stands before each part, and one behind it. As in [GPT-2](gpt-2), the table of words
gives the scores as well.

Gemma's published norms multiply by one plus a weight; here they multiply by the weight itself.

Sources: Gemma Team 2024, *Gemma 2: Improving Open Language Models at a Practical Size*, section 2
and table 1; Beltagy et al. 2020, *Longformer*, section 3.1, for stacked windows.
"""

render_page(
    entry=catalogue["gemma"],
    lead=LEAD,
    why=WHY,
    panels=(
        LAYER_WINDOWS,
        ATTENTION_MAPS,
        MODEL_SIZE,
        CACHED_PASS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
