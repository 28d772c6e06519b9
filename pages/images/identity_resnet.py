"""The identity residual network: figure 26 of the notebook."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.images.classification import CLASSIFICATION
from ncd.app.panels.images.feature_maps import FEATURE_MAPS
from ncd.app.panels.images.network_blocks import ONE_BLOCK
from ncd.app.panels.learning.training import TRAINING
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Images pass through three blocks of residual components, become smaller and deeper, and end as
classes.
"""

WHY = """
Inside a block, the components from the second on have a short path on which nothing happens but
additions. What one of them has found reaches the block's end unchanged, and the gradient comes back
the same way, so hundreds of components can be trained: the paper has 333. For this, norm and
activation stand *before* each convolution; after the addition they would lie on the short path.
Only the first component of a block changes the size and the number of channels, so its short path
too has a norm, an activation and a convolution.

*One block* shows what is in a block; a double-click or its ⊕ unfolds it in the diagram. From block
to block the images have fewer places and more channels. Between its brackets a block repeats one
component, λ = 1 … *N* − 1, **with weights of its own each time**. The notebook's code,
`[component] * N`, holds one and the same module *N* times, so that its weights are shared, and runs
it once too often; here it is as the diagram says, and *Cost* counts all weights. The figure's
sizes are among the published ones, above the sliders.

Batch norm sees the whole batch: the wire *b* runs into its ring, and the result for one image
depends on the others. Move *b*, or draw the first digit, and *What it says* changes for the ones
beside it too. The weights that ship have learned from three digits at a time, and read about 98 of
100 right that they have not learned from. They serve every *b*, but of two images the statistics
are poor, and 91 of 100 are read right. After training, PyTorch's `eval()` puts averages that were
kept during training in place of the batch's own statistics. Then each image is read by itself, and
99 of 100 are right.

Sources: the notebook's figure 26; He et al. 2016, *Identity Mappings in Deep Residual Networks*.
The digits are those of Alpaydin and Kaynak (1998), which scikit-learn ships, made larger; their
three colours are alike.
"""

render_page(
    entry=catalogue["identity-resnet"],
    lead=LEAD,
    why=WHY,
    panels=(
        *(ONE_BLOCK, TRAINING, CLASSIFICATION, FEATURE_MAPS),
        *(VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
    ),
)
