"""Mamba: a recurrence whose steps depend on what is read."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.language_models.recurrent_states import SELECTIVE_STATES
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A language model without attention: each word itself decides how much of the past is forgotten, and
where in the state it is written.
"""

WHY = """
Every one of the *d* features has a small state of *s* numbers, which goes from position to
position. At each step it is multiplied by a factor below 1 and the feature is added, in the
direction *B*; then it is read in the direction *C*. Older state spaces have the same factor and
directions at every position, so that they are one long convolution. Here a map of the position
makes them (they are *selective*): a large step takes the new word in and forgets, a step near 0
passes it by and keeps everything.

The state does not grow with the text, so a new word always costs the same, and nothing like a cache
of keys and values is kept. The price is that all of the past has to fit in *d* · *s* numbers a
layer. A convolution over the last *w* positions stands before the state, and a gate behind it; the
second map of the input opens the gate.

Nothing is trained here: weights are drawn from the seed, the steps between 0.001 and 0.1 as
published.

Source: Gu and Dao 2023, *Mamba: Linear-Time Sequence Modeling with Selective State Spaces*,
algorithm 2 and sections 3.4 to 3.6.
"""

render_page(
    entry=catalogue["mamba"],
    lead=LEAD,
    why=WHY,
    panels=(SELECTIVE_STATES, CACHED_PASS, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
