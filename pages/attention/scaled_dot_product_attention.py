"""Scaled dot-product attention: figure 20 of the notebook."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE, paper_equation
from ncd.app.panels.walk.values import VALUES

LEAD = """
Each query in *Q* is compared with every key in *K*, and takes a mixture of the values *V* of those
that match.
"""

WHY = """
The inner product of a query and a key, over their *k* features, says how well they match: the first
cap in the drawing ([its signs](legend)). The softmax, a triangle, turns the matches of one query
into weights that sum to 1 along *x*, and with them it mixes the values. An inner product of *k*
independent numbers spreads as √*k*, so the matches are divided by √*k* before the softmax. Nothing
here is learned: what can be learned are the maps that make queries, keys and values.

Sources: the notebook's figure 20; Vaswani et al. 2017, *Attention Is All You Need*, equation 1.
"""

EQUATION = paper_equation(
    (
        r"\text{Attention}(Q, K, V) = <Softmax: \text{SoftMax}>"
        r"\left(\frac{<scores: QK^T>}{<Scale: \sqrt{d_k}>}\right)<out: \cdot V>",
    ),
    "Equation 1 of the paper, where k is called d with the index k. A causal mask comes before the "
    "softmax (section 3.2.3).",
)

render_page(
    entry=catalogue["scaled-dot-product-attention"],
    lead=LEAD,
    why=WHY,
    panels=(
        *(EQUATION, ATTENTION_MAPS, VALUES, SOURCE, COST_TABLE, what_moves()),
        *(AUTOGRAD_GRAPH, SHAPES),
    ),
)
