"""A U-Net: figure 27 of the notebook."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.images.classification import SEGMENTATION
from ncd.app.panels.images.feature_maps import FEATURE_MAPS
from ncd.app.panels.learning.training import TRAINING
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
An image becomes smaller level by level, and then larger again; each level on the way up also
receives what the same level on the way down has seen.
"""

WHY = """
Small and deep, the image says what is in it; large and shallow, it says where. To give every pixel
a class, the network needs both. So each level on the way down keeps what it has seen, $C_λ$, and
the way up puts that beside what comes from below. With **Skips** on, what is kept runs through the
diagram as wires; without, it is noted where it is saved and loaded, as in the figure.

Every level halves the image, so its side has to be a multiple of $2^{depth}$; from the second level
on, each also doubles the channels. Train the network under Training; then Mask shows what it finds
in pictures that it has not seen.

The notebook's code for this figure does not run: the second convolution of a level expects the
channels that the first one got, the levels stand in a plain list, so their weights are not the
module's, the up-sampling lacks its kernel, sizes are given where a tuple is needed, and `forward`
returns nothing. Its pooling and up-sampling also pad by 1, which makes a level larger than half of
the one before. Here everything is as in the figure. In the figure $C_1$ is saved but never loaded,
while the published U-Net uses it, and $c_λ = 64 · 2^λ$ is twice the published number of channels.

Sources: the notebook's figure 27 (*Neural circuit diagrams*, section 3.4); Ronneberger et al. 2015,
*U-Net: Convolutional Networks for Biomedical Image Segmentation*, figure 1.
"""

render_page(
    entry=catalogue["unet"],
    lead=LEAD,
    why=WHY,
    panels=(
        TRAINING,
        SEGMENTATION,
        VALUES,
        FEATURE_MAPS,
        SOURCE,
        COST_TABLE,
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
