"""Seq2seq with attention: one recurrent network reads, another writes and looks back."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.language_models.date_alignment import ALIGNMENT
from ncd.app.panels.learning.training import TRAINING
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
One recurrent network reads *november 3 1998*, another writes *1998-11-03*. For each symbol the
writer looks back at all that was read, and you can see where.
"""

WHY = """
The **encoder** reads symbol by symbol and keeps its state after each of them. The **decoder**
begins with the last of these states, and writes symbol by symbol; what it has written goes in
again. Lines of different lengths and in different orders can be translated so.

Without attention the last state is all that the decoder gets: a few numbers for a line of any
length. **Attention** lets each step ask anew. The state of the decoder is mapped by *W*, every
state of the encoder by *U*; their sum goes through a tanh, and *e* makes one number of it, the
score. A softmax turns the scores along *s* into weights, and the decoder is given the mean of the
encoder's states with these weights. It is called additive for the sum; the
[attention of transformers](scaled-dot-product-attention) has a product in its place.

Nobody has told the network which symbols belong together. The map follows from the task alone: to
write the year first it has to look at the end. Switch attention off, and see what one state can
hold: it has learned as long, from the same dates.

A gradient comes to every symbol that was read by a short way, through its weight, and not only back
through all steps. Transformers keep this part and leave out the recurrence, so that all positions
are worked out at once.

In the paper the encoder reads both ways, and the scores come from a maxout layer. This one reads
in one direction: so it looks where a name has become clear, and often at the symbol behind.

Where it is used: it is how neural translation began. Its map, with several heads, is in
every [encoder–decoder](encoder-decoder) since, and the state is that of a [GRU](gru).

Sources: Bahdanau et al. 2015, *Neural Machine Translation by Jointly Learning to Align and
Translate*, section 3.1 and appendix A; Cho et al. 2014, *Learning Phrase Representations using RNN
Encoder–Decoder*, and Sutskever et al. 2014, *Sequence to Sequence Learning with Neural Networks*,
for the two without attention; our own small models, trained by `python -m ncd train
seq2seq-attention --seed 0`, and with `--set attend=0`.
"""

render_page(
    entry=catalogue["seq2seq-attention"],
    lead=LEAD,
    why=WHY,
    panels=(ALIGNMENT, TRAINING, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
