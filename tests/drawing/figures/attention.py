"""Section 3.2 and 3.5: attention of sequences and of images (figures 20, 21 and 28)."""

from __future__ import annotations

import ncd
from tests.drawing.figures.figure import Figure


def scaled_attention() -> Figure:
    """Figure 20."""
    return Figure(
        (ncd.catalogue["scaled-dot-product-attention"].build(),),
        signs="Q K V ∗k−1/2",
        titles=("Scaled Dot-Product Attention", "SoftMax"),
        names="y k x",
    )


def multihead0() -> Figure:
    """Figure 21, with its callouts."""
    entry = ncd.catalogue["multi-head-attention"]
    return Figure(
        (entry.build(),),
        options={"notes": entry.callouts({})},
        signs="LQ LK LV ∗k−1/2 LO",
        titles=("Multi-Head Attention", "Copy", "Linear", "Scaled Dot-Product Attention"),
        names="y m x k h",
    )


def visual_attention() -> Figure:
    """Figure 28, with windows and strides of 1, and its callout."""
    entry = ncd.catalogue["visual-attention"]
    knobs = entry.preset("figure-28").knobs
    return Figure(
        (entry.build(**knobs),),
        options={"notes": entry.callouts(knobs)},
        signs="12 12 12 LQ LK LV ∗k−1/2 12 LO",
        titles=("Visual Attention", "Scaled Dot-Product Attention"),
        names="y c x k 1",
    )
