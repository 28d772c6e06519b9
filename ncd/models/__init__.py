"""The systems, one file each; ``CATALOGUE`` is the hand-written list of all of them."""

from ncd.models.attention import MULTI_HEAD_ATTENTION, SCALED_DOT_PRODUCT_ATTENTION
from ncd.models.entry import Catalogue, Entry, Knob
from ncd.models.residual import RESIDUAL_BLOCK

CATALOGUE = Catalogue(
    (
        SCALED_DOT_PRODUCT_ATTENTION,
        MULTI_HEAD_ATTENTION,
        RESIDUAL_BLOCK,
    )
)

__all__ = ["CATALOGUE", "Catalogue", "Entry", "Knob"]
