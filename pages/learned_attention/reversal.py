"""Reversal: one layer of attention that reads a sequence and says it backwards."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention import attention_maps, sequence_reading
from ncd.app.panels.learning import training
from ncd.app.panels.tensors.memory_bound import WhatMoves
from ncd.app.panels.walk import autograd_graph, cost_table, shapes, source, values

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
        sequence_reading,
        training,
        attention_maps,
        values,
        source,
        cost_table,
        WhatMoves(),
        autograd_graph,
        shapes,
    ),
)
