"""Positions for attention: the notebook that unit-tests a transformer."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.position_panels import POSITIONS
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Attention sees a set, not a sequence: where a position stands has to be written into its numbers.
"""

WHY = """
Permute the positions that go in, and the same outputs come out, permuted alike: every query meets
every key, and nothing in a score says where either stands. So a text and its words in any other
order are the same to it.

There are three cures. A learned table has a row for each position, and none for longer texts. Sines
and cosines of many wavelengths need no learning. Rotary positions leave the inputs as they are and
turn pairs of features of each query and key by an angle that grows with the position; an inner
product then depends on how far the two stand apart, and not on where.

Sources: *Unit-testing all elements of a transformer*; Vaswani et al. 2017, section 3.5; Su et al.
2021, *RoFormer: Enhanced Transformer with Rotary Position Embedding*.
"""

render_page(
    entry=catalogue["positional-embedding"],
    lead=LEAD,
    why=WHY,
    panels=(
        POSITIONS,
        ATTENTION_MAPS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
