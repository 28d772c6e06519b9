"""Flash attention: attention as one loop over tiles of the keys."""

from ncd import catalogue
from ncd.app.page.page import render_page
from ncd.app.panels.tensors.memory_bound import TILE_WALK, what_moves
from ncd.app.panels.walk.shapes_and_cost import COST_TABLE, SHAPES
from ncd.app.panels.walk.source import SOURCE
from ncd.app.panels.walk.values import VALUES

LEAD = """
Attention makes a score of every query and every key. Flash attention gives the same result without
ever storing these scores in slow memory.
"""

WHY = """
A softmax needs the sum over all keys before it can give its first weight, which would be a second
pass over them. But the sum only divides, and a product with the values is linear: divide at the
end. The largest score, which keeps the exponentials small, is not known at first either. When a
larger one turns up, all that was added up so far is multiplied by the exponential of the
difference. So one pass is enough: for every query the loop keeps a maximum, a sum and a result.
None of this is a rule about attention. It follows from what a softmax keeps and from a product
being linear.

Sources: Dao et al. 2022, *FlashAttention*; Milakov and Gimelshein 2018, *Online normalizer
calculation for softmax*; Abbott and Zardini 2024, *FlashAttention on a Napkin*.
"""

render_page(
    entry=catalogue["flash-attention"],
    lead=LEAD,
    why=WHY,
    panels=(TILE_WALK, what_moves(around=True), VALUES, SOURCE, COST_TABLE, SHAPES),
)
