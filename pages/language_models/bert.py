"""BERT: an encoder of sentences."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention import attention_maps, both_sides
from ncd.app.panels.language_models import model_size
from ncd.app.panels.tensors.memory_bound import WhatMoves
from ncd.app.panels.walk import autograd_graph, cost_table, shapes, source, values

LEAD = """
Every word looks at all the others, before it and behind it, so that its vector says what it means
in this sentence.
"""

WHY = """
Without a mask nothing can be predicted word by word: the answer stands in the input. So BERT is
trained to fill in words that were hidden, about one in seven, and to tell whether a second sentence
followed the first. What comes out is not a text but a vector for each word, and one for the whole,
made from the first position, which is that of the mark [CLS].

Three tables are added at the beginning: one for the word, one for its position, one for the
sentence that it belongs to, A or B. The norm stands behind each sum, as in the first transformers,
and not before each part as in [GPT-2](gpt-2).

Sources: Devlin et al. 2019, *BERT: Pre-training of Deep Bidirectional Transformers for Language
Understanding*, sections 3 and 3.1, and figure 2 for the three tables.
"""

render_page(
    entry=catalogue["bert"],
    lead=LEAD,
    why=WHY,
    panels=(
        both_sides,
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
