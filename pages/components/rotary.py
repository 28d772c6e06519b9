"""Rotary positions: queries and keys turn, and scores depend on distances."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.position_panels import ROTATING_PAIRS
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Queries and keys are turned, pair by pair of features, by an angle that grows with their position:
so a score knows how far apart two tokens are, and not where the text begins.
"""

WHY = """
Attention alone does not know the order of its inputs. Here each pair of features of a query and of
a key is a point in a plane, and is turned by its position times an angle of the pair. The inner
product of two vectors depends on the angle between them only: turn the query by *i* steps and the
key by *j*, and what is left is a turn by *i* − *j*. So the score is one of contents and distance.
The first pair turns by 1 radian a position. The last turns by 1/3,162 for *k* = 16, and for larger
*k* by ever less, down to 1/10,000. The fast ones tell neighbours apart, and the slow ones far
places. Nothing is learned and nothing is added to the features, and values are not turned. Move the
first position: all hands turn, and all scores stay.

Sources: Su et al. 2021, *RoFormer: Enhanced Transformer with Rotary Position Embedding*, section
3.2 (equations 12 to 16) and 3.4.3.
"""

render_page(
    entry=catalogue["rotary"],
    lead=LEAD,
    why=WHY,
    panels=(
        ROTATING_PAIRS,
        ATTENTION_MAPS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
