"""One network as a module and as a function: the second part of the autograd notebook."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.learning import module_vs_function, per_sample_gradients, training_code
from ncd.app.panels.walk import autograd_graph, cost_table, shapes, source, values

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
        module_vs_function,
        training_code,
        per_sample_gradients,
        values,
        source,
        cost_table,
        autograd_graph,
        shapes,
    ),
)
