"""The U-Net of a diffusion model: it finds the noise in a picture, knowing how noisy it is."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.images.diffusion_steps import NOISE_STEPS
from ncd.app.panels.learning.training import TRAINING
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A network that has learned to find the noise in a picture can begin with noise alone: it takes a
little away, step after step, until a picture is left.
"""

WHY = """
To ruin a picture is easy: add a little noise, many times, until nothing is left of it. To undo one
such step, one has to know what was added. So a network is shown pictures at random steps and says
what the noise in them is; that is all that it learns, by the square of its error. It is told the
step, as sines and cosines of it, since the same dots are dirt on a clean picture and a trace of one
in a noisy picture.

A new picture begins as noise. At each step the network says what it takes for noise, a part of that
is removed, and a little fresh noise is added, less and less. The network is a [U-Net](unet) of
residual blocks; at the second level each place also reads all others, so that both ends of a stroke
agree.

Sources: Ho et al. 2020, *Denoising Diffusion Probabilistic Models*, algorithms 1 and 2, equation 11
and appendix B; Sohl-Dickstein et al. 2015, *Deep Unsupervised Learning using Nonequilibrium
Thermodynamics*.
"""

render_page(
    entry=catalogue["diffusion-unet"],
    lead=LEAD,
    why=WHY,
    panels=(
        NOISE_STEPS,
        TRAINING,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(("x_2",), "z"),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
