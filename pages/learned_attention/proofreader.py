"""Proofreader: one layer of multi-head attention that corrects sentences."""

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
Four heads have learned to correct sentences: *the keys by the door **is** old* becomes *are*. Each
of them looks for something else, and you can see what.
"""

WHY = """
A word alone does not tell whether it is right. A verb has to agree with its subject, which may
stand far before it, behind it other nouns; *he* and *Mrs* with a first name, *they* with a thing, a
closing quotation mark with the opening one, a surname with the surname said before. So each of
these words makes a **query** that meets the **key** of what it must agree with, and the **value**
found there says which form is right.

One softmax is one list of weights that sum to 1: a head that looks in two places blurs both. With
several heads each can look for one kind of word. Nothing in the task forces them to share the work
so neatly, and without help they often look for the same. Here training also takes a little off for
heads that look at the same words. Switch one head off, and see which mistakes it leaves.

The sentences come from a small grammar with 78 words; the network knows no others.

Sources: our own small model, trained by `python -m ncd train proofreader --seed 3`; Vaswani et al.
2017, *Attention Is All You Need*, section 3.2.2, for the heads; Li et al. 2018, *Multi-Head
Attention with Disagreement Regularization*, for what keeps them apart; Linzen et al. 2016,
*Assessing the Ability of LSTMs to Learn Syntax-Sensitive Dependencies*, for agreement over other
nouns.
"""

render_page(
    entry=catalogue["proofreader"],
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
