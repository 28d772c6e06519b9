"""Optimisers: one step of each as a circuit, and their paths on a surface."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.learning.optimiser_paths import PATHS
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
An optimiser turns a gradient into a step. A parameter, its gradient and what was kept of earlier
gradients go in; the new parameter comes out, with what is to be kept for the next step.
"""

WHY = """
The gradient says where the loss rises fastest, here and now. **SGD** goes the other way, as far as
gradient and learning rate say. In a narrow valley that is either slow along it, or thrown from wall
to wall across it.

**Momentum** keeps a running sum of gradients: what points to and fro cancels, and what points the
same way adds up. **Adam** keeps a mean of the gradients and a mean of their squares, and divides
the one by the root of the other: every number of the parameter then moves by about the learning
rate, however steep its direction. Both means begin at zero, so in the first steps they are too
small, and are divided by what they lack. **AdamW** also makes the weights a little smaller, apart
from the gradient.

**Muon** is for matrices: it takes the running mean, and makes all of its directions as long as each
other, so that the rare ones are learned too. That would need a singular value decomposition; a few
matrix products come close enough.

What goes wrong is memory. Each state is as large as the model: Adam keeps twice its numbers, which
with the gradients makes four where a run holds one. Momentum and Muon keep one state.

Sources: PyTorch's documentation of *torch.optim*; Kingma and Ba 2015, *Adam*; Loshchilov and Hutter
2019, *Decoupled Weight Decay Regularization*; Jordan et al. 2024, *Muon*.
"""

render_page(
    entry=catalogue["optimisers"],
    lead=LEAD,
    why=WHY,
    panels=(PATHS, VALUES, SOURCE, COST_TABLE, SHAPES),
)
