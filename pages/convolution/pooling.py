"""Max and average pooling, and their window on a picture."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.images.convolution_window import CONVOLUTION_WINDOW
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A map becomes smaller: of each window only its largest number goes on, or its mean.
"""

WHY = """
A map of a [convolution](convolution) says at every pixel how well a filter fits there. To know
*what* is in a picture, it matters that an edge was found, and hardly at which pixel. Pooling keeps
the largest answer of each window: a shape may stand a little to the left or the right, and the
answer stays. The layers that follow have fewer numbers to read, and each of them sees more of the
picture.

It has no weights, and each channel is pooled for itself. What makes a map smaller is the stride and
not the window: move the window by one pixel at a time, and nearly all numbers are left.

Backward, the largest number of a window gets the whole gradient and the others get none: what did
not count does not learn. The mean gives an equal share to each. It is a convolution whose weights
are all the same, and never change.

What goes wrong: what is thinner than a window survives in its maximum and fades in its mean, and
where something is gets lost in both. So networks that mark each pixel, such as the [U-Net](unet),
save the maps before they are pooled; and newer networks, such as [ConvNeXt](convnext), leave the
shrinking to convolutions with a stride, which are learned.

Sources: PyTorch's documentation of *MaxPool2d* and *AvgPool2d*; LeCun et al. 1998, *Gradient-based
learning applied to document recognition*; Springenberg et al. 2015, *Striving for Simplicity*.
"""

render_page(
    entry=catalogue["pooling"],
    lead=LEAD,
    why=WHY,
    panels=(CONVOLUTION_WINDOW, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
