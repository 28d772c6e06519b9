"""Visual attention: figure 28 of the notebook."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS
from ncd.app.panels.attention.picture_attention import IMAGE_PATCHES
from ncd.app.panels.tensors.memory_bound import what_moves
from ncd.app.panels.walk.autograd_graph import AUTOGRAD_GRAPH
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Every patch of one picture looks at all patches of another, and takes from each what it finds there.
"""

WHY = """
This is [multi-head attention](multi-head-attention) with a patch in the place of a word: a window
of *w* × *w* pixels. The learned maps become convolutions, which take one patch after the other,
each *s* pixels further (the stride), and make a query, a key or a value of it. The attention in
between does not know that the patches form a picture: a patch in one corner can look at the other
corner as easily as at its neighbour, whereas a convolution alone sees only what is near. At the end
a transposed convolution turns the answers into pixels again. With windows of 1 × 1 the patches are
the pixels themselves, and the convolutions are plain linear maps.

If the patches do not fill the picture, pixels are dropped at its right and lower edge. In the
notebook's run, with windows of 3 × 3 and a stride of 3, an image of 16 × 16 comes back as 15 × 15.
The comment there blames the stride; the reason is that 16 is not a multiple of 3.
The code there also adds biases, which the figure leaves out; this page follows the figure.

Sources: the notebook's figure 28 (*Neural circuit diagrams*), section 3.5; Dosovitskiy et al. 2021,
*An Image is Worth 16x16 Words*, for patches in the place of words.
"""

render_page(
    entry=catalogue["visual-attention"],
    lead=LEAD,
    why=WHY,
    panels=(
        IMAGE_PATCHES,
        ATTENTION_MAPS,
        VALUES,
        SOURCE,
        COST_TABLE,
        what_moves(("y/s",), "x/s"),
        AUTOGRAD_GRAPH,
        SHAPES,
    ),
)
