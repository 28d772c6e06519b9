"""BERT: an encoder of sentences."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.token_reach import BOTH_SIDES
from ncd.app.panels.language_models.model_size import MODEL_SIZE
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

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
        BOTH_SIDES,
        ATTENTION_MAPS,
        MODEL_SIZE,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
