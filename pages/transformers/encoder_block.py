"""The transformer's encoder: architecture 1 of the tutorial from autograd to transformers."""

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
Every position of a sequence looks at all the others, then works alone; each time, what it finds is
added to what it was.
"""

WHY = """
Attention is the only part in which positions meet: it mixes along *t*. The feed-forward takes each
position for itself, and mixes its *m* features. Around both runs a residual wire, so that a layer
only adds to what comes in, and the gradient has a straight way back. With the norm first, nothing
at all stands in that way; with the norm behind the sum, as first published, every gradient passes
through all norms, and deep stacks are hard to train without a warm-up.
The brackets hold *n* layers of the same shape, each with weights of its own.

In the tutorial's picture the sums are called “Add & Norm”, but in its code the norm comes first,
and the node only adds. Its attention has no biases and no last map; here it has both, as in torch.
Its feed-forward bends with a GELU; that is a choice at the left, where a ReLU is the default.

Sources: *From autograd to transformers*, architecture 1; Vaswani et al. 2017, *Attention Is All You
Need*, section 3.1; Xiong et al. 2020, *On Layer Normalization in the Transformer Architecture*.
"""

render_page(
    entry=catalogue["encoder-block"],
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
