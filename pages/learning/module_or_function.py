"""One network as a module and as a function: the second part of the autograd notebook."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.learning.per_sample_gradients import PER_SAMPLE_GRADIENTS
from ncd.app.panels.learning.two_codes import MODULE_VS_FUNCTION, TRAINING_CODE
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A network can hold its weights, or be given them. Trained alike, both learn the same, to the last
bit. Choose **function** at the left, and the weights become wires.
"""

WHY = """
An `nn.Module` is an **object with a state**: the weights are inside the box, `backward()` leaves a
gradient beside each, and an optimiser changes them in place. `torch.func` works on a **pure
function**: the weights come in as arrays like any other, `grad` makes of the loss another function
that gives the gradients, and a step returns new weights and leaves the old ones as they were.
`functional_call` lends a module weights that are not its own, so one network serves both.

This gains nothing as long as a single network learns. But what is a function can be changed by
functions: `vmap` lets it pass over an axis that it knows nothing of, as broadcasting does in the
diagram, and `vmap(grad(…))` is the gradient of every example by itself, where `backward()` only
leaves their mean. A step of learning is such a function too, so one can ask for the gradient of
what comes after it: that is meta-learning.

Sources: *From autograd to transformers*, section 2; Kingma and Ba 2015, *Adam*. The notebook's
module is trained by Adam, its function by plain SGD and from other weights: their losses cannot be
compared. With one optimiser and one start they are the same.
"""

render_page(
    entry=catalogue["module-or-function"],
    lead=LEAD,
    why=WHY,
    panels=(
        MODULE_VS_FUNCTION,
        TRAINING_CODE,
        PER_SAMPLE_GRADIENTS,
        VALUES,
        SOURCE,
        COST_TABLE,
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
