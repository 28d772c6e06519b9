"""A stack of convolutions, and which pixels a place of its result sees."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.images.receptive_field import RECEPTIVE_FIELD
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A convolution sees only what is near; a stack of them sees further, and this is how far.
"""

WHY = """
A number behind one [convolution](convolution) depends on a window of the picture, and on nothing
else. The next layer reads a window of such numbers, whose own windows lie side by side: it sees a
little more. The pixels on which a number can depend are its **receptive field**. A network cannot
tell a face from a nose while no number sees a whole face.

Each layer adds *d*(*k* − 1) places, counted in its own steps; one step of a late layer is as many
pixels as all strides before it, multiplied. So with a stride of 1 the field grows by adding, layer
after layer, and with strides, or with dilations that double, it grows by multiplying.

No activation stands between the layers here, as it works on each place alone and no number sees
further by it.

There are two ways to know the field. The formula follows the windows back. The gradient of one
number of the result says how much it would change with each pixel: it is 0 wherever the number
cannot look. Both mark the same pixels. With a dilation and no dense layer before it there are holes
between them, the *gridding* that dilated networks have to avoid.

The gradient says more than the formula: from most pixels of the field hardly anything arrives. The
middle is reached on many ways through the layers, a corner on one alone. What counts is smaller
than the field, so that networks are made deeper than the formula asks for. Attention has no such
border: one layer of a [vision transformer](vit) sees the whole picture.

Sources: Araujo, Norris and Sim 2019, *Computing Receptive Fields of Convolutional Neural Networks*;
Luo et al. 2016, *Understanding the Effective Receptive Field*; Yu and Koltun 2016, *Multi-Scale
Context Aggregation by Dilated Convolutions*; Simonyan and Zisserman 2015, *Very Deep Convolutional
Networks*.
"""

render_page(
    entry=catalogue["receptive-field"],
    lead=LEAD,
    why=WHY,
    panels=(RECEPTIVE_FIELD, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
