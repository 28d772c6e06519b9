"""Multi-head attention as torch has it: the notebook that unit-tests a transformer."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.torch_layer import TORCH_LAYER
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
torch's `nn.MultiheadAttention` is this diagram: on the same weights, both give the same numbers.
"""

WHY = """
torch keeps the weights of *q*, *k* and *v* in one matrix, `in_proj_weight`, one below the other. In
the diagram they are three maps; nothing else differs. The heads are no layers of their own: *m*
features leave each map as *h* heads of *k* features, so *m* = *h* · *k*, and the wire *h* runs
through to the last map.

A mask is a choice of what counts as a key. In torch's boolean masks True means “left out”: the
score becomes −∞, so that its weight is 0 and the row still sums to 1. The causal mask says for each
query which keys it may see, the padding mask which keys are none at all. A trap:
`F.scaled_dot_product_attention` means the opposite, and there True is “takes part”.

Sources: *Unit-testing all elements of a transformer*; torch's documentation of
`nn.MultiheadAttention`; Vaswani et al. 2017, section 3.2.2.
"""

render_page(
    entry=catalogue["torch-multihead-attention"],
    lead=LEAD,
    why=WHY,
    panels=(
        ATTENTION_MAPS,
        TORCH_LAYER,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
