"""The whole transformer: architecture 3 of the tutorial from autograd to transformers."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.attention.kv_cache import KV_CACHE
from ncd.app.panels.attention.torch_layer import TORCH_LAYER
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
One stack of layers reads a sequence, the other one writes, and each layer that writes looks at what
was read.
"""

WHY = """
The encoder sees its whole input at once. What it gives at the end is the memory: *s* vectors of *m*
features, from which every layer of the decoder makes keys and values of its own. There are three
kinds of attention, with one and the same inside: the encoder's looks everywhere, the decoder's own
only back, and the third from the decoder to the encoder. The panel *Attention* has the map of each
layer, head and kind.

When it writes word by word, the encoder runs once. After the first step, what it gave lives on in
the keys and values that each layer of the decoder keeps; with the cache switched on, the diagram is
one step of the decoder alone.

The embedding before and the linear map with its softmax behind, which the tutorial's picture has,
are not in its code, and not here. A norm stands behind each stack, as in torch.

Sources: *From autograd to transformers*, architecture 3; Vaswani et al. 2017, *Attention Is All You
Need*, figure 1.
"""

render_page(
    entry=catalogue["encoder-decoder"],
    lead=LEAD,
    why=WHY,
    panels=(
        ATTENTION_MAPS,
        KV_CACHE,
        TORCH_LAYER,
        CACHED_PASS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
