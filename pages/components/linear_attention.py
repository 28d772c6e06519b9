"""Linear attention: a softmax less, and the past fits into a matrix."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.language_models.recurrent_states import state_pictures
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES
from ncd.systems.recurrent.linear_attention import linear_attention

LEAD = """
Attention without the softmax, so that all keys and values so far can be added up in one matrix: the
state.
"""

WHY = """
With a softmax every query has to meet every key. Here a query and a key first become features that
are positive, and a weight is their inner product. Then the order can be changed: instead of weights
for each query, the outer products of keys and values are added up once, in a matrix of *k* × *v*
numbers, and a query reads from it. A new token adds its outer product and is done: a step costs the
same at the first token and at the millionth, and nothing else is kept. The price is room. Only *k*
keys can be kept apart in *k* features, and nothing is ever taken out, so that new values are laid
over old ones. The sum of the keys, carried along, divides what is read, so that the weights of a
query sum to 1.

Source: Katharopoulos et al. 2020, *Transformers are RNNs: Fast Autoregressive Transformers with
Linear Attention*, sections 3.2 to 3.4 (equations 16 to 20).
"""

render_page(
    entry=catalogue["linear-attention"],
    lead=LEAD,
    why=WHY,
    panels=(
        state_pictures(linear_attention),
        CACHED_PASS,
        VALUES,
        SOURCE,
        COST_TABLE,
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
