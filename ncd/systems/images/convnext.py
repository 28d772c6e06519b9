"""ConvNeXt: a convolutional network with the sizes and the habits of a transformer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import plain, space
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import Add, Conv, Copy, Einsum, Elementwise, LayerNorm, Linear, Map, Param, Reduce
from ncd.systems.catalogue_entry import Entry, Preset

STAGES = (1, 2, 3, 4)
EPS = 1e-6
GELU = Elementwise("gelu")


def convnext(
    n: int = 1,
    N: int = 2,
    c: int = 8,
    r: int = 3,
    x: int = 64,
    y: int = 10,
    *,
    shared: bool = False,
    eps: float = 1e-12,
    activation: Term = GELU,
) -> Term:
    """Returns a classifier of images that is made of depthwise convolutions.

    Args:
        n: The blocks of the first, second and last stage.
        N: The blocks of the third stage.
        c: The channels of the first stage, doubled by each later one.
        r: How far a window reaches to each side; it is 2 r + 1 pixels long.
        x: The height and width of the image, a multiple of 32.
        y: The classes.
        shared: Whether hidden channels are scaled by their share, and none is scaled at the end.
        eps: The number that the last norm adds.
        activation: The function of a block.

    Returns:
        A term from an image to the scores of classes, ``o x -> y``.

    Source: Liu et al. 2022, "A ConvNet for the 2020s", sections 2.2 to 2.6 and figure 4;
    Woo et al. 2023, "ConvNeXt V2", section 3.2, for channels that are scaled by their share.

    >>> import ncd
    >>> ncd.cost(convnext(n=3, N=9, c=96, x=224, y=1000)).parameters  # ConvNeXt-T
    28589128
    """
    channels = {f"c_{i}": c * 2 ** (i - 1) for i in STAGES}
    hidden = {f"d_{i}": plain(4 * c * 2 ** (i - 1), f"4c_{i}") for i in STAGES}
    places = {f"x_{i}": space(*(x // 2 ** (i + 1),) * 2) for i in STAGES}
    sizes = Axes(o=3, x=space(x, x), y=y, **channels, **hidden, **places)
    return sizes(_convnext(n, N, c, ConvNextStyle(2 * r + 1, shared, activation), eps))


@dataclass(frozen=True)
class ConvNextStyle:
    """The pixels along a window, and the choices of a block."""

    kernel: int
    response_norm: bool
    activation: Term


@lru_cache(32)
def _convnext(n: int, N: int, c: int, style: ConvNextStyle, eps: float) -> Term:
    return Then(
        Conv("o x -> c_1 x_1", "patch_embeddings", 4, 4, 0),
        LayerNorm("c_1", "norm", EPS),
        *(_stage(i, N if i == 3 else n, c * 2 ** (i - 1), style) for i in STAGES),
        Reduce("x_4 ->", "mean"),
        LayerNorm("c_4", "layernorm", eps),
        Linear("c_4 -> y", "classifier", True),
    )


@lru_cache(64)
def _stage(i: int, count: int, channels: int, style: ConvNextStyle) -> Term:
    """Returns the blocks of a stage, which from the second on begins by halving the image."""
    block = _block(f"c_{i}", f"d_{i}", f"x_{i}", channels, style)
    if i == 1:
        return Repeat((block,) * count, "stage_1")
    old = f"c_{i - 1}"
    halved = LayerNorm(old, "norm", EPS) >> Conv(
        f"{old} x_{i - 1} -> c_{i} x_{i}", "downsample", 2, 2, 0
    )
    body = halved >> Repeat((block,) * count, "layers")
    return Block(body, f"Stage ${i}$", "folded", f"stage_{i}")


def _block(c: str, d: str, x: str, channels: int, style: ConvNextStyle) -> Term:
    array = f"{c} {x}"
    depthwise = Conv(f"{array} -> {array}", "dwconv", style.kernel, groups=channels)
    bottleneck = (
        Linear(f"{c} -> {d}", "pwconv1", True)
        >> style.activation
        >> Then(Id(f"{d} {x}"), *((_by_share(d, x),) if style.response_norm else ()))
        >> Linear(f"{d} -> {c}", "pwconv2", True)
    )
    scaled = (
        Id(array)
        if style.response_norm
        else Id(array) @ Param(c, "layer_scale", "1e-6") >> Einsum(f"{array}, {c} -> {array}")
    )
    part = (
        Block(depthwise, "Depthwise Convolution", "window")
        >> LayerNorm(c, "layernorm", EPS)
        >> Block(bottleneck, "Inverted Bottleneck", "note")
        >> scaled
    )
    return Block(Copy(array) >> part @ Id(array) >> Add(), "ConvNeXt Block", "shortcut")


def _by_share(d: str, x: str) -> Term:
    """Returns channels scaled by their length, as a share of the mean of all channels' lengths."""
    length = (
        Map("() -> ()", "$1 ** 2", "square")
        >> Reduce(f"{x} ->")
        >> Map("() -> ()", "sqrt($1)", "length")
        >> Wire(f"{d} -> {d}, {d}")
        >> Id(d) @ Reduce(f"{d} ->", "mean")
        >> Map(f"{d}, () -> {d}", "$1 / ($2 + 1e-6)", "share")
    )
    body = Then(
        Wire(f"{d} {x} -> {d} {x}, {d} {x}"),
        length @ Id(f"{d} {x}"),
        Id(f"{d}, {d} {x}") @ Param(d, "grn_weight", "0") @ Param(d, "grn_bias", "0"),
        Map(f"{d}, {d} {x}, {d}, {d} -> {d} {x}", "$2 * (1 + $3 * $1) + $4", "scaled"),
    )
    return Block(body, "Response Norm", "folded")


_LIU = 'Liu et al. 2022, "A ConvNet for the 2020s", section 3; images of 224 × 224'


def _sizes(blocks: int, channels: int) -> dict[str, int]:
    """Returns the sizes of a model for images of 224 pixels and 1,000 classes."""
    return {"n": 3, "N": blocks, "c": channels, "r": 3, "x": 224, "y": 1000}


CONVNEXT = Entry(
    name="convnext",
    title="ConvNeXt",
    source="Liu et al. 2022, ConvNeXt",
    knobs=(
        Knob("n", 1, 3, 1, help="blocks of the other stages", most=12, reason="3"),
        Knob("N", 1, 4, 2, help="blocks of the third stage", most=48, reason="9 in ConvNeXt-T"),
        Knob("c", 1, 32, 8, help="channels, doubled by each stage", reason="96 in ConvNeXt-T"),
        Knob("r", 0, 4, 3, help="reach of a window, to each side", reason="3, for 7 × 7 pixels"),
        Knob("x", 32, 128, 64, 32, "height and width", "halved five times", multiple=32),
        Knob("y", 2, 100, 10, help="classes", reason="1,000 in ImageNet"),
    ),
    system=convnext,
    section="Images",
    type="o x -> y",
    width=900.0,
    presets=(
        Preset("convnext-t", _sizes(9, 96), _LIU, "ConvNeXt-T"),
        Preset("convnext-s", _sizes(27, 96), _LIU, "ConvNeXt-S"),
        Preset("convnext-b", _sizes(27, 128), _LIU, "ConvNeXt-B"),
        Preset("convnext-l", _sizes(27, 192), _LIU, "ConvNeXt-L"),
        Preset("convnext-xl", _sizes(27, 256), _LIU, "ConvNeXt-XL"),
    ),
    notes={
        "dwconv": "Each channel is convolved by itself, in a wide window.",
        "pwconv1": "Four times wider inside, where a residual block is four times narrower.",
    },
    renamed_axes={"c": "o"},
)
