"""A convolution in two cheap steps, along the picture and across the channels."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.images.feature_maps import FEATURE_MAPS
from ncd.app.panels.images.separable_cost import BOTH_WAYS
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A convolution does two things at once, looking around and mixing channels; done one after the other
they cost a fraction.
"""

WHY = """
Each filter of a [convolution](convolution) reads a window of *every* channel, so that its weights
are a product of three sizes: the window, the channels that go in, and those that come out. Here
each channel is first convolved with a window of its own, which mixes nothing, and then a window of
a single pixel mixes the channels, which looks nowhere. So the product *k*² · *c* · *f* becomes the
sum *k*² · *c* + *c* · *f*.

Their ratio is 1/*f* + 1/*k*². With many channels the first part is nothing, and with a window of
three pixels a ninth of the work remains. It is surprising what does not help: with fewer channels
going in, both become cheaper alike.

What it pays is freedom: all maps have to share what the first step has found in a channel, where a
whole convolution looks for each map anew. In practice little is lost, so that networks for phones
are made of it, and larger ones such as [ConvNeXt](convnext) as well. Fewer operations are not
always less time: the first step reads many numbers for each product, and waits for memory.

Sources: Howard et al. 2017, *MobileNets: Efficient Convolutional Neural Networks for Mobile Vision
Applications*, section 3.1; Chollet 2017, *Xception: Deep Learning with Depthwise Separable
Convolutions*.
"""

render_page(
    entry=catalogue["depthwise-separable"],
    lead=LEAD,
    why=WHY,
    panels=(BOTH_WAYS, FEATURE_MAPS, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
