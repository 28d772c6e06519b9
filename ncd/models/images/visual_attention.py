"""Visual attention (notebook, figure 28): multi-head attention between two images."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Id, Term
from ncd.lang.types.axis_kinds import space
from ncd.models.catalogue_entry import Entry, Knob, Preset
from ncd.ops import Conv, ConvTranspose, Copy, Einsum, Scale, Softmax


def visual_attention(
    h: int = 4, k: int = 8, c: int = 3, y: int = 32, x: int = 32, w: int = 3, s: int = 3
) -> Term:
    """Attention from patches of a y × y image to patches of an x × x image, with h heads.

    A patch is a window of w × w pixels, and the next one begins s pixels further.
    """
    return Axes(c=c, k=k, h=h, y=space(y, y), x=space(x, x))(_visual_attention(w, s, h == 1))


@lru_cache
def _visual_attention(w: int, s: int, single: bool) -> Term:
    h = 'h"1"' if single else "h"
    y, x, z = ('y/s"y"', 'x/s"x"', 'z"y"') if w == s == 1 else ("y/s", "x/s", 'z"y′"')
    window: dict[str, Any] = {"kernel": w, "stride": s, "padding": 0, "bias": False}
    attend = (
        Einsum(f"{h} k {y}, {h} k {x} -> {h} {x} {y}", "scores")
        >> Scale("k")
        >> Softmax(x)
        >> Einsum(f"{h} {x} {y}, {h} k {x} -> {h} k {y}", "out")
    )
    return Block(
        Id("c y") @ Copy("c x")
        >> Block(Conv(f"c y -> {h} k {y}", "Q", **window), "", "convolution")
        @ Block(Conv(f"c x -> {h} k {x}", "K", **window), "", "convolution")
        @ Block(Conv(f"c x -> {h} k {x}", "V", **window), "", "convolution")
        >> Block(attend, "Scaled Dot-Product Attention", "neutral")
        >> Block(ConvTranspose(f"{h} k {y} -> c {z}", "O", **window), "", "convolution"),
        "Visual Attention",
        "neutral",
    )


_NOTEBOOK = "Neural circuit diagrams, section 3.5"
PRESETS = (
    Preset(
        "figure-28",
        {"h": 1, "k": 8, "c": 33, "y": 16, "x": 16, "w": 1, "s": 1},
        f"{_NOTEBOOK}, figure 28, for the sizes of its run",
        "The notebook's figure",
    ),
    Preset(
        "notebook",
        {"h": 4, "k": 8, "c": 33, "y": 16, "x": 16, "w": 3, "s": 3},
        f"{_NOTEBOOK}, the run below the figure",
        "The notebook's run",
    ),
    Preset(
        "vit-b-16",
        {"h": 12, "k": 64, "c": 3, "y": 224, "x": 224, "w": 16, "s": 16},
        'Dosovitskiy et al. 2021, "An Image is Worth 16x16 Words", table 1: its 14 × 14 patches '
        "and its heads; there the layers that follow see the patches, not the image",
        "ViT-B/16",
    ),
)


def _notes(w: int, **knobs: int) -> dict[str, str]:
    """Returns the published callout, or for windows other than 1 × 1 how they differ."""
    said = "$1 × 1$ convolution tensors are the identity, so can be freely added."
    if w > 1:
        window = f"${w} × {w}$"
        said = f"The window of {window} takes in a patch of the image; $1 × 1$ is the identity."
    return {"Q": said}


_IMAGE = "up to 64, as small pictures have"

VISUAL_ATTENTION = Entry(
    name="visual-attention",
    title="Visual attention",
    source="Notebook, figure 28",
    knobs=(
        Knob("w", 1, 8, 3, help="kernel", reason="height and width of a patch, in pixels"),
        Knob("s", 1, 8, 3, help="stride", reason="pixels from one patch to the next"),
        Knob("h", 1, 16, 4, help="heads", reason="side by side; up to 16, as in large models"),
        Knob("k", 1, 128, 8, help="features a head", reason="the length of a query and of a key"),
        Knob("c", 1, 64, 3, help="channels", reason="3, as a picture in colours has"),
        Knob("y", 8, 64, 32, 1, "height and width that ask", _IMAGE, least=1),
        Knob("x", 8, 64, 32, 1, "height and width that answer", _IMAGE, least=1),
    ),
    system=visual_attention,
    section="Images",
    presets=PRESETS,
    notes=_notes,
)
