"""Parallelism: a layer on several devices, by the axes of which each of them has a part."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.learning.device_parts import PARTS_OF_DEVICES
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A large model is trained on many devices. Each gets a part of some axis: of the heads, of the batch,
or of the positions. Where an op sums over that axis, the devices have to send each other something.
"""

WHY = """
Follow the wire of an axis. As long as ops only pass over it, each device can work on its part
alone. The wire ends where an op sums over it: there each device has a part of a sum, and an
**all-reduce** adds them up and gives the result to all. An op that needs the whole axis gets it by
an **all-gather**.

**Tensor parallelism** splits the heads *h* and the hidden features *d*. Their wires begin and end
within a part of the layer, so that each part sends one sum forward, and every device has only its
share of the weights. What is between the parts is whole everywhere, so norms and sums are
calculated by all.

**Data parallelism** splits the batch *b*. Nothing in the layer mixes examples, so nothing is sent
forward. But every device has all weights, and backward the gradient of each weight is summed over
all examples, so as many numbers travel as there are weights, to all and back.

**Sequence parallelism** splits the positions *t*. Only attention mixes them: its keys and values
are gathered, and their gradients summed on the way back. It is for long texts, whose arrays fill
the memory.

In a ring each device sends to its neighbour. To be summed, a number passes all links but one, and
as many to be given to all, so an all-reduce among *n* devices sends 2 (*n* − 1) times the array.

Large models combine them, each along its own axis. With *pipeline parallelism* devices have
different layers, and only the array between two layers travels. With *expert parallelism* they have
different experts of a mixture. Both are not shown here.

Sources: Shoeybi et al. 2019, *Megatron-LM*; Li et al. 2020, *PyTorch Distributed*; Korthikanti et
al. 2022, *Reducing Activation Recomputation in Large Transformer Models*; Patarasuk and Yuan 2009,
*Bandwidth optimal all-reduce algorithms for clusters of workstations*.
"""

render_page(
    entry=catalogue["parallelism"],
    lead=LEAD,
    why=WHY,
    panels=(PARTS_OF_DEVICES, ATTENTION_MAPS, VALUES, SOURCE, AUTOGRAD_GRAPH, COST_TABLE, SHAPES),
)
