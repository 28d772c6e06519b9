"""A small recogniser of images (notebook, figure 19)."""

from __future__ import annotations

from functools import lru_cache

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.terms import Term
from ncd.lang.types.axis_kinds import seq
from ncd.models.catalogue_entry import Entry, Knob, Preset
from ncd.ops import Elementwise, Group, Linear, Named, Softmax


def image_recogniser(x: int = 28, n: int = 128, k: int = 10) -> Term:
    """Three learned maps from the pixels of an x × x image to k class probabilities."""
    return Axes(x=seq(x), y=seq(x), d="x*y", n=n, m=n, k=k)(_recogniser())


@lru_cache
def _recogniser() -> Term:
    stack = (
        Block(Linear("d -> n", "L", True), "", "linear")
        >> Elementwise("relu")
        >> Block(Linear("n -> m", "L", True), "", "linear")
        >> Elementwise("relu")
        >> Block(Linear("m -> k", "L", True), "", "linear")
    )
    return (
        Block(Named("x y", "X"), "", "operation")
        >> Block(Group("x y -> d"), "", "reshape")
        >> Block(Block(stack, "Linear", "residual"), "", "window")
        >> Block(Softmax("k"), "SoftMax", "softmax")
        >> Block(Named("k", "Ŷ"), "", "note")
    )


IMAGE_RECOGNISER = Entry(
    name="image-recogniser",
    title="Image recogniser",
    source="Notebook, figure 19",
    knobs=(
        Knob("x", 4, 64, 28, help="height and width", reason="28, as the digits of MNIST have"),
        Knob("n", 8, 1024, 128, 8, "hidden features", "512 in the figure", least=1),
        Knob("k", 2, 20, 10, help="classes", reason="ten digits"),
    ),
    system=image_recogniser,
    section="Images",
    type="x y -> k",
    listing=True,
    presets=(
        Preset(
            "figure-19",
            {"n": 512},
            "the notebook, figure 19, after PyTorch's introductory tutorial",
            "The notebook's figure",
        ),
    ),
)
