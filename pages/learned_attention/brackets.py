"""Brackets: attention and feed-forwards that find the bracket which is still open."""

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
Brackets of several kinds are nested. At every place the network says which closing bracket would
fit.
"""

WHY = """
The right answer closes the innermost bracket that is still open. Where that one stands depends on
all that has been read: between it and the reader there may be pairs that are closed already, and
these have to be skipped. So no fixed distance helps, and neither does the last bracket of any kind.

What helps is to count how deep each place is: one more for a bracket that opens, one less for one
that closes. The last place that opened to the reader's own depth is the one. The feed-forwards of
each layer can turn such counts into features that a query and a key can compare.

How this network does it you can only read off its maps, and try with its switches. The second layer
looks at the open bracket, the first at nothing that has a name; most heads in large models are like
that. With a head off many answers are still right: two of three follow directly on an opening
bracket, whose own partner closes it, and that needs no attention.

Sources: our own small model, trained by `python -m ncd train brackets --seed 0`. Well-nested
brackets are known as the Dyck language; Hahn 2020, *Theoretical Limitations of Self-Attention in
Neural Sequence Models*, used it to test attention, and Yao et al. 2021, *Self-Attention Networks
Can Process Bounded Hierarchical Languages*, showed that a few layers suffice for bounded depth.
"""

render_page(
    entry=catalogue["brackets"],
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
