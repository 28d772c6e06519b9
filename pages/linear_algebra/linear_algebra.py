"""Linear algebra by bending and shifting wires: figure 18 of the notebook."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.tensors.equation_sides import EQUATION_SIDES, EQUATION_WALK
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Linear maps can be turned and moved along their wires without changing what comes out. Seven steps
show how.
"""

WHY = """
A linear map is a table of numbers, and a wire is the identity, a table as well. Which side of a
table goes in and which comes out is only a matter of reading, so a wire may bend back: the **unit**
(two wires that begin in one curve) and the **inner product** (two that end in one) turn an output
into an input. Bent twice, the wire can be pulled straight.
What a map does along its own wires does not depend on the other wires of the array: it is
*broadcast* over them. So two maps on different wires may be done in either order, and in the
drawing one slides past the other. This holds for linear maps only: the relu of a sum is not the sum
of the relus.

Sources: the notebook's figure 18 (*Neural circuit diagrams*), section 2.4.3, whose code checks the
first two lines on random numbers, as this page does.
"""

render_page(
    entry=catalogue["linear-algebra"],
    lead=LEAD,
    why=WHY,
    panels=(EQUATION_WALK, EQUATION_SIDES, VALUES, SOURCE, COST_TABLE, SHAPES),
)
