"""A norm and a linear map in one pass."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A norm divides by a number that depends on all features. In front of a linear map one pass over
them is enough.
"""

WHY = """
The root of the mean square is known only after the last feature. But it only divides, and what
follows is linear: so the map adds up the features as they are, a sum of squares grows beside it,
and the division comes at the end. It is the idea of flash attention without its maximum. If
a sigmoid followed, which lets no common factor pass, the loop would have to read all features
twice.

Sources: Zhang and Sennrich 2019, *Root Mean Square Layer Normalization*; Abbott and Zardini 2024,
*FlashAttention on a Napkin*.
"""

render_page(
    entry=catalogue["streamed-norm"],
    lead=LEAD,
    why=WHY,
    panels=(what_moves(("y",), "m", around=True), VALUES, SOURCE, COST_TABLE, SHAPES),
)
