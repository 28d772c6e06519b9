"""T5: from a text to a text."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.cached_pass import CACHED_PASS
from ncd.app.panels.attention.position_panels import DISTANCE_BIAS
from ncd.app.panels.language_models.model_size import MODEL_SIZE
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A transformer that reads one text and writes another. It knows no positions: to the score of two
words a learned number is added for the distance between them.
"""

WHY = """
Every task is put as text, “translate English to German: …”, and the answer is text again. So the
whole transformer is needed: an encoder that reads, and a [decoder](decoder-block) that writes and
looks at what was read.

No position is added to the words. Instead each head has a learned number for each distance between
query and key: the bias that is added to the scores. Distances share 32 buckets: small ones have a
bucket each, large ones share buckets that grow like a logarithm, and beyond 128 all are one. The
encoder tells what comes before from what comes behind; the decoder only sees what comes before. The
bias is made once and goes to every layer of its stack, so its wire passes the brackets.

The norms only divide by the root of the mean square, no map has a bias, and the scores are not
divided by √*k*: the first weights are drawn smaller instead.

Sources: Raffel et al. 2020, *Exploring the Limits of Transfer Learning with a Unified Text-to-Text
Transformer*, section 2.1; Shaw et al. 2018, *Self-Attention with Relative Position
Representations*.
"""

render_page(
    entry=catalogue["t5"],
    lead=LEAD,
    why=WHY,
    panels=(
        DISTANCE_BIAS,
        ATTENTION_MAPS,
        MODEL_SIZE,
        CACHED_PASS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(("t",), "s"),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
