"""Initialisation: how far numbers and gradients reach through a stack of layers."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.learning.signal_depth import DEPTH
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A network begins with random weights, and learns from the gradients that they let through. Weights
a little too small or too large, and after enough layers nothing of them is left.
"""

WHY = """
A map adds up products, one for each of its *m* features. If the weights have deviation σ, the sum
is √m σ times as large as what went in; and if that is half, twenty layers leave a millionth. The
gradient goes the same way back, and shrinks or grows as much.

**Xavier** asks for √m σ = 1, a deviation of 1 / √m. A **ReLU** makes half of the numbers zero, so
that half of the mean square is lost in each layer; **Kaiming** therefore asks for √(2 / m). The two
differ by a factor of 1.4 only, and after twenty layers by a thousand.

Torch's `nn.Linear` begins with neither: its weights are uniform up to 1 / √m, which has a deviation
of 1 / √(3 m). That is too small for a deep stack, as the page shows at first. Networks do well with
it all the same, since they no longer rely on it: a **norm** makes numbers as large as before
whatever the weights are, and a **residual** sum passes them by. Switch both on, and the choice
hardly matters.

What goes wrong is not told by any error. A loss that stays where it is from the first step on may
mean that the gradient has vanished, and one that is *nan* that something has exploded.

Where it is used: [residual networks](resnet) have both cures, and so has every
[transformer](decoder-only-block): GPT could begin with weights of deviation 0.02.

Sources: PyTorch's documentation of *torch.nn.init*; Glorot and Bengio 2010, *Understanding the
Difficulty of Training Deep Feedforward Neural Networks*; He et al. 2015, *Delving Deep into
Rectifiers*; Radford et al. 2018, *Improving Language Understanding by Generative Pre-Training*.
"""

render_page(
    entry=catalogue["initialisation"],
    lead=LEAD,
    why=WHY,
    panels=(DEPTH, VALUES, SOURCE, AUTOGRAD_GRAPH, COST_TABLE, SHAPES),
)
