"""The variational autoencoder: a picture as a point with a spread, and a picture of each point."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.images.latent_plane import LATENT_PLANE
from ncd.app.panels.learning.training import TRAINING
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Each picture becomes a point with a spread, and each point a picture again: so the points between
have pictures too, and one can walk among them.
"""

WHY = """
An autoencoder squeezes a picture through a few numbers and makes it again. If that were all, the
numbers could lie anywhere, and what is between two of them would be nothing. Here the encoder
gives a mean and a spread, and the decoder is shown a point drawn around the mean: so it has to give
a similar picture for all points nearby.

Two costs pull at the points. The picture has to come out as it went in; and the spreads, all
together, have to look like one round cloud, which pushes the points towards the middle and towards
each other. The noise is drawn outside and then scaled and moved: so the mean and the spread have
gradients, though the point is drawn by chance.

Source: Kingma and Welling 2014, *Auto-Encoding Variational Bayes*, sections 2.3, 2.4 and 3, and
appendices B and C.
"""

render_page(
    entry=catalogue["vae"],
    lead=LEAD,
    why=WHY,
    panels=(LATENT_PLANE, TRAINING, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
