"""Induction: two layers of attention that go on with what has been said before."""

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
A random word is repeated again and again; each text has another word, of another length. The
network says which letter comes next.
"""

WHY = """
At its second *c*, a reader looks for the first one and says what followed there. That takes two
steps, and two layers of attention share them. A **previous-token head** in the first layer writes
to every place which letter stands before it. An **induction head** in the second then looks for a
place with “before me stands a *c*”, and says what is there. It works for words that were never
seen: what is learned is not a word, but how to look.

If all words had the same length, one layer could do it: look so many places back, whatever stands
there. As the length differs, the place alone does not help. Set the layers *n* to 1: that model was
trained alike, and it stalls at about a quarter of the answers. One layer cannot do in one step what
takes two.

Now switch off the head of the first layer, and see the line of the second fall apart.

Sources: our own small model, trained by `python -m ncd train induction --seed 0`; Elhage et al.
2021, *A Mathematical Framework for Transformer Circuits*; Olsson et al. 2022, *In-context Learning
and Induction Heads*.
"""

render_page(
    entry=catalogue["induction"],
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
