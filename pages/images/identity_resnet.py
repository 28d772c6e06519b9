"""The identity residual network: figure 26 of the notebook."""

from ncd import catalogue
from ncd.view.page.page import page
from ncd.view.panels.common import autograd_graph, cost_table, shapes, source, values
from ncd.view.panels.images import one_block
from ncd.view.panels.learning import feature_maps

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
it once too often; here it is as the diagram says, and *Cost* counts all weights. Batch norm sees
the whole batch: the wire *b* runs into its ring, and the result for one image depends on the
others.

Sources: the notebook's figure 26; He et al. 2016, *Identity Mappings in Deep Residual Networks*.
"""

page(
    entry=catalogue["identity-resnet"],
    lead=LEAD,
    why=WHY,
    panels=(one_block, feature_maps, values, source, cost_table, autograd_graph, shapes),
)
