"""Recall: two layers of attention that look up the value of a key."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.attention.sequence_reading import SEQUENCE_READING
from ncd.app.panels.learning.training import TRAINING
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Keys and values take turns. When a key comes again, the network says the value that stood behind it.
"""

WHY = """
Attention is often told as a dictionary: a query asks, keys answer, values are handed over. Here it
has to be one. The letter that comes again is easy to find, since it is the same symbol. But what is
to be said stands *behind* that letter, and a value's own vector does not say which key it belongs
to.

So it takes two layers. In the first, every value looks at the place before it, and takes along
which key stands there. In the second, the key that comes again looks for a value that carries the
same key. Neither is of use without the other: switch off the head of the first layer, and the
second looks in vain.

Sources: our own small model, trained by `python -m ncd train recall --seed 0`; the task comes from
Graves et al. 2014, *Neural Turing Machines*, section 4.3, and is used to compare architectures in
Arora et al. 2024, *Zoology: Measuring and Improving Recall in Efficient Language Models*; why it
takes two layers is explained in Olsson et al. 2022, *In-context Learning and Induction Heads*.
"""

render_page(
    entry=catalogue["recall"],
    lead=LEAD,
    why=WHY,
    panels=(
        SEQUENCE_READING,
        TRAINING,
        ATTENTION_MAPS,
        CACHED_PASS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
