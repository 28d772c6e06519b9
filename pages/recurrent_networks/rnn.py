"""The plain recurrent network: one step, at every position."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.language_models.gradient_reach import UNROLLED_STEPS
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A network that reads position after position, and carries what it has read in one state. Every step
is the same: a map of the state, a map of the input, their sum, and a tanh.
"""

WHY = """
The brackets run along *t*: the step between them is made at every position, with the same weights,
and the state that leaves one step enters the next. **Unrolled**, the loop is a deep network with a
layer for each position, whose layers have their weights in common. So a text of any length can be
read, and none costs more parameters.

It learns by the chain rule on the unrolled network: back-propagation through time. On its way back
from the last state to an early input a gradient passes the same map again and again, and a slope of
the tanh, which is at most 1. If the map shortens vectors, what is left **vanishes** after some
dozen steps, and the network does not learn what is far apart. If it lengthens them, the gradient
may **explode**, and one step of training ruins the weights; cutting long gradients helps there.

Against the first only another way back helps. The [LSTM](lstm) and the [GRU](gru) carry their
memory past the maps, through a product with a gate. [Attention](seq2seq-attention) leads from every
step to every other at once.

Nothing is trained here: weights and inputs are drawn from the seed, the map of the state as large
as *gain* says.

Sources: Elman 1990, *Finding Structure in Time*; Bengio, Simard and Frasconi 1994, *Learning
Long-Term Dependencies with Gradient Descent is Difficult*; Pascanu, Mikolov and Bengio 2013, *On
the Difficulty of Training Recurrent Neural Networks*.
"""

render_page(
    entry=catalogue["rnn"],
    lead=LEAD,
    why=WHY,
    panels=(UNROLLED_STEPS, CACHED_PASS, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
