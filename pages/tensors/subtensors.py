"""Subtensors: figure 9 of the notebook."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.tensors.cells import CELLS
from ncd.app.panels.tensors.equation_sides import EQUATION_SIDES, INDEX_PAIRS
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE

LEAD = """
A number in a table has two indexes, and it is the same number whichever of them is taken first.
"""

WHY = """
Two pentagons at once take one number. One after the other, the first leaves a row or a column, and
the second takes the number from it. Each index ends its own wire and leaves the other as it is, so
they can slide past each other: that is why the three diagrams are equal, for every pair of indexes.

Source: the notebook's figure 9, section 2.3.1 (*Neural circuit diagrams*), which tries every pair
in a (5 7) tensor, as the panel here does.
"""

render_page(
    entry=catalogue["subtensors"],
    lead=LEAD,
    why=WHY,
    panels=(CELLS, INDEX_PAIRS, EQUATION_SIDES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
