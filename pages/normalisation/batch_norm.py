"""Batch norm beside layer norm: the notes on normalisation."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.learning.norm_panels import NORM_STATISTICS
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Two norms of one array: batch norm compares a channel with itself in all images, layer norm the
channels of one place with each other.
"""

WHY = """
Batch norm averages over the batch and all places and leaves the channels apart; layer norm averages
over the channels and leaves batch and places apart. In training, batch norm takes the mean and
variance of the batch it sees, and keeps a running average of both; in use it takes these averages,
so that an image's result no longer depends on what else is in its batch. (In the notes training
uses the running averages; in torch it only updates them.)

γ and β seem to undo the norm. But now mean and spread of a channel are two numbers that are learned
directly, where before they followed from all the layers below. A bias before batch norm is useless:
it moves the mean, and the mean is subtracted.

Sources: *Notes on MLPs, permutations and normalisation*; Ioffe and Szegedy 2015, *Batch
Normalization*; Shen et al. 2020, *PowerNorm*, on batches with large variance.
"""

render_page(
    entry=catalogue["batch-norm"],
    lead=LEAD,
    why=WHY,
    panels=(NORM_STATISTICS, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
