"""Attention's scores by einsum, in steps and at once: figure 17 of the notebook."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.tensors.equation_sides import EQUATION_SIDES
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import CODE_LINES, SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
How well each query matches each key: worked out in four small steps, or in one line of code. Both
give the same numbers.
"""

WHY = """
The four steps are all there is to products of arrays. A **transpose** crosses two wires. An **outer
product** multiplies every number with every other, and the diagonal of it keeps only the pairs that
share a head: the wire of *h* bends onto the other one at a dot. An **inner product** sums over two
wires of equal length, which meet in a cap. The last step scales what is left.
Each of the first three only says which axes meet and which go on, and that is what the letters of
an einsum say. So one einsum can do them all, and nothing changes in the numbers but the rounding.
It saves more than code: the long way makes an array of *y · k · k · x · h* numbers in between, of
which only those on the diagonal of *k* are used.

Sources: the notebook's figure 17 (*Neural circuit diagrams*), section 2.4. There the first form
writes the two *k* that are multiplied but not yet summed as `k1` and `k2`.
"""

render_page(
    entry=catalogue["einsum-attention"],
    lead=LEAD,
    why=WHY,
    panels=(CODE_LINES, EQUATION_SIDES, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
