"""A convolution with every setting of ``nn.Conv2d``, and its window on a picture."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.images.convolution_window import CONVOLUTION_WINDOW
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A small window moves over a picture; at every place the same few weights make one number of what it
sees.
"""

WHY = """
To find an upright edge, compare what is right of a place with what is left of it. That is a sum of
nine products, and it can be asked at every place of a picture with the same nine weights: that is a
convolution, and the weights are its **filter**. A map of all answers comes out, and each further
filter adds a map. In a network nobody writes the weights: they are learned.

A dense map has a weight for each pair of a number that goes in and one that comes out. A
convolution has as many as one window, whatever the size of the picture. It can have so few because
of two things that are true of pictures: what belongs together is near, and what is worth finding at
one place is worth finding at all others. Move the picture by a pixel, and the maps move by a pixel.

What goes wrong is mostly the size. Without padding a window of three takes a row and a column away
at each side, so that ten layers eat twenty pixels; a stride that does not fit drops the last rows
and columns, without a word. The formula beside the sliders says both beforehand.

What stands at the padding is a choice too. **Zeros** are a black frame, on which a filter for edges
finds an edge that the picture does not have. To **reflect** the pixels behind the edge, or to
**replicate** the last one, makes no such edge, and what goes round, as a map of the earth does, is
padded **circularly**, with the pixels of its other side.

A **stride** makes the maps smaller, a **dilation** spreads the same few weights over a wider
window, and **groups** keep channels apart: with a group for each channel it is called depthwise.
[LeNet](lenet) and the [residual networks](identity-resnet) are made of convolutions, a
[vision transformer](vit) cuts its patches with one, sound has them along one dimension, and scans
of a body along three.

Sources: PyTorch's documentation of *Conv2d*, and of its padding modes; Dumoulin and Visin 2016, *A
guide to convolution arithmetic for deep learning*; LeCun et al. 1998, *Gradient-based learning
applied to document recognition*.
"""

render_page(
    entry=catalogue["convolution"],
    lead=LEAD,
    why=WHY,
    panels=(CONVOLUTION_WINDOW, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
