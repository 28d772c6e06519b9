"""DeepSeek-V2: latent attention and small experts."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.attention.expert_routing import EXPERT_ROUTING
from ncd.app.panels.attention.kv_cache import cache_size
from ncd.app.panels.language_models.model_size import MODEL_SIZE
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Keys and values are kept as a few numbers for all heads together, and each word is sent to a few of
many small experts.
"""

WHY = """
While a text is written, keys and values of all earlier words have to be kept. Here only *o*
compressed features and *b* that turn with the position are: in DeepSeek-V2-Lite 576 numbers for a
word and layer, where 16 heads with keys and values of their own would need 4,096. Keys and values
of all heads are made from the compressed ones by linear maps. As that map is linear, it can be
joined with that of the queries, and no key has to be made at all; a rotation by the position in
between would prevent it. So each head's score is a sum of two: one over features that know no
position, one over a few that are turned.

The feed-forward is a mixture as in [Mixtral](mixtral), of many small experts instead of few large
ones, so that there are more ways to combine them. Two more work on every word, so that what all
words need is not learned by each. The first layer has one large feed-forward.

DeepSeek-V2-Lite does not compress its queries; the larger ones do. Its stretching of positions for
long texts is left out here.

Sources: DeepSeek-AI 2024, *DeepSeek-V2*, sections 2.1 and 2.2, and its appendix on V2-Lite; Dai et
al. 2024, *DeepSeekMoE*, section 3.
"""

render_page(
    entry=catalogue["deepseek"],
    lead=LEAD,
    why=WHY,
    panels=(
        cache_size(heads=("h",), title="latent"),
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
