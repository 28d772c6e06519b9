"""Autograd: the graph of a loss, walked from its end to its start."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
While torch computes a loss, it notes each operation. Walked backwards, these notes give the
gradient of the loss with respect to everything that went in.
"""

WHY = """
The loss is one number, and training asks how it changes with each weight. The chain rule answers
operation by operation. Each of them gets the gradient G of the loss with respect to what it made,
and sends on the gradient with respect to what it was given. For that it needs a local rule and some
of the numbers of the forward pass, but nothing of the rest of the graph.

An array used twice gets both gradients, added. At a leaf the way ends, and the gradient is added to
`.grad`; it is added, so `optimizer.zero_grad()` clears it before the next step. Where no input of
an operation needs a gradient, torch notes nothing: switch `requires_grad` off, and the graph
shrinks. In training, *x* and *y* are data, and only *w* needs a gradient.

Sources: *From autograd to transformers*, part 1, which writes the loss as `L(X @ W)`; here L is the
mean of squares. Torch's rules are those of its file `derivatives.yaml`.
"""

render_page(
    entry=catalogue["autograd"],
    lead=LEAD,
    why=WHY,
    panels=(AUTOGRAD_GRAPH, VALUES, SOURCE, COST_TABLE, SHAPES),
)
