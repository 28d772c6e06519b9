"""Tensors: section 2.3 of the notebook."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.tensors.cells import CELLS
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE, WIRE_STYLES
from ncd.app.panels.walk.values import VALUES

LEAD = """
A tensor is an array of numbers along some axes, and each axis is a wire: two wires side by side are
a table.
"""

WHY = """
A dashed line stands between arrays, and none between the axes of one: so the picture says that *f*
takes a table of 4 × 2 numbers and a row of 6, and that the first array waits beside it until *g*
needs it. Drawn with one wire for each array, the same diagram hides which axes an operation takes;
with a wire for each axis it shows them, and an axis that an operation does not take can pass over
it. That is broadcasting ([the next pages](broadcasting)). Here *f* and *g* are fixed maps with a
tanh: any functions of these types would be drawn alike.

Source: the notebook's section 2.3 (*Neural circuit diagrams*), with its functions
f: 4 2, 6 → 3 3 and g: 3, 3 3 → 1 2.
"""

render_page(
    entry=catalogue["tensors"],
    lead=LEAD,
    why=WHY,
    panels=(WIRE_STYLES, CELLS, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
