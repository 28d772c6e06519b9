"""Latent attention: all keys and values come from a few features that are kept."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.attention.kv_cache import cache_size
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Attention that keeps only a few compressed features of each token, from which the keys and values of
all heads are made again.
"""

WHY = """
Grouped queries make the cache small by having fewer keys and values. Latent attention keeps as many
of them as there are heads, and makes them all from *c* features: what is stored of a token is these
*c* numbers, however many heads there are. The maps **L** *UK* and *UV* need not even be applied to
the past: a product of matrices can be taken in another order, so they move into the maps of queries
and of the output. That works only if nothing stands between them, and a rotation by the position
would. So the position has features of its own: *b* turned features of each query head, and one
turned key of *b* features, which all heads share. A score is the sum of both inner products. The
published model keeps 576 numbers for each token and layer, where its 128 heads would have 32,768.

Sources: DeepSeek-AI 2024, *DeepSeek-V2: A Strong, Economical, and Efficient Mixture-of-Experts
Language Model*, sections 2.1.2 and 2.1.3, appendix C and, for the comparison, table 1. The norms
are those of section 3.1.2.
"""

render_page(
    entry=catalogue["latent-attention"],
    lead=LEAD,
    why=WHY,
    panels=(
        cache_size(heads=("h",), title="latent"),
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
