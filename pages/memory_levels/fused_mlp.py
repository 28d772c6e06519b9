"""A feed-forward as one loop over its inner features."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
The wide layer between two linear maps is made tile by tile, used at once, and never stored.
"""

WHY = """
A feed-forward widens *m* features to *f*, cuts off what is negative, and adds up to *m* again.
Each of the *f* features is made by itself, and the second map only adds up what they give. So a
tile of *f* can be made, used and forgotten, if both weights come in the same tiles. What it saves
are the *y* · *f* numbers between the maps; what it costs is that the weights are read again for
each group of *y*.

Source: Abbott and Zardini 2024, *FlashAttention on a Napkin*, on fusing functions that stream over
the same axis.
"""

render_page(
    entry=catalogue["fused-mlp"],
    lead=LEAD,
    why=WHY,
    panels=(what_moves(("y",), "f", around=True), VALUES, SOURCE, COST_TABLE, SHAPES),
)
