"""Reversal: one layer of attention that reads a sequence and says it backwards."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.sequence_reading import SEQUENCE_READING
from ncd.app.panels.learning.training import TRAINING
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
One layer of attention has learned to say a sequence backwards: its map is a line from corner to
corner.
"""

WHY = """
The first place has to say what stands at the last one, the second what stands before that, and so
on. What is to be said depends only on *where* a symbol stands, not on which it is. So the network
needs the vectors of the places: a query made from the first has to meet a key made from the last.
Training has found such queries and keys by itself; nobody has told it about corners.

Before training the weights were drawn at random, and the map was noise. Set a size to another value
and you see that: the weights that come with this page are for the sizes it begins with.

With the head switched off, nothing that stands elsewhere can reach a place any more. It is left
with its own symbol, and can only guess.

Sources: our own small model, trained by `python -m ncd train reversal --seed 0`; Vaswani et al.
2017, section 3.2, for attention; reversing a sequence is the first exercise of the *UvA Deep
Learning Tutorials*, number 6 (Lippe 2022).
"""

render_page(
    entry=catalogue["reversal"],
    lead=LEAD,
    why=WHY,
    panels=(
        SEQUENCE_READING,
        TRAINING,
        ATTENTION_MAPS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
