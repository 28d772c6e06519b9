"""The delta rule: a state that is corrected instead of filled up."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.language_models.recurrent_states import state_pictures
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES
from ncd.systems.recurrent.linear_attention import delta_rule

LEAD = """
A matrix is the memory: each token asks it its own key, and writes only what the answer lacks.
"""

WHY = """
Linear attention adds every value to its state and takes nothing out. The delta rule first reads:
the state answers the new key with what it has there, and the difference to the new value, times a
strength *β* between 0 and 1, is written at that key. With *β* = 1 and keys of length 1 the old
value is replaced; with *β* = 0 nothing happens. This is one step of gradient descent on the squared
error of the answer, so the state learns while the text is read. Keys that stand at right angles do
not disturb each other. With **Gate** on, the whole state is first multiplied by a factor below 1,
made from the token: so a page can be cleared at once, which single corrections cannot do. Published
models also have short convolutions before keys, queries and values, and a norm behind.

Sources: Yang et al. 2024, *Parallelizing Linear Transformers with the Delta Rule over Sequence
Length*, section 2.2; Schlag et al. 2021, *Linear Transformers Are Secretly Fast Weight
Programmers*, section 4.2; Yang et al. 2024, *Gated Delta Networks*, section 3.1; Dao and Gu 2024,
*Transformers are SSMs*, for the factor.
"""

render_page(
    entry=catalogue["delta-rule"],
    lead=LEAD,
    why=WHY,
    panels=(
        state_pictures(delta_rule),
        CACHED_PASS,
        VALUES,
        SOURCE,
        COST_TABLE,
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
