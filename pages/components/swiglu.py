"""SwiGLU: a feed-forward with a gate."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.language_models.gates import GATE_MAP
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A feed-forward with two maps side by side: one makes values, and the other decides how much of each
may pass.
"""

WHY = """
A plain feed-forward is a map, a function of each number, and a map back. Here two maps read the
same token, and their results are multiplied, number by number. The gate goes through SiLU, *x*
σ(*x*): near 0 for what is clearly negative, near *x* for what is large, and smooth in between. So a
hidden feature can depend on a product of two things in the token, which a single map and a ReLU can
only build from many pieces. A third map costs parameters, so the hidden features are made fewer by
a third: 8/3 of the features in place of 4 times as many. Why it is better, the paper does not claim
to know: it measures it, and credits "divine benevolence". Most of today's language models use it.

Sources: Shazeer 2020, *GLU Variants Improve Transformer*, section 2 (equation 6) and section 4;
Touvron et al. 2023, *LLaMA*, section 2.2, for the 2/3.
"""

render_page(
    entry=catalogue["swiglu"],
    lead=LEAD,
    why=WHY,
    panels=(GATE_MAP, VALUES, SOURCE, COST_TABLE, AUTOGRAD_GRAPH, SHAPES),
)
