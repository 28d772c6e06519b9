"""The residual networks of 2015 as published: 18 to 152 layers, of basic blocks or bottlenecks."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob, switch
from ncd.language.axes import plain, space
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term, Then
from ncd.ops import Add, BatchNorm, Conv, Copy, Elementwise, Linear, MaxPool, Reduce
from ncd.systems.catalogue_entry import Entry, Preset

STAGES = (1, 2, 3, 4)
WIDER = 4  # times that a bottleneck is wider outside than inside
TITLES = ("Basic Block", "Bottleneck")  # of blocks of two convolutions, and of three


class ResNetSize(NamedTuple):
    """A published network: its name, the blocks of each stage, and whether they are bottlenecks."""

    name: str
    blocks: tuple[int, int, int, int]
    narrows: bool


SIZES = (
    ResNetSize("18", (2, 2, 2, 2), False),
    ResNetSize("34", (3, 4, 6, 3), False),
    ResNetSize("50", (3, 4, 6, 3), True),
    ResNetSize("101", (3, 4, 23, 3), True),
    ResNetSize("152", (3, 8, 36, 3), True),
)


def resnet(depth: int = 0, n: int = 8, x: int = 64, b: int = 2, y: int = 10, skip: int = 1) -> Term:
    """Returns scores of y classes for b images of x × x in three colours, ``b c x -> b y``.

    Args:
        depth: The place of the network in ``SIZES``.
        n: The channels of the first stage, doubled by each later one.
        x: The height and width of an image.
        b: The images.
        y: The classes.
        skip: Whether blocks add their input; without, it is the paper's plain network.

    Source: He et al. 2015, "Deep Residual Learning for Image Recognition", table 1 and figures 3
    and 5. Bottlenecks make images smaller in their 3 × 3 convolution, as torchvision's do.

    >>> import ncd
    >>> [ncd.cost(resnet(depth, n=64, x=224, b=1, y=1000)).parameters for depth in (0, 2)]
    [11689512, 25557032]
    """
    channels = {f"n_{i}": n * 2 ** (i - 1) for i in STAGES}
    wide = {f"m_{i}": plain(WIDER * n * 2 ** (i - 1), f"4n_{i}") for i in STAGES}
    places = {
        f"x_{i}": space(*(-(-x // 2**i),) * 2, label=f"x/{2**i}") for i in range(1, len(STAGES) + 2)
    }
    sizes = Axes(b=b, c=plain(3, label="3"), x=space(x, x), y=y, **channels, **wide, **places)
    return sizes(_resnet(SIZES[depth], bool(skip)))


@lru_cache
def _resnet(size: ResNetSize, skips: bool) -> Term:
    last = f"{'m' if size.narrows else 'n'}_{STAGES[-1]}"
    stem = with_batch_norm(
        Conv("c x -> n_1 x_1", "conv1", 7, 2, bias=False), "n_1", "bn1"
    ) >> Elementwise("relu")
    return Then(
        Id("b c x"),
        Block(stem, "Stem", "convolution"),
        MaxPool("x_1 -> x_2", 3, 2, 1),
        *(_stage(i, size.blocks[i - 1], size.narrows, skips) for i in STAGES),
        Block(Reduce(f"x_{STAGES[-1] + 1} ->", "mean"), "AvgPool", "residual"),
        Linear(f"{last} -> y", "fc", True),
    )


def with_batch_norm(convolution: Term, channels: str, name: str) -> Term:
    """Returns a convolution of b images, and a batch norm of its ``channels`` behind it."""
    return convolution >> BatchNorm(f"b {channels}", name)


@lru_cache
def _stage(i: int, count: int, narrows: bool, skips: bool) -> Term:
    """Returns a stage; all but the first halve the image in their first block."""
    outer = "m" if narrows else "n"
    old, new, x = f"{outer}_{i - 1}" if i > 1 else "n_1", f"{outer}_{i}", f"x_{i + 1}"
    before, stride = (f"x_{i}", 2) if i > 1 else (x, 1)
    make = _bottleneck if narrows else _basic
    same = _block(make(i, new, x, 1), (new, x), (new, x), 1, narrows, skips)
    if (old, before) == (new, x):
        body: Term = Repeat((same,) * count, "blocks")
    else:
        first = make(i, old, before, stride)
        body = _block(first, (old, before), (new, x), stride, narrows, skips)
        body = body >> Repeat((same,) * (count - 1), "blocks") if count > 1 else body
    role = "neutral" if i == 1 else "folded"
    return Block(body, f"Stage ${i}$", role, f"layer{i}")


def _basic(i: int, old: str, before: str, stride: int) -> Term:
    """Returns two convolutions of 3 × 3."""
    n, x = f"n_{i}", f"x_{i + 1}"
    return (
        with_batch_norm(
            Conv(f"{old} {before} -> {n} {x}", "conv1", 3, stride, bias=False), n, "bn1"
        )
        >> Elementwise("relu")
        >> with_batch_norm(Conv(f"{n} {x} -> {n} {x}", "conv2", 3, bias=False), n, "bn2")
    )


def _bottleneck(i: int, old: str, before: str, stride: int) -> Term:
    """Returns a convolution of 3 × 3 between one that narrows the channels and one that widens."""
    n, m, x = f"n_{i}", f"m_{i}", f"x_{i + 1}"
    return (
        with_batch_norm(Conv(f"{old} {before} -> {n} {before}", "conv1", bias=False), n, "bn1")
        >> Elementwise("relu")
        >> with_batch_norm(
            Conv(f"{n} {before} -> {n} {x}", "conv2", 3, stride, bias=False), n, "bn2"
        )
        >> Elementwise("relu")
        >> with_batch_norm(Conv(f"{n} {x} -> {m} {x}", "conv3", bias=False), m, "bn3")
    )


def _block(
    body: Term,
    before: tuple[str, str],
    after: tuple[str, str],
    stride: int,
    narrows: bool,
    skips: bool,
) -> Term:
    """Returns a block: its body, beside a way around it, and a ReLU behind their sum."""
    title = TITLES[narrows]
    if not skips:
        return Block(body >> Elementwise("relu"), title, "residual")
    (old, side), (new, small) = before, after
    around: Term = Id(f"b {old} {side}")
    if before != after:
        project = Conv(f"{old} {side} -> {new} {small}", "downsample", 1, stride, bias=False)
        around = Block(with_batch_norm(project, new, "downsample_bn"), "", "convolution")
    body = Block(body, "", "residual")
    return Block(
        Copy(f"b {old} {side}") >> body @ around >> Add() >> Elementwise("relu"), title, "shortcut"
    )


_HE = 'He et al. 2015, "Deep Residual Learning for Image Recognition", table 1'
IMAGENET = {"n": 64, "x": 224, "b": 1, "y": 1000}

RESNET = Entry(
    name="resnet",
    title="ResNet",
    source="He et al. 2015, table 1",
    knobs=(
        Knob(
            "depth",
            0,
            len(SIZES) - 1,
            0,
            help="layers that learn",
            reason="basic blocks up to 34, bottlenecks from 50 on",
            names=tuple(size.name for size in SIZES),
        ),
        Knob("n", 1, 16, 8, help="channels of the first stage", reason="64 in the paper"),
        Knob("x", 32, 96, 64, 32, help="height and width", reason="224 in the paper", least=1),
        Knob(
            "b",
            2,
            4,
            2,
            help="images",
            reason="two or more, for batch norm to normalise over even the last 1 × 1 places",
            least=1,
        ),
        Knob("y", 2, 20, 10, help="classes", reason="1,000 in the paper"),
        switch("skip", 1, "each block adds its input", "off: the paper's plain network"),
    ),
    system=resnet,
    section="Images",
    type="b c x -> b y",
    presets=tuple(
        Preset(f"resnet-{size.name}", {"depth": i, **IMAGENET}, _HE, f"ResNet-{size.name}")
        for i, size in enumerate(SIZES)
    ),
)
