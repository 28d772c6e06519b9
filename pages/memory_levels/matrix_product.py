"""A matrix product in tiles."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A product of two matrices, done in squares of the result: how large they are decides how often *A*
and *B* are read.
"""

WHY = """
A processor computes on a small fast memory and fetches everything else from a large slow one. Cut
the rows *a* and the columns *c* into groups of *g*: each square of the result needs *g* rows of
*A* and *g* columns of *B*, which come in tiles along *b* and are added up. So *A* is read once for
each group of columns, and *B* once for each group of rows. A square of *g*² numbers has to stay,
and so twice the fast memory does not halve what moves: it falls as 1/√*M*. In whatever order the
same multiplications are done, it falls no faster.

Sources: Abbott and Zardini 2024, *FlashAttention on a Napkin*; Hong and Kung 1981, *I/O
Complexity: The Red-Blue Pebble Game*.
"""

render_page(
    entry=catalogue["matrix-product"],
    lead=LEAD,
    why=WHY,
    panels=(
        what_moves(("a", "c"), "b", around=True, product=True),
        VALUES,
        SOURCE,
        COST_TABLE,
        SHAPES,
    ),
)
