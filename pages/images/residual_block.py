"""A residual block: the first of a stage in figure 26 of the notebook."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
An image takes two paths at once, through three convolutions and through one, and the results are
added.
"""

WHY = """
The short path carries the signal forward, and its gradient back, whatever the long path does. So
the long path has to learn only a correction, the residual. It narrows to a quarter of the channels
for the costly 3 × 3 convolution, and widens again. Norm and activation come before each
convolution, never after the addition. Because this block changes the number of channels, its short
path has a convolution too, behind the norm and activation that both paths share; a block that keeps
its shape adds its input unchanged. The rings are batch norms and the stars convolutions; the
[Legend](legend) has all signs.

The ResNet-50 presets have the published sizes, in this order of operations (He et al. 2016). The
ResNet-50 of 2015 puts the norm after each convolution and leaves out the convolutions' biases, so
its counts of parameters differ a little: 75,008 for the first block, 74,752 here.

Sources: the notebook's figure 26; He et al. 2016, *Identity Mappings in Deep Residual Networks*.
"""

render_page(
    entry=catalogue["residual-block"],
    lead=LEAD,
    why=WHY,
    panels=(VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
