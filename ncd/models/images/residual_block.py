"""One residual block of the identity residual network (notebook, figure 26)."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Id, Term
from ncd.lang.types.axis_kinds import space
from ncd.models.catalogue_entry import Entry, Knob, Preset
from ncd.ops import Add, BatchNorm, Conv, Copy, Elementwise


def residual_block(b: int = 3, n0: int = 16, n1: int = 64, x: int = 16, s: int = 1) -> Term:
    """The first block of a stage: from n₀ channels to n₁, on an image s times smaller.

    The channels narrow to n_b = n₁ / 4 in between. Both paths start at the same activation.
    """
    return Axes(b=b, n_0=n0, n_1=n1, n_b="n_1/4", x=space(x, x))(_block(s))


@lru_cache
def _block(s: int) -> Term:
    return Id("b n_0 x") >> first("n_0", "n_1", "n_b", "x", "x" if s == 1 else "x/s", s)


def first(old: str, new: str, narrow: str, x: str, small: str, s: int) -> Term:
    """Returns a block from ``old`` to ``new`` channels, and from sides ``x`` to ``small``.

    Both paths begin behind the activation.
    """
    narrowed = Block(Conv(f"{old} {x} -> {narrow} {small}", "conv_1", 1, s), "", "convolution")
    skip = Block(Conv(f"{old} {x} -> {new} {small}", "conv", 1, s), "", "convolution", "skip")
    return norm_activate(old, "norm_0") >> Block(
        Copy(f"b {old} {x}") >> _component(narrowed, new, narrow, small) @ skip >> Add(),
        "",
        "shortcut",
    )


def again(n: str, narrow: str, x: str) -> Term:
    """Returns a residual component that keeps channels and positions."""
    narrowed = norm_activate(n, "norm_0") >> Conv(f"{n} {x} -> {narrow} {x}", "conv_1")
    array = f"b {n} {x}"
    return Block(
        Copy(array) >> _component(narrowed, n, narrow, x) @ Id(array) >> Add(), "", "shortcut"
    )


def _component(narrowed: Term, n: str, narrow: str, x: str) -> Term:
    return Block(
        narrowed
        >> norm_activate(narrow, "norm_1")
        >> Conv(f"{narrow} {x} -> {narrow} {x}", "conv_2", 3)
        >> norm_activate(narrow, "norm_2")
        >> Conv(f"{narrow} {x} -> {n} {x}", "conv_3"),
        "Residual Component",
        "residual",
    )


def norm_activate(channels: str, name: str, title: str = "") -> Term:
    """Batch norm, then ReLU: the notebook's ``NormActivate``."""
    return Block(BatchNorm(f"b {channels}", name) >> Elementwise("relu"), title, "activate")


_HE = (
    'He et al. 2016, "Deep Residual Learning for Image Recognition", table 1: the first block of '
    "the stage, for images of 224 × 224"
)
PRESETS = (
    Preset("resnet-50-conv2", {"n0": 64, "n1": 256, "x": 56, "s": 1}, _HE, "ResNet-50, conv2"),
    Preset("resnet-50-conv3", {"n0": 256, "n1": 512, "x": 56, "s": 2}, _HE, "ResNet-50, conv3"),
    Preset("resnet-50-conv4", {"n0": 512, "n1": 1024, "x": 28, "s": 2}, _HE, "ResNet-50, conv4"),
    Preset("resnet-50-conv5", {"n0": 1024, "n1": 2048, "x": 14, "s": 2}, _HE, "ResNet-50, conv5"),
)

RESIDUAL_BLOCK = Entry(
    name="residual-block",
    title="Residual block",
    source="Notebook, figure 26",
    knobs=(
        Knob("b", 2, 16, 3, help="images", reason="two or more, for batch norm to normalise over"),
        Knob(
            "n0",
            1,
            64,
            16,
            help="channels in",
            reason="up to 64, to run at once on a small machine",
        ),
        Knob(
            "n1",
            4,
            256,
            64,
            4,
            "channels out",
            "a multiple of 4, for n_b = n1 / 4",
            multiple=4,
        ),
        Knob("x", 1, 32, 16, help="height and width", reason="up to 32, as small pictures have"),
        Knob("s", 1, 4, 1, help="stride", reason="how many times smaller the image leaves"),
    ),
    system=residual_block,
    section="Images",
    presets=PRESETS,
)
