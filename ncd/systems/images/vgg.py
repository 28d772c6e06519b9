"""The networks of the Visual Geometry Group: convolutions of 3 × 3 in a row, then dense maps."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import plain, space
from ncd.language.blocks import Block
from ncd.language.terms import Id, Term, Then
from ncd.ops import Conv, Elementwise, Group, Linear, MaxPool
from ncd.systems.catalogue_entry import Entry, Preset

STAGES = (1, 2, 3, 4, 5)
KERNEL = 3


class VGGSize(NamedTuple):
    """A published network: its name, its column of the paper's table, and its convolutions."""

    name: str
    column: str
    convolutions: tuple[int, int, int, int, int]


SIZES = (
    VGGSize("11", "A", (1, 1, 2, 2, 2)),
    VGGSize("13", "B", (2, 2, 2, 2, 2)),
    VGGSize("16", "D", (2, 2, 3, 3, 3)),
    VGGSize("19", "E", (2, 2, 4, 4, 4)),
)


def vgg(depth: int = 2, n: int = 4, m: int = 256, x: int = 192, y: int = 10) -> Term:
    """Returns scores of y classes for an image of x × x in three colours, ``c x -> y``.

    Args:
        depth: The place of the network in ``SIZES``.
        n: The channels of the first stage, doubled by each later one up to 8 n.
        m: The features of both hidden dense maps.
        x: The height and width of the image, a multiple of 32.
        y: The classes.

    Source: Simonyan and Zisserman 2015, "Very Deep Convolutional Networks for Large-Scale Image
    Recognition", table 1. The dropout of its training is left out.

    >>> import ncd
    >>> [ncd.cost(vgg(depth, 64, 4096, 224, 1000)).parameters for depth in (0, 2, 3)]
    [132863336, 138357544, 143667240]
    """
    channels = {f"n_{i}": n * wider(i) for i in STAGES}
    places = {f"x_{i}": space(*(x // 2**i,) * 2, label=f"x/{2**i}") for i in STAGES}
    sizes = Axes(c=plain(3, label="3"), x=space(x, x), m=m, y=y, **channels, **places)
    return sizes(_vgg(SIZES[depth].convolutions))


def wider(i: int) -> int:
    """Returns how many times as many channels a stage has as the first one: 1, 2, 4, 8 and 8.

    >>> [wider(i) for i in STAGES]
    [1, 2, 4, 8, 8]
    """
    return min(2 ** (i - 1), 8)


@lru_cache
def _vgg(convolutions: tuple[int, ...]) -> Term:
    last = STAGES[-1]
    dense = (
        Linear("f -> m", "fc1", True)
        >> Elementwise("relu")
        >> Linear("m -> m", "fc2", True)
        >> Elementwise("relu")
        >> Linear("m -> y", "fc3", True)
    )
    return Then(
        Id("c x"),
        *(_stage(i, count) for i, count in zip(STAGES, convolutions, strict=True)),
        Group(f"n_{last} x_{last} -> f"),
        Block(dense, "Dense", "note", "classifier"),
    )


@lru_cache
def _stage(i: int, count: int) -> Term:
    """Returns convolutions that keep the sides of the image, and a pooling that halves them."""
    old, x = (f"n_{i - 1}", f"x_{i - 1}") if i > 1 else ("c", "x")
    body: Term = Id(f"{old} {x}")
    for j in range(1, count + 1):
        body >>= Conv(f"{old} {x} -> n_{i} {x}", f"conv{i}_{j}", KERNEL) >> Elementwise("relu")
        old = f"n_{i}"
    role = "neutral" if i == 1 else "folded"
    return Block(body >> MaxPool(f"{x} -> x_{i}"), f"Stage ${i}$", role, f"stage{i}")


_SIMONYAN = (
    "Simonyan and Zisserman 2015, Very Deep Convolutional Networks for Large-Scale Image "
    "Recognition, table 1: column {}"
)
IMAGENET = {"n": 64, "m": 4096, "x": 224, "y": 1000}

VGG = Entry(
    name="vgg",
    title="VGG",
    source="Simonyan and Zisserman 2015, table 1",
    knobs=(
        Knob(
            "depth",
            0,
            len(SIZES) - 1,
            2,
            help="layers that learn",
            reason="columns A, B, D and E of the paper’s table",
            names=tuple(size.name for size in SIZES),
        ),
        Knob("n", 1, 8, 4, help="channels of the first stage", reason="64 in the paper"),
        Knob("m", 16, 512, 256, 16, "features of a dense map", "4,096 in the paper", least=1),
        Knob("x", 32, 224, 192, 32, "height and width", "224 in the paper", multiple=32),
        Knob("y", 2, 20, 10, help="classes", reason="1,000 in the paper"),
    ),
    system=vgg,
    section="Images",
    type="c x -> y",
    presets=tuple(
        Preset(
            f"vgg-{size.name}",
            {"depth": i, **IMAGENET},
            _SIMONYAN.format(size.column),
            f"VGG-{size.name}",
        )
        for i, size in enumerate(SIZES)
    ),
)
