"""Gemma 2: windows and whole texts by turns."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention import attention_maps, layer_windows
from ncd.app.panels.language_models import model_size
from ncd.app.panels.tensors.memory_bound import WhatMoves
from ncd.app.panels.walk import autograd_graph, cost_table, shapes, source, values

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

render_page(
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
