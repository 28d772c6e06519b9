"""Queries, keys and values out of one map: the exercise in the notes on permutations."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.torch_layer import MERGED_HEADS
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
One large map makes queries, keys and values at once; how its output is cut decides which number
belongs to which head.
"""

WHY = """
A reshape moves no number: it only says how to read on. Of 3*hk* features the last axis is read
first, so `(h, 3k)` gives each head its own query, key and value, side by side, and `(3k, h)` gives
all queries first, the heads taking turns. Both are the same set of numbers in another order, and as
the map is learned, either order can be learned.

The notes call the choice irrelevant. That holds for what can be learned, not for weights that are
there already: the columns of the map have to be permuted alike, or other numbers come out. They
also call `(3k, h)` a concatenation of heads column by column; it interleaves their numbers.

Sources: *Notes on MLPs, permutations and normalisation*, transformer exercise; the UvA deep
learning notebooks, tutorial 6.
"""

render_page(
    entry=catalogue["merged-qkv"],
    lead=LEAD,
    why=WHY,
    panels=(
        MERGED_HEADS,
        ATTENTION_MAPS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
