"""EfficientNet: blocks that are wide inside and cheap, scaled in three ways at once."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.images.network_blocks import BLOCK_DIAGRAM, MBCONV
from ncd.app.panels.images.published_sizes import EFFICIENTNET_SIZES
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Blocks that are wide inside and cheap; depth, width and picture grow together.
"""

WHY = """
The block, **MBConv**, begins and ends narrow. A convolution of a single pixel makes the channels
six times more, a [depthwise](depthwise-separable) one looks around in each of them, and one more of
a single pixel makes them few again, without an activation behind it. To look around is dear where
it mixes channels, as in a [residual block](residual-block), which is narrow there; here it mixes
none, and may be wide. The shortcut joins the narrow ends.

**Squeeze-and-excitation** lets the whole picture speak at each place: the mean of each channel goes
through two small maps, and a number between 0 and 1 for each channel comes back, which the channel
is multiplied by. Its maps see one number of a channel, so that it costs hardly any work.

A network can become deeper, wider, or look at larger pictures. The work grows with the depth, with
the square of the width and with the square of the sides. **Compound scaling** lets all three grow
by fixed factors, 1.2, 1.1 and 1.15, found once on the small network: each step makes about twice
the work. B0 itself was found by a search among many networks.

What goes wrong is time: few products are not always fast. A depthwise convolution reads many
numbers for each product, and large pictures need much memory in training, as the authors write of
their own network two years later.

Stochastic depth and [dropout](dropout), which training has, are not drawn here.

Sources: Tan and Le 2019, *EfficientNet: Rethinking Model Scaling for Convolutional Neural
Networks*, and 2021, *EfficientNetV2: Smaller Models and Faster Training*; Sandler et al. 2018,
*MobileNetV2*; Hu et al. 2018, *Squeeze-and-Excitation Networks*. Parameters are torchvision's.
"""

render_page(
    entry=catalogue["efficientnet"],
    lead=LEAD,
    why=WHY,
    panels=(
        *(MBCONV, BLOCK_DIAGRAM, EFFICIENTNET_SIZES),
        *(VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
    ),
)
