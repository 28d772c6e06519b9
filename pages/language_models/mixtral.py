"""Mixtral: many experts, two of which work."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.attention.expert_routing import EXPERT_ROUTING
from ncd.app.panels.language_models.model_size import MODEL_SIZE
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Eight feed-forwards stand ready in every layer, and each word is sent to two of them: many
parameters, few of them at work.
"""

WHY = """
A small map, the router, gives each word a score for each expert. The best *c* are taken, and the
softmax of their scores says how much each counts. Only the chosen ones are computed: Mixtral 8x7B
stores 46.7 billion parameters, and a word passes through 12.9 billion. Memory is paid for all,
arithmetic for two.

The choice itself has no gradient: when scores change a little, mostly the same two experts are
chosen. What learns is the weight with which a chosen expert counts, and so the router learns from
the experts that it has chosen. Nothing here keeps the loads equal; in training, a term of the loss
does that, as otherwise a few experts get all the words.

In the diagram no expert is a module of its own: the weights of all of them are three arrays with an
axis *e*, and a choice is an index along it.

Sources: Jiang et al. 2024, *Mixtral of Experts*, section 2; Shazeer et al. 2017, *Outrageously
Large Neural Networks: The Sparsely-Gated Mixture-of-Experts Layer*, sections 2.1 and 4.
"""

render_page(
    entry=catalogue["mixtral"],
    lead=LEAD,
    why=WHY,
    panels=(
        EXPERT_ROUTING,
        ATTENTION_MAPS,
        MODEL_SIZE,
        CACHED_PASS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
