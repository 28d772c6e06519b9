"""GPT-2: the decoder that made language models general."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.language_models.model_size import MODEL_SIZE
from ncd.app.panels.language_models.next_word import NEXT_WORD
from ncd.app.panels.learning.training import TRAINING
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A text goes in as numbers of words, and for every position come out the scores of the word that
follows.
"""

WHY = """
A word's number picks a row of a table, and the number of its position a row of another one; their
sum is what the layers work on. Each layer is the [decoder-only block](decoder-only-block):
attention that looks back, then a feed-forward, each added to what came in. At the end the first
table is used once more: the score of a word is the inner product of what was worked out with that
word's row. So the wires *v* and *m* run below all layers, and 38.6 million of the small model's
124.4 million parameters are used at both ends.

The norm comes before each part and once more after the last layer. A position without a row in the
second table, the 1,025th, cannot be read at all; [Llama](llama) turns its queries and keys instead.

At the sizes that the page opens at, the weights are trained, on small stories of 201 words that a
grammar makes up (`python -m ncd train gpt-2 --seed 0`). On stories that it has not learned from,
its perplexity is 1.81: on average it is as unsure as between 1.81 words that are equally likely.
From the words before it has learned how a verb agrees, whom *he* means and what rhymes. At other
sizes the weights are drawn from the seed. Choose *GPT-2 small* to see what that one counts.

Sources: Radford et al. 2019, *Language Models are Unsupervised Multitask Learners*, section 2.3;
Press and Wolf 2017, *Using the Output Embedding to Improve Language Models*, for the table that is
used twice.
"""

render_page(
    entry=catalogue["gpt-2"],
    lead=LEAD,
    why=WHY,
    panels=(
        NEXT_WORD,
        ATTENTION_MAPS,
        TRAINING,
        MODEL_SIZE,
        CACHED_PASS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
