"""VGG: convolutions of 3 × 3 in a row, and where its weights and its work are."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.images.feature_maps import FEATURE_MAPS
from ncd.app.panels.images.published_sizes import VGG_SIZES
from ncd.app.panels.images.vgg_weights import SMALL_WINDOWS, WEIGHTS_AND_WORK
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Windows of 3 × 3, one after the other; then dense maps, which have most of the weights.
"""

WHY = """
Before it, networks looked at a picture through large windows: 11 × 11 pixels in the first layer of
AlexNet. Two [convolutions](convolution) of 3 × 3 in a row see 5 × 5 pixels, three see 7 × 7, as the
[receptive field](receptive-field) shows. They have fewer weights than one large window, and an
activation after each of them where that has one.

So there is one thing left to choose, how many. Each **stage** has one to four convolutions that
keep the sides, then a [pooling](pooling) that halves them. The next stage has twice the channels,
until there are eight times as many as at first. Where the sides halve and the channels double, a
convolution costs as much as the one before.

The weights are elsewhere. A convolution has as many as one window, and uses each at every place of
a map. The first **dense** map has a weight for each pair of a number of the last maps and a hidden
feature, and uses it once: in VGG-16 it has 103 of 138 million parameters, and less than a hundredth
of the work. Later networks, such as [ResNet](resnet), take the mean of each map in its place.

What goes wrong is cost: VGG-16 makes almost four times the products of a ResNet-50, and has more
than five times its parameters. And much deeper ones are hard to train without shortcuts. But its
maps are good to compare pictures by, as in the transfer of a painter's style. In training half of
the features behind each hidden dense map are [left out](dropout); that is not drawn here.

Sources: Simonyan and Zisserman 2015, *Very Deep Convolutional Networks for Large-Scale Image
Recognition*; the numbers of parameters are those of torchvision's models; Gatys et al. 2016, *Image
Style Transfer Using Convolutional Neural Networks*.
"""

render_page(
    entry=catalogue["vgg"],
    lead=LEAD,
    why=WHY,
    panels=(
        WEIGHTS_AND_WORK,
        SMALL_WINDOWS,
        VGG_SIZES,
        FEATURE_MAPS,
        VALUES,
        SOURCE,
        COST_TABLE,
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
