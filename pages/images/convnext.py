"""ConvNeXt: a convolutional network with the sizes and the habits of a transformer."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.images.network_blocks import CONVOLUTION_BLOCKS
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A convolution that mixes places but no channels, then two maps that mix channels but no places: a
transformer's layer, made of convolutions.
"""

WHY = """
A transformer's layer first lets positions exchange what they know, feature by feature, and then
lets each position think by itself, in a space that is four times wider. This block does the same.
The depthwise convolution moves information between places: every channel has one kernel of its
own, so that a wide window of 7 × 7 costs little. The two maps behind it mix channels.

A [residual block](residual-block) is narrow where its 3 × 3 convolution works, because that
convolution mixes all channels and is dear. Here the convolution is cheap, and the block is wide
where only the maps work. One norm and one activation are left of three, and the last step scales
each channel, at first to almost nothing: a new block begins as a wire.

Sources: Liu et al. 2022, *A ConvNet for the 2020s*, sections 2.2 to 2.6 and figure 4; Touvron et
al. 2021, *Going Deeper with Image Transformers*, section 2, for the scale.
"""

render_page(
    entry=catalogue["convnext"],
    lead=LEAD,
    why=WHY,
    panels=(CONVOLUTION_BLOCKS, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
