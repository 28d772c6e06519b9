"""Inner broadcasting: figure 11 of the notebook."""

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
Of several arrays one alone can have rows: the operation then meets each row with the same other
array.
"""

WHY = """
*H* takes a row and another array. Of a whole table and that other array it can take as many pairs
as the table has rows, and the other array is in all of them: `torch.vmap(H, (0, None))` says so. In
the diagram the wire of the rows passes over *H* above the dashed line, inside the first array. On
the right of the equation the index picks a row, with nothing but a wire for the other array beside
it.

Source: the notebook's figure 11, section 2.3.2 (*Neural circuit diagrams*). Its code says that the
result of `c a, d` is `c d`; it is `c b`.
"""

render_page(
    entry=catalogue["inner-broadcasting"],
    lead=LEAD,
    why=WHY,
    panels=(THREE_WAYS, EQUATION_SIDES, CELLS, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
