"""ViT: an image as a sequence of patches."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.picture_attention import WINDOWS
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
A picture is cut into patches, every patch becomes a word, and a transformer reads them.
"""

WHY = """
A convolution whose stride is its window meets each pixel once: it is one linear map for each patch,
from its *s* · *s* · *c* numbers to a vector. From there on the picture is a sequence: what was
above and what was beside is known only by the vectors that are added for the positions, and these
are learned.

One more vector stands in front that belongs to no patch. It looks at all the others, layer after
layer, and the classes are read from it alone at the end. Each layer is an [encoder
block](encoder-block).

A convolutional network is built so that neighbours meet first and a shape counts wherever it
stands. Here both have to be learned: with a million pictures such networks were better, with
hundreds of millions this one was.

Sources: Dosovitskiy et al. 2021, *An Image is Worth 16x16 Words: Transformers for Image Recognition
at Scale*, sections 3.1 and 4.3, figure 3.
"""

render_page(
    entry=catalogue["vit"],
    lead=LEAD,
    why=WHY,
    panels=(
        WINDOWS,
        ATTENTION_MAPS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(("y",), "z"),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
