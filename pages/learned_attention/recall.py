"""Recall: two layers of attention that look up the value of a key."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention import attention_maps, sequence_reading
from ncd.app.panels.learning import training
from ncd.app.panels.tensors.memory_bound import WhatMoves
from ncd.app.panels.walk import autograd_graph, cost_table, shapes, source, values

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
