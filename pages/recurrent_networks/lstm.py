"""The long short-term memory: a state that is kept unless a gate closes."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.language_models.gates import GATES
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A network that reads word after word, with a memory that it changes only as far as its gates let it.
"""

WHY = """
The brackets run along *t*: the same step, with the same weights, at every position. Two states go
from each to the next, the memory above and below it the hidden state, which is also the output.
Both begin at zero.

A gate is a number between 0 and 1 for each feature. The input gate says how much of what is new is
written, the forget gate how much of the memory stays, the output gate how much of it is shown. The
memory itself passes through one product and one sum at every step, and no learned map: where the
forget gate is near 1, a gradient comes back through many steps almost as it was. In a plain
recurrent network it passes a map and a tanh each time, and vanishes or explodes.

The first LSTM had no forget gate: its memory kept all. As in `torch.nn.LSTM`, the maps of state and
input have a bias each, though one would do.

Sources: Hochreiter and Schmidhuber 1997, *Long Short-Term Memory*, sections 3 and 4; Gers et al.
2000, *Learning to Forget: Continual Prediction with LSTM*; Sutskever et al. 2014, for the sizes.
"""

render_page(
    entry=catalogue["lstm"],
    lead=LEAD,
    why=WHY,
    panels=(GATES, CACHED_PASS, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
