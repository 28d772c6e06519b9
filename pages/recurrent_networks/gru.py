"""The gated recurrent unit: one state, two gates."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.language_models.gates import GATES
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
One state and two gates: at each word, they say how much of every feature stays as it was, and how
much is new.
"""

WHY = """
The update gate mixes: a share *z* of the old state stays, and 1 − *z* of what is new comes in. So
one gate does what two do in the [LSTM](lstm), where forgetting and writing are chosen apart, and
there is no memory beside the hidden state. Where *z* is near 1, the state and its gradient pass on
almost unchanged.

The reset gate says how much of the state is seen when what is new is worked out: where it is near
0, the step begins afresh from the word alone.

With three maps of the state in place of four, it has three quarters of the weights of an LSTM of
the same size. In the paper the reset gate comes before the map of the state, and here behind it, as
in `torch.nn.GRU`.

Sources: Cho et al. 2014, *Learning Phrase Representations using RNN Encoder–Decoder for Statistical
Machine Translation*, section 2.3; Chung et al. 2014, *Empirical Evaluation of Gated Recurrent
Neural Networks on Sequence Modeling*, section 3.
"""

render_page(
    entry=catalogue["gru"],
    lead=LEAD,
    why=WHY,
    panels=(GATES, CACHED_PASS, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
