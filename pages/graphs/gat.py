"""Graph attention: a node chooses among its neighbours."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.neighbours import NEIGHBOURS
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Each node scores its neighbours and takes from them by a softmax: attention that may look only along
the edges of a graph.
"""

WHY = """
Graph convolution weights neighbours by how many links they have. Here the weights depend on what
the nodes hold. Each head has a vector for the one that reads and one for the one that is read; the
score of a pair is the sum of the two products, through a LeakyReLU. Pairs without an edge get −∞,
and the softmax over the neighbours makes the rest add up to 1.

The sum before the LeakyReLU has a price, found later: whoever reads, the neighbours come in the
same order, as the reader's part adds the same to each. Click several nodes and compare. Brody et
al. 2022 put the nonlinearity before the last product, and each node can have its own order.

Sources: Veličković et al. 2018, *Graph Attention Networks*, equations 1 to 5; Brody et al. 2022,
*How Attentive are Graph Attention Networks?*
"""

render_page(
    entry=catalogue["gat"],
    lead=LEAD,
    why=WHY,
    panels=(
        NEIGHBOURS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(("n",), "u"),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
