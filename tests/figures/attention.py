"""Section 3.2 and 3.5: attention of sequences and of images (figures 20, 21 and 28)."""

from __future__ import annotations

import ncd
from ncd import Axes, Block, Conv, ConvTranspose, Copy, Einsum, Id, Scale, Softmax, space
from tests.figures.figure import Figure


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
    notes = {
        "Q": "Learned fully connected layers generate $Q$, $K$, and $V$ from the inputs.",
        "Copy": "We copy the injected data to generate $K$ and $V$.",
        "out": "During matrix multiplication, we diagonalize the $h$-axes, avoiding "
        "cross-axis, ensuring parallel operations.",
        "O": "A final fully connected layer combines the outputs of the separate heads into one "
        "vector.",
    }
    return Figure(
        (ncd.catalogue["multi-head-attention"].build(),),
        options={"notes": notes},
        signs="LQ LK LV ∗k−1/2 LO",
        titles=("Multi-Head Attention", "Copy", "Linear", "Scaled Dot-Product Attention"),
        names="y m x k h",
    )


def visual_attention() -> Figure:
    """Figure 28, with windows and strides of 1."""
    sizes = Axes(
        c=33,
        k=8,
        h=1,
        y=space(16, 16),
        x=space(16, 16),
    )
    one = 'h"1":1'
    y, x = 'y/s"y"', 'x/s"x"'
    scores = (
        Einsum(f"{one} k {y}, {one} k {x} -> {one} {x} {y}", "scores")
        >> Scale("k")
        >> Softmax(x)
        >> Einsum(f"{one} {x} {y}, {one} k {x} -> {one} k {y}", "out")
    )
    back = ConvTranspose(f'{one} k {y} -> c z"y"', "O", kernel=1, stride=1, bias=False)
    term = Block(
        Id("c y") @ Copy("c x")
        >> Block(Conv(f"c y -> {one} k {y}", "Q", bias=False), "", "convolution")
        @ Block(Conv(f"c x -> {one} k {x}", "K", bias=False), "", "convolution")
        @ Block(Conv(f"c x -> {one} k {x}", "V", bias=False), "", "convolution")
        >> Block(scores, "Scaled Dot-Product Attention", "einsum")
        >> Block(back, "", "convolution"),
        "Visual Attention",
        "neutral",
    )
    note = "$1 × 1$ convolution tensors are the identity, so can be freely added."
    return Figure(
        (sizes(term),),
        options={"notes": {"Q": note}},
        signs="12 12 12 LQ LK LV ∗k−1/2 12 LO",
        titles=("Visual Attention", "Scaled Dot-Product Attention"),
        names="y c x k 1",
    )
