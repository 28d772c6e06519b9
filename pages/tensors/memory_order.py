"""Permute and reshape: the notes on permutations."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.tensors.memory_order import MEMORY_ORDER, PERMUTATION_PUZZLE
from ncd.app.panels.tensors.patch_raster import PATCH_RASTER
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Memory is one long line of numbers: the shape of an array says how the line is read, and permuting
changes the way of reading, not the numbers.
"""

WHY = """
An array is read from its last axis to its first, as a page is read: along a row, then row by row. A
stride says how far to go in memory for one step along an axis. `permute` only exchanges strides: a
number gets another index and stays where it is. `reshape` reads on in the new order, and writes
into a new memory what no strides can say.

So an image is cut into patches by three steps: height and width are each read as two axes, `(H′ p)`
and `(W′ q)`, and then the axes of a patch are put last. Writing `(q W′)` instead raises no error:
the shapes fit, and what comes out is no patch of the picture.

Sources: *Notes on MLPs, permutations and normalisation*, permutations and reshaping; the UvA deep
learning notebooks, tutorial 15, Vision Transformer.
"""

render_page(
    entry=catalogue["memory-order"],
    lead=LEAD,
    why=WHY,
    panels=(
        MEMORY_ORDER,
        PERMUTATION_PUZZLE,
        PATCH_RASTER,
        VALUES,
        SOURCE,
        COST_TABLE,
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
