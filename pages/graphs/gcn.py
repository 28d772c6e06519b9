"""Graph convolution: a node becomes a weighted sum of its neighbours."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.neighbours import NEIGHBOURS
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Each node adds up its neighbours and itself, each with a weight of its own, and then comes a linear
map: a convolution whose windows are drawn by the edges of a graph.
"""

WHY = """
A graph comes as two lists, the two ends of every edge. The diagram turns them into a table with a 1
where node *n* may read node *u*; every node may read itself. Then each link is divided by the roots
of the number of links at both of its ends, so that a node with many neighbours neither shouts nor
drowns. What a node takes from another is fixed by the graph alone: nothing of it is learned.

A layer multiplies the features by a matrix and mixes them along the table. After one layer a node
knows its neighbours, after two those of its neighbours too. Here the edges are random, from the
seed, and have a direction; one that comes twice is still one link. For a graph without directions
each edge is listed both ways.

A real program never makes the table: it adds along the list of edges, as most pairs have none.

Source: Kipf & Welling 2017, *Semi-Supervised Classification with Graph Convolutional Networks*,
equations 2 and 9.
"""

render_page(
    entry=catalogue["gcn"],
    lead=LEAD,
    why=WHY,
    panels=(NEIGHBOURS, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
