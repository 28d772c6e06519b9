"""The feed-forward of a transformer: the notebook that unit-tests one."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.tensors.three_ways import POINTWISE
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
The same two maps at every position: whether they are written as linear maps or as convolutions of
width 1, the numbers are the same.
"""

WHY = """
A convolution mixes the channels of all positions that its window covers. A window of width 1 covers
one position, so what is left is a linear map of the channels, the same one everywhere. Only the
order of the axes differs: torch's `Conv1d` wants the channels before the positions, which is why
the wires cross before it and after it; `Linear` works on the last axis.

Positions never meet here. In a transformer that is attention's work.

Sources: *Unit-testing all elements of a transformer*, PointWiseFeedForward via Conv1d; Vaswani et
al. 2017, *Attention Is All You Need*, section 3.3.
"""

render_page(
    entry=catalogue["pointwise-feed-forward"],
    lead=LEAD,
    why=WHY,
    panels=(POINTWISE, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
