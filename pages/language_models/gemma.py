"""Gemma 2: windows and whole texts by turns."""

from ncd import catalogue
from ncd.view.page.page import page
from ncd.view.panels.attention import attention_maps
from ncd.view.panels.common import autograd_graph, cost_table, shapes, source, values
from ncd.view.panels.language_models import layer_windows, model_size
from ncd.view.panels.memory.what_moves import WhatMoves

LEAD = """
Every second layer sees only the last few words; the layers between them see the whole text.
"""

WHY = """
A layer that sees all positions has to keep the keys and values of all, and compare each word with
each. A layer with a window of *w* keeps *w* of them, whatever the length of the text. What it
cannot see reaches it through the layers in between: a whole layer has gathered from everywhere, and
hands on. Stacked windows alone also reach back, *w* − 1 positions further with each layer.

The maps of the panel *Attention* show both: bands next to full triangles. Numbers that could grow
without limit are bent: a score *s* becomes 50 · tanh(*s* / 50), and the scores of words likewise
with 30. A norm stands before each part, and one behind it. As in [GPT-2](gpt-2), the table of words
gives the scores as well.

Gemma's published norms multiply by one plus a weight; here they multiply by the weight itself.

Sources: Gemma Team 2024, *Gemma 2: Improving Open Language Models at a Practical Size*, section 2
and table 1; Beltagy et al. 2020, *Longformer*, section 3.1, for stacked windows.
"""

page(
    entry=catalogue["gemma"],
    lead=LEAD,
    why=WHY,
    panels=(
        layer_windows,
        attention_maps,
        model_size,
        values,
        source,
        cost_table,
        WhatMoves(),
        autograd_graph,
        shapes,
    ),
)
