"""Swin: attention in windows, which every other layer shifts."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.picture_attention import WINDOWS
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Patches look only at the patches of their window, and every other layer moves the windows by half
of their width, so that news still travels across the picture.
"""

WHY = """
In a [vision transformer](vit) each patch is compared with each, so that twice the height and width
cost sixteen times as much. Within windows of a fixed size the cost grows as the picture does. But
windows alone never learn of each other: therefore the picture is moved by half a window in every
other layer, cut as before, and moved back. What the shift brings together only by wrapping around
is kept apart by a mask.

After each stage four patches become one with twice the features. Early stages see fine detail, late
ones whole objects, as in a convolutional network. Where a patch is does not matter, only how far
another one is away: a learned number for each way is added to the scores.

Source: Liu et al. 2021, *Swin Transformer: Hierarchical Vision Transformer using Shifted Windows*,
sections 3.1 and 3.2, figures 2 to 4.
"""

render_page(
    entry=catalogue["swin"],
    lead=LEAD,
    why=WHY,
    panels=(WINDOWS, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
