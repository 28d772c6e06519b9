"""Sliding window: every layer sees a few positions back, and many layers see far."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.attention.token_reach import TOKEN_REACH
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Layers of attention in which a position sees only itself and the few before it; what is further away
comes through the layers between.
"""

WHY = """
Full attention compares every position with all before it: twice the text is four times the work,
and the cache grows with every token. With a window of *w* positions the work grows with the text
only, and the cache never holds more than *w* tokens. Far tokens are not lost. After one layer a
position holds something of the *w* − 1 before it, and the next layer sees positions that hold
something of their own past: after *n* layers it can be reached by *n*·(*w* − 1) positions back.
Near tokens come straight, far ones by many steps, in which they are mixed with others; so a model
often has some layers with full attention in between. Here the window is a mask, and hidden scores
are worked out all the same; a fast kernel leaves them out.

Sources: Jiang et al. 2023, *Mistral 7B*, section 2 and figure 1; Beltagy et al. 2020, *Longformer:
The Long-Document Transformer*, section 3.1; Gemma Team 2024, *Gemma 2*, section 2.1, for windows in
every other layer.
"""

render_page(
    entry=catalogue["sliding-window"],
    lead=LEAD,
    why=WHY,
    panels=(
        TOKEN_REACH,
        ATTENTION_MAPS,
        CACHED_PASS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
