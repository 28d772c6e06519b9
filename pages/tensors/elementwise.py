"""Elementwise operations: figure 12 of the notebook."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.tensors.cells import CELLS
from ncd.app.panels.tensors.equation_sides import EQUATION_SIDES
from ncd.app.panels.tensors.three_ways import THREE_WAYS
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A function of one number becomes a function of every number in a table: all wires pass over it.
"""

WHY = """
A number has no wires, or one of length 1, which says the same: the two arrows begin and end such a
wire for *f* to stand in. Broadcasting over *c* and *a* then gives *f* on every number, and so an
index may come before *f* or after it. Torch's own elementwise functions, such as `torch.tanh`, are
broadcast as they stand, so that nobody writes a loop for them.

Source: the notebook's figure 12, section 2.3.2 (*Neural circuit diagrams*).
"""

render_page(
    entry=catalogue["elementwise"],
    lead=LEAD,
    why=WHY,
    panels=(THREE_WAYS, EQUATION_SIDES, CELLS, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
