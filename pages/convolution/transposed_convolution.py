"""A transposed convolution with every setting but groups, and its window on a picture."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.images.convolution_matrix import CONVOLUTION_MATRIX
from ncd.app.panels.images.convolution_window import CONVOLUTION_WINDOW
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A picture becomes larger: each pixel is spread over a window of the result, and where windows
overlap, they are added up.
"""

WHY = """
A [convolution](convolution) with a stride makes a picture smaller. A network that is to give a
picture back, or an answer for each pixel, has to make it larger again. A transposed convolution
does that with learned weights: each pixel multiplies all weights of a window and leaves them in the
result, the next pixel does so a **stride** further on.

Seen from the result it is a plain convolution: draw the pixels apart with zeros between them, and
move the same window, turned round, over it place by place. That is what the view shows.

It is called transposed since a convolution is a matrix, however large: a row for each number that
comes out. Turned over, the same matrix leads back to the larger size, though not to the same
numbers. It is what backpropagation does with the gradient of a convolution, too.

What goes wrong is a **checkerboard**. Where the stride does not divide the kernel, some places of
the result are under more windows than their neighbours, and so they are brighter. The weights can
even that out, as a tent does, and must learn to. A kernel of two strides has the same overlaps
everywhere; others make the picture larger first, and then use a plain convolution.

With a stride several sizes shrink to one. So the way back has to choose: **output padding** adds
rows and columns at the far end, to come to the size that is wanted.

The [U-Net](unet) goes up by transposed convolutions; generators of pictures and of sound do too.

Sources: PyTorch's documentation of *ConvTranspose2d*; Dumoulin and Visin 2016, *A guide to
convolution arithmetic for deep learning*; Odena et al. 2016, *Deconvolution and Checkerboard
Artifacts*.
"""

render_page(
    entry=catalogue["transposed-convolution"],
    lead=LEAD,
    why=WHY,
    panels=(
        CONVOLUTION_WINDOW,
        CONVOLUTION_MATRIX,
        VALUES,
        SOURCE,
        COST_TABLE,
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
