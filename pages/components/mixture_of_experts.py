"""A mixture of experts: many feed-forwards, a few of which work on each position."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.expert_routing import EXPERT_ROUTING
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A router gives each position a score for every expert, and only the best few compute: parameters
grow with the number of experts, arithmetic does not.
"""

WHY = """
A feed-forward holds most of a transformer's parameters, and uses all of them for each position.
Here it is split into *e* experts. The router, a small map, scores them; the best *c* are taken; the
softmax of their scores weights what they give. Storage is paid for *e* experts, arithmetic for *c*.

Picking an expert has no gradient. The weights do: an expert that helped is scored higher next
time. An expert that nobody picks never learns, so real training adds a loss that keeps the loads
alike, or a bias that makes busy experts less likely. Move *c* and watch the loads.

Sources: Shazeer et al. 2017, *Outrageously Large Neural Networks: The Sparsely-Gated
Mixture-of-Experts Layer*, sections 2 and 4; Jiang et al. 2024, *Mixtral of Experts*, section 2.1.
"""

render_page(
    entry=catalogue["mixture-of-experts"],
    lead=LEAD,
    why=WHY,
    panels=(EXPERT_ROUTING, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
