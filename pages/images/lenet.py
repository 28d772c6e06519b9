"""LeNet: the model with Rearrange of the second document."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.images.classification import CLASSIFICATION
from ncd.app.panels.images.feature_maps import FEATURE_MAPS
from ncd.app.panels.learning.training import TRAINING
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import CODE_LINES, SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Two convolutions look for small shapes everywhere in a picture, and one line of einops passes what
they found to two linear maps.
"""

WHY = """
A window of 5 × 5 pixels slides over the picture, and at every place the same learned map makes *d*
numbers of it: what is learned at one place is known at all others. The pooling keeps the largest of
each 2 × 2 of them, so that a shape may stand a little to the left or the right. The second pair
does the same with what the first has found: from edges it can make corners and curves.

Then the places have to go, because a class describes the whole picture. That is the thick bar:
`Rearrange('b c h w -> b (c h w)')` reads channels and places as one axis, *f*. As a layer it stands
in a list of layers like any other, and its pattern says in words what `view(-1, 400)` hides.

Two details of the document deserve a second look. No relu follows its convolutions, so only the
largest-of-four pooling keeps the two from being one linear map. And its model ends with ten scores;
here a softmax follows, which PyTorch's usual loss (`CrossEntropyLoss`) computes itself. The digits
are grey, so their three channels are alike.

Sources: *From autograd to transformers*, einops tutorial, part 2 (layers); LeCun et al. 1998,
*Gradient-based learning applied to document recognition*, where the name is from.
"""

render_page(
    entry=catalogue["lenet"],
    lead=LEAD,
    why=WHY,
    panels=(
        TRAINING,
        CLASSIFICATION,
        FEATURE_MAPS,
        VALUES,
        CODE_LINES,
        SOURCE,
        COST_TABLE,
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
