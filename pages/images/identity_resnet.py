"""The identity residual network: figure 26 of the notebook."""

from ncd import catalogue
from ncd.view.page.page import page
from ncd.view.panels.common import autograd_graph, cost_table, shapes, source, values
from ncd.view.panels.learning import feature_maps

LEAD = """
Images go through three blocks, each of which only adds to what it is given, and become classes.
"""

WHY = """
Down the middle of every block runs a path on which nothing happens but additions. What one block
has found reaches the last one as it is, and the gradient comes back the same way, so that hundreds
of components can be trained: the paper has 333. For that norm and activation stand *before* each
convolution; behind an addition they would stand in the way.

A double-click or its ⊕ unfolds a block. From block to block the images have fewer places and more
channels. Between its brackets a block repeats one component, λ = 1 … *N* − 1, **with weights of its
own each time**. The notebook's code, `[component] * N`, holds one and the same module *N* times, so
that its weights are shared, and runs it once too often; here it is as the diagram says, and *Cost*
counts all weights. Batch norm sees the whole batch: the wire *b* runs into its ring, and what comes
out for one image depends on the others.

Sources: the notebook's figure 26; He et al. 2016, *Identity Mappings in Deep Residual Networks*.
"""

page(
    entry=catalogue["identity-resnet"],
    lead=LEAD,
    why=WHY,
    panels=(feature_maps, values, source, cost_table, autograd_graph, shapes),
)
