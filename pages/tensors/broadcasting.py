"""Broadcasting: figure 10 of the notebook."""

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
An operation on a row is an operation on every row of a table, and the wire of the rows passes
straight over it.
"""

WHY = """
What it means to apply *G* to every row is said by an index: row *i* of the result is *G* of row *i*
of the table. The index on the left comes after *G*, on the right before it, so it passes over *G*.
The equation leaves nothing open, as an array is known once each of its rows is. A loop over the
rows, `torch.vmap` and the rules that torch's own functions follow are three ways to get there: the
numbers agree, the time does not.

Source: the notebook's figure 10, section 2.3.2 (*Neural circuit diagrams*). Its code loops over
`j` and then indexes with `jc`; it has to be one name.
"""

render_page(
    entry=catalogue["broadcasting"],
    lead=LEAD,
    why=WHY,
    panels=(THREE_WAYS, EQUATION_SIDES, CELLS, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
