"""Section 3.1 and 3.4: a digit recogniser, the identity ResNet, the U-Net (figures 19, 26, 27)."""

from __future__ import annotations

import ncd
from ncd import Axes, Block, Equation, Repeat, space
from ncd.systems.images.resnet import first_block, residual_component
from ncd.systems.images.small_recognisers import IMAGE_RECOGNISER
from ncd.systems.images.unet import UNET
from tests.drawing.figures.figure import Figure


def imagerec() -> Figure:
    """Figure 19."""
    return Figure(
        (IMAGE_RECOGNISER.build(n=512),),
        options={"labels": "both"},
        signs="X L+ R L+ R L+ Ŷ",
        titles=("Linear", "SoftMax"),
        names="x=28 y=28 d=784 n=512 m=512 k=10",
    )


# --- the identity ResNet -------------------------------------------------------------------------


def resnet_block() -> Figure:
    """Figure 26: one block of three, folded and open. Both paths begin behind the activation."""
    sizes = Axes(b=3, n_0=16, n_1=64, n_b="n_1/4", x=space(16, 16))
    body = first_block("n_0", "n_1", "n_b", "x", 'y"x/s"', 2) >> Repeat(
        (residual_component("n_1", "n_b", 'y"x/s"'),) * 2, "components"
    )
    folded = Block(body, "Block $(s, N)$", "folded")
    return Figure(
        (sizes(Equation(folded, body)),),
        options={
            "folded": ("Block $(s, N)$",),
            "width": 800.0,
            "notes": {
                "": "Legend: $n_b = n_1/4$",
                "components": "Parentheses are fed back to themselves, ranging $λ$ from its "
                "minimum to its maximum value.",
            },
        },
        signs="Block(s,N) = R 12 L+ R 3 R 1 12 L+ + R 1 R 3 R 1 +",
        titles=("Residual Component", "Residual Component"),
        names="x n0 b x/s nb n1",
    )


def resnet() -> Figure:
    """Figure 26 as a whole, the page's system as one box and open."""
    entry = ncd.catalogue["identity-resnet"]
    term = entry.build(**entry.settings(entry.preset("figure-26").knobs))
    whole = ncd.elaborate(term).fences[0].id
    return Figure(
        (Equation(term, term),),
        options={"folded": (whole, "Block $(1, N)$", "Block $(2, N)$")},
        signs="3 Block(1,N) Block(2,N) Block(2,N) R 𝔼 L+ =",
        titles=("BatchNorm & Activate", "AvgPool", "Linear", "SoftMax"),
        names="x 3 b n1 n2 x/2 n3 x/4 n4 82 12 10",
    )


# --- the U-Net -----------------------------------------------------------------------------------


def unet() -> Figure:
    """Figure 27; the first level's array is saved and then dropped, as published."""
    knobs = {"c": 2, "x": 64, "y": 2}
    title = "UNet (with padding)"
    body = UNET.build(**knobs)
    return Figure(
        (Equation(Block(body, title, "folded"), body),),
        options={"folded": (title,), "notes": UNET.callouts(UNET.settings(knobs))},
        signs="= 3 R 3 R →Cλ 22 Max 3 R 3 R T 22 L+ C5−λ→ 3 R 3 R T 22 L+ 1",
        titles=("Down Scale Block", "Double Convolution", "Double Convolution", "Up Scale Block"),
        names="x1 c0 xλ cλ−1 cλ xλ+1 x5 c4 c5 x4 x5−λ c5−λ 2c5−λ x4−λ c4−λ c1 y",
    )
