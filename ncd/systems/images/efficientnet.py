"""EfficientNet: blocks that are wide inside, cheap, and scaled up in three ways at once."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob, switch
from ncd.language.axes import plain, space
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term, Then
from ncd.ops import Add, Conv, Copy, Einsum, Elementwise, Linear, Reduce
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.images.published_resnet import with_batch_norm

# --- The published sizes


class MBConvStage(NamedTuple):
    """A stage of the smallest network: whether it expands, kernel, stride, channels and blocks."""

    expands: bool
    kernel: int
    stride: int
    channels: int
    blocks: int


STAGES = (  # Tan and Le 2019, table 1, stages 2 to 8
    MBConvStage(False, 3, 1, 16, 1),
    MBConvStage(True, 3, 2, 24, 2),
    MBConvStage(True, 5, 2, 40, 2),
    MBConvStage(True, 3, 2, 80, 3),
    MBConvStage(True, 5, 1, 112, 3),
    MBConvStage(True, 5, 2, 192, 4),
    MBConvStage(True, 3, 1, 320, 1),
)
WIDER = 6  # times that a block is wider inside than where it begins
STEM = 32  # channels of the stem in the smallest network
SILU = Elementwise("silu")


class EfficientNetSize(NamedTuple):
    """A published network: its name, tenths of the first one's width and depth, and its side."""

    name: str
    width: int
    depth: int
    side: int


SIZES = (  # efficientnet_builder.py in github.com/tensorflow/tpu, by the authors
    EfficientNetSize("B0", 10, 10, 224),
    EfficientNetSize("B1", 10, 11, 240),
    EfficientNetSize("B2", 11, 12, 260),
    EfficientNetSize("B3", 12, 14, 300),
    EfficientNetSize("B4", 14, 18, 380),
    EfficientNetSize("B5", 16, 22, 456),
    EfficientNetSize("B6", 18, 26, 528),
    EfficientNetSize("B7", 20, 31, 600),
)


def channels_at(channels: int, size: EfficientNetSize, n: int = STEM) -> int:
    """Returns how many channels a network has where the smallest one has ``channels``.

    They are rounded to a multiple of 8, or of as much less as the stem has less than 32, but never
    below nine tenths.

    >>> [channels_at(24, size) for size in SIZES]
    [24, 24, 24, 32, 32, 40, 40, 48]
    """
    step = n // 4
    tenths = channels * n // STEM * size.width
    near = (tenths + 5 * step) // (10 * step) * step
    return near + step if 100 * near < 9 * tenths else near


def blocks_at(blocks: int, size: EfficientNetSize) -> int:
    """Returns how many blocks a stage has where the smallest network has ``blocks``, rounded up.

    >>> [blocks_at(4, size) for size in SIZES]
    [4, 5, 5, 6, 8, 9, 11, 13]
    """
    return -(-blocks * size.depth // 10)


# --- The network


def efficientnet(
    size: int = 0,
    n: int = 8,
    x: int = 64,
    b: int = 2,
    y: int = 10,
    squeeze: int = 1,
) -> Term:
    """Returns scores of y classes for b images of x × x in three colours, ``b c x -> b y``.

    Args:
        size: The place of the network in ``SIZES``.
        n: The channels of the stem in the smallest network; all others are in proportion.
        x: The height and width of an image.
        b: The images.
        y: The classes.
        squeeze: Whether channels are weighted by squeeze-and-excitation.

    Source: Tan and Le 2019, "EfficientNet: Rethinking Model Scaling for Convolutional Neural
    Networks", table 1; sizes, rounding and padding are those of torchvision. Stochastic depth and
    dropout are left out.

    >>> import ncd
    >>> ncd.cost(efficientnet(n=32, x=224, b=1, y=1000)).parameters
    5288548
    """
    own = SIZES[size]
    stages = tuple(_stage(i, own, n, bool(squeeze)) for i in range(1, len(STAGES) + 1))
    return _axes(own, n, x=x, b=b, y=y)(_efficientnet(stages))


def one_block(i: int, size: int, n: int, x: int, b: int, y: int, squeeze: int) -> Term:
    """Returns a block of a stage, as those behind the first one are."""
    own = SIZES[size]
    return _axes(own, n, x=x, b=b, y=y)(_same_block(i, own, n, bool(squeeze)))


def _axes(size: EfficientNetSize, n: int, x: int, **others: int) -> Axes:
    """Returns the sizes: c_i channels behind stage i, d_i inside a block, q_i when squeezed."""
    widths = _widths(size, n)
    axes = {"c": plain(3, label="3"), f"c_{len(widths)}": plain(4 * widths[-1])}
    for i, width in enumerate(widths):
        axes |= {
            f"c_{i}": plain(width),
            f"d_{i}": plain(WIDER * width, f"{WIDER}c_{i}"),
            f"q_{i}": plain(max(1, width // 4)),
        }
    places = {f"x_{i}": space(*(-(-x // 2**i),) * 2, label=f"x/{2**i}") for i in range(1, 6)}
    return Axes(x=space(x, x), **others, **axes, **places)


def _widths(size: EfficientNetSize, n: int) -> list[int]:
    return [channels_at(count, size, n) for count in (STEM, *(stage.channels for stage in STAGES))]


def _place(i: int) -> str:
    """Returns the name of the sides behind stage i; those behind the stem, for 0."""
    return f"x_{1 + sum(stage.stride == 2 for stage in STAGES[:i])}"


@lru_cache
def _efficientnet(stages: tuple[Term, ...]) -> Term:
    last, x = len(stages), _place(len(stages))
    stem = with_batch_norm(Conv("c x -> c_0 x_1", "stem", 3, 2, bias=False), "c_0", "stem_bn")
    head = with_batch_norm(
        Conv(f"c_{last} {x} -> c_{last + 1} {x}", "head", bias=False), f"c_{last + 1}", "head_bn"
    )
    return Then(
        Id("b c x"),
        Block(stem >> SILU, "Stem", "folded"),
        *stages,
        Block(head >> SILU, "Head", "folded"),
        Block(Reduce(f"{x} ->", "mean"), "AvgPool", "residual"),
        Linear(f"c_{last + 1} -> y", "classifier", True),
    )


@lru_cache(64)
def _stage(i: int, size: EfficientNetSize, n: int, squeeze: bool) -> Block:
    """Returns a stage: a block that changes channels and sides, then blocks that keep them."""
    stage = STAGES[i - 1]
    term: Term = _block(i, i - 1, stage.stride, size, n, squeeze)
    if (count := blocks_at(stage.blocks, size)) > 1:
        term >>= Repeat((_same_block(i, size, n, squeeze),) * (count - 1), "blocks")
    return Block(term, f"Stage ${i}$", "folded", f"stage{i}")


def _same_block(i: int, size: EfficientNetSize, n: int, squeeze: bool) -> Term:
    array = f"b c_{i} {_place(i)}"
    body = _block(i, i, 1, size, n, squeeze)
    return Block(Copy(array) >> body @ Id(array) >> Add(), "MBConv", "shortcut")


@lru_cache(256)
def _block(i: int, old: int, stride: int, size: EfficientNetSize, n: int, squeeze: bool) -> Term:
    """Returns a block of stage i from the channels of stage ``old``: wide, cheap, narrow."""
    stage, before, x = STAGES[i - 1], _place(i if old == i else i - 1), _place(i)
    inside = f"d_{old}" if stage.expands else f"c_{old}"
    groups = _widths(size, n)[old] * (WIDER if stage.expands else 1)
    expand = with_batch_norm(
        Conv(f"c_{old} {before} -> {inside} {before}", "expand", bias=False), inside, "expand_bn"
    )
    along = Conv(
        f"{inside} {before} -> {inside} {x}",
        "depthwise",
        stage.kernel,
        stride,
        bias=False,
        groups=groups,
    )
    project = with_batch_norm(
        Conv(f"{inside} {x} -> c_{i} {x}", "project", bias=False), f"c_{i}", "project_bn"
    )
    return Then(
        *((Block(expand >> SILU, "Expand", "linear"),) if stage.expands else ()),
        Block(with_batch_norm(along, inside, "depthwise_bn") >> SILU, "Depthwise", "window"),
        *((_squeeze_excite(inside, f"q_{old}", x),) if squeeze else ()),
        Block(project, "Project", "linear"),
    )


def _squeeze_excite(c: str, q: str, x: str) -> Term:
    """Returns channels times a number between 0 and 1 each, which depends on all their means."""
    gate = (
        Reduce(f"{x} ->", "mean")
        >> Linear(f"{c} -> {q}", "squeeze", True)
        >> SILU
        >> Linear(f"{q} -> {c}", "excite", True)
        >> Elementwise("sigmoid")
    )
    weighted = gate @ Id(f"b {c} {x}") >> Einsum(f"b {c}, b {c} {x} -> b {c} {x}")
    return Block(Copy(f"b {c} {x}") >> weighted, "Squeeze and Excitation", "note")


_TAN = (
    "Tan and Le 2019, EfficientNet: Rethinking Model Scaling for Convolutional Neural Networks, "
    "table 1; the multipliers of its authors' code"
)

EFFICIENTNET = Entry(
    name="efficientnet",
    title="EfficientNet",
    source="Tan and Le 2019, table 1",
    knobs=(
        Knob(
            "size",
            0,
            len(SIZES) - 1,
            0,
            help="published size",
            reason="each wider, deeper and for larger images than the one before",
            names=tuple(size.name for size in SIZES),
        ),
        Knob("n", 4, 16, 8, 4, "channels of the stem in B0", "32 in the paper", multiple=4),
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
        switch("squeeze", 1, "squeeze-and-excitation", "off: no channel is weighted"),
    ),
    system=efficientnet,
    section="Images",
    type="b c x -> b y",
    presets=tuple(
        Preset(
            f"efficientnet-{size.name.lower()}",
            {"size": i, "n": STEM, "x": size.side, "b": 1, "y": 1000, "squeeze": 1},
            _TAN,
            f"EfficientNet-{size.name}",
        )
        for i, size in enumerate(SIZES)
    ),
)
