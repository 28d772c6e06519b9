"""Elementwise operations: figure 12 of the notebook."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.tensors import cells, equation_sides, three_ways
from ncd.app.panels.walk import autograd_graph, cost_table, shapes, source, values

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
    panels=(three_ways, equation_sides, cells, values, source, cost_table, autograd_graph, shapes),
)
