"""The notebook's recogniser and LeNet."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import seq, space
from ncd.language.blocks import Block
from ncd.language.terms import Term
from ncd.ops import Conv, Elementwise, Group, Linear, MaxPool, Named, Softmax
from ncd.systems.catalogue_entry import Entry, Preset

# --- A small recogniser of images (notebook, figure 19)


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


# --- A LeNet-style recogniser of digits, with einops' Rearrange (autograd to transformers)


def lenet(
    x: int = 32,
    c: int = 3,
    d: int = 6,
    e: int = 16,
    n: int = 120,
    k: int = 10,
    w: int = 5,
    s: int = 1,
    p: int = 0,
) -> Term:
    """Two convolutions, each pooled, and two linear maps to k class probabilities."""
    return Axes(x=space(x, x), c=c, d=d, e=e, n=n, k=k)(_lenet(w, s, p))


@lru_cache
def _lenet(w: int, s: int, p: int) -> Term:
    features = (
        Conv("c x -> d u", "conv1", w, s, p)
        >> MaxPool("u -> u/2")
        >> Conv("d u/2 -> e v", "conv2", w, s, p)
        >> MaxPool("v -> v/2")
    )
    classes = (
        Linear("f -> n", "linear1", True)
        >> Elementwise("relu")
        >> Linear("n -> k", "linear2", True)
    )
    return (
        Block(features, "Features", "window")
        >> Block(Group("e v/2 -> f"), "Rearrange", "reshape")
        >> Block(classes, "Classes", "residual")
        >> Block(Softmax("k"), "SoftMax", "softmax")
    )


LENET = Entry(
    name="lenet",
    title="LeNet",
    source="Autograd to transformers, einops layers",
    knobs=(
        Knob("x", 16, 64, 32, 4, "height and width", "16 are the fewest that are left", least=16),
        Knob("c", 1, 3, 3, help="channels", reason="red, green and blue; 1 is grey"),
        Knob("d", 1, 32, 6, help="features of the first convolution", reason="6 in the document"),
        Knob("e", 1, 64, 16, help="features of the second", reason="16 in the document"),
        Knob("n", 8, 512, 120, 8, "hidden features", "120 in the document", least=1),
        Knob("k", 2, 20, 10, help="classes", reason="ten digits"),
        Knob("w", 1, 7, 5, help="kernel", reason="of both convolutions; 5 in the document"),
        Knob("s", 1, 2, 1, help="stride", reason="of both convolutions", most=8),
        Knob("p", 0, 3, 0, help="padding", reason="of both convolutions; 0 in the document"),
    ),
    system=lenet,
    section="Images",
    type="c x -> k",
)
