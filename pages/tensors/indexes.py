"""Indexes: figure 8 of the notebook."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.tensors.cells import CELLS
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
An index takes one place along an axis: the wire ends in it, and what is left is a smaller tensor.
"""

WHY = """
A table has a wire for its rows and one for its columns. The pentagon ends the wire of the rows: it
picks row *i*, `A[i, :]` in torch, so one wire goes on, the columns. Nothing is computed, and torch
does not even copy the numbers: the row is a view into the table.

Source: the notebook's figure 8, section 2.3.1 (*Neural circuit diagrams*).
"""

render_page(
    entry=catalogue["indexes"],
    lead=LEAD,
    why=WHY,
    panels=(CELLS, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
