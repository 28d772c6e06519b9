"""Inner broadcasting: figure 11 of the notebook."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.tensors import cells, equation_sides, three_ways
from ncd.app.panels.walk import autograd_graph, cost_table, shapes, source, values

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
    panels=(three_ways, equation_sides, cells, values, source, cost_table, autograd_graph, shapes),
)
