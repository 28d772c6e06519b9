"""DiT: a transformer that finds the noise in a picture, with norms that the time step sets."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.images.diffusion_steps import STEP_MODULATION
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A vision transformer that finds the noise in a picture. How noisy the picture is, and what it shows,
sets a shift, a scale and a gate for each feature in every layer.
"""

WHY = """
The [U-Net of a diffusion model](diffusion-unet) adds what it knows of the time step to its feature
maps. Here the step and the class become one vector, and each layer maps that to six numbers for
each feature. Two move and scale what the attention reads, one scales what it adds; three do the
same for the feed-forward. So one layer can work for noise in one way, and for a nearly finished
picture in another, at the cost of a few scalings for each patch.

Training begins with all six at zero: the gates are shut, and each layer only passes on what it was
given. Of four ways to tell the layers the step that were tried, this one gave the best pictures.

The network works on pictures that an autoencoder has made eight times smaller along each side, and
reads them as patches, as a [vision transformer](vit) does.

Source: Peebles and Xie 2023, *Scalable Diffusion Models with Transformers*, sections 3.2 and 4,
figures 3 and 5.
"""

render_page(
    entry=catalogue["dit"],
    lead=LEAD,
    why=WHY,
    panels=(
        STEP_MODULATION,
        ATTENTION_MAPS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(("y",), "z"),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
