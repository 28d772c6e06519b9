"""ResNet as published in 2015: from 18 layers to 152, and what their shortcuts are for."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.images.published_sizes import RESNET_SIZES
from ncd.app.panels.images.shortcuts import SHORTCUTS
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Every block adds what it computes to what it was given. So a network can have a hundred layers and
more, and still be trained.
"""

WHY = """
A deeper network should never be worse than a shallower one: its further layers could pass on what
they are given. But deep plain networks *were* worse, on the very images they learned from. To pass
an image on through several convolutions has to be learned, and it is not easily found.

With a **shortcut** it is there from the start: a block computes y = relu(x + F(x)), and F has only
to learn what is to be changed. The gradient has the same way back.

The **basic block** has two convolutions of 3 × 3. The **bottleneck** narrows the channels to a
quarter, has its 3 × 3 convolution there, and widens them again, so that a network of 50 layers
costs about as much as one of 34. Where a stage begins, channels and sides change; there the
shortcut is a convolution of 1 × 1, and elsewhere nothing at all.

What goes wrong is the order of things. Here a ReLU stands *behind* the sum, so that the way from
end to end is not quite free; a year later norm and activation went into the block, which the
[identity ResNet](identity-resnet) has. And a batch norm in training takes its statistics from the
batch: with few images they are poor.

Where it is used: as the backbone of detectors and of [CLIP](clip); the sum around every part of a
[transformer](encoder-block) is the same idea.

Sources: He et al. 2015, *Deep Residual Learning for Image Recognition*; the numbers of parameters
are those of torchvision's models.
"""

render_page(
    entry=catalogue["resnet"],
    lead=LEAD,
    why=WHY,
    panels=(SHORTCUTS, RESNET_SIZES, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
