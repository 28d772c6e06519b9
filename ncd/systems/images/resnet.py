"""The identity residual network and one of its blocks."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import AxisSize, plain, space
from ncd.language.blocks import Block, Equation
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term, Then
from ncd.ops import Add, BatchNorm, Conv, Copy, Elementwise, Linear, Reduce, Softmax, Window
from ncd.systems.catalogue_entry import Entry, Preset

# --- One residual block of the identity residual network (notebook, figure 26)


def residual_block(b: int = 3, n0: int = 16, n1: int = 64, x: int = 16, s: int = 1) -> Term:
    """The first block of a stage: from n₀ channels to n₁, on an image s times smaller.

    The channels narrow to n_b = n₁ / 4 in between. Both paths start at the same activation.
    """
    return Axes(b=b, n_0=n0, n_1=n1, n_b="n_1/4", x=space(x, x))(_block(s))


@lru_cache
def _block(s: int) -> Term:
    return Id("b n_0 x") >> first_block("n_0", "n_1", "n_b", "x", "x" if s == 1 else "x/s", s)


def first_block(old: str, new: str, narrow: str, x: str, small: str, s: int) -> Term:
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


def residual_component(n: str, narrow: str, x: str) -> Term:
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


_HE_RESIDUAL = (
    'He et al. 2016, "Deep Residual Learning for Image Recognition", table 1: the first block of '
    "the stage, for images of 224 × 224"
)
RESIDUAL_BLOCK_PRESETS = (
    Preset(
        "resnet-50-conv2", {"n0": 64, "n1": 256, "x": 56, "s": 1}, _HE_RESIDUAL, "ResNet-50, conv2"
    ),
    Preset(
        "resnet-50-conv3", {"n0": 256, "n1": 512, "x": 56, "s": 2}, _HE_RESIDUAL, "ResNet-50, conv3"
    ),
    Preset(
        "resnet-50-conv4",
        {"n0": 512, "n1": 1024, "x": 28, "s": 2},
        _HE_RESIDUAL,
        "ResNet-50, conv4",
    ),
    Preset(
        "resnet-50-conv5",
        {"n0": 1024, "n1": 2048, "x": 14, "s": 2},
        _HE_RESIDUAL,
        "ResNet-50, conv5",
    ),
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
    presets=RESIDUAL_BLOCK_PRESETS,
)


# --- The identity residual network as a whole (notebook, figure 26)


def identity_resnet(
    b: int, x: int, N: int, n1: int, n2: int, n3: int, n4: int, s: int, y: int
) -> Term:
    """Returns the probability of each of y classes, for b images of x × x in three colours.

    A convolution, then three blocks of N residual components each. Block μ gives n_{μ+1} channels,
    and all but the first make the image s times smaller. The notebook's code repeats one component
    N times, and with it its weights; here, as in its diagram, N - 1 have weights of their own.
    """
    own = _axes(b, x, n1, n2, n3, n4, s, y)
    return own(_resnet(N, s, -(-x // s**2), f"{n1}, {n2}, {n3}, {n4}"))


def one_block(mu: int, N: int, s: int, **sizes: int) -> Equation:
    """Returns block μ as one box and as what is in it: the upper half of the figure."""
    block = _stage(mu, s if mu > 1 else 1, N, *_places(s)[mu - 1 : mu + 1])
    box = Block(block.body, block.title, "folded")  # without a name, as what is in it
    return Equation(*(_axes(s=s, **sizes)(term) for term in (box, block.body)))


def _places(s: int) -> tuple[str, ...]:
    """Returns the names of the images' sides, before and after each block."""
    return ("x", "x", "x_2", "x_3") if s > 1 else ("x",) * 4


def _axes(b: int, x: int, n1: int, n2: int, n3: int, n4: int, s: int, y: int) -> Axes:
    half, last = -(-x // s), -(-x // s**2)
    channels = {f"n_{i}": n for i, n in enumerate((n1, n2, n3, n4), 1)}
    narrow = {f"n_b{i}": plain(f"n_{i}/4", label=f"n_{{b{i}}}") for i in (2, 3, 4)}
    places = {"x": space(x, x)}
    if s > 1:
        places["x_2"] = space(half, half, label=f"x/{s}")
        places["x_3"] = space(last, last, label=f"x/{s * s}")
    windows = {"u": space(1, 1, label="1^2"), "w": space(last, last, label=f"{last}^2")}
    ends: dict[str, AxisSize] = {"b": b, "c": plain(3, label="3"), "y": plain(y, label=str(y))}
    return Axes(**ends, **places, **channels, **narrow, **windows)


@lru_cache
def _resnet(n: int, s: int, last: int, channels: str) -> Term:
    """Returns the network; ``last`` is the side of the last image, ``channels`` are the n_μ."""
    x = _places(s)
    pool = Window(f"{x[3]} -> u w", last, last) >> Reduce("u w ->", "mean")
    body = (
        Id("b c x")
        >> Conv("c x -> n_1 x", "conv", 3)
        >> Then(*(_stage(i, s if i > 1 else 1, n, x[i - 1], x[i]) for i in (1, 2, 3)))
        >> norm_activate("n_4", "norm", "BatchNorm & Activate")
        >> Block(pool, "AvgPool", "residual")
        >> Block(Linear("n_4 -> y", "L", True), "Linear", "residual")
        >> Block(Softmax("y"), "SoftMax", "softmax")
    )
    return Block(body, f"Identity ResNet $(N = {n}, n_μ = [{channels}])$", "neutral")


@lru_cache(64)
def _stage(i: int, s: int, n: int, x: str, small: str) -> Block:
    """The figure's Block (s, N): to n_{i+1} channels, then N - 1 components that keep them."""
    old, new, narrow = f"n_{i}", f"n_{i + 1}", f"n_b{i + 1}"
    body = first_block(old, new, narrow, x, small, s)
    if n > 1:
        body >>= Repeat((residual_component(new, narrow, small),) * (n - 1), "components")
    return Block(body, f"Block $({s}, N)$", "folded", f"block_{i}")


_HE_IDENTITY = (
    'He et al. 2016, "Identity Mappings in Deep Residual Networks", section 4 and appendix, for '
    "the images of CIFAR-10"
)
_FIGURE = {"x": 32, "n1": 16, "n2": 64, "n3": 128, "n4": 256}
RESNET_PRESETS = (
    Preset("figure-26", _FIGURE, "the notebook, figure 26", "The notebook's figure"),
    Preset("resnet-164", {**_FIGURE, "N": 18}, _HE_IDENTITY, "ResNet-164"),
)


def _channels(i: int, most: int, usual: int, block: str, published: int) -> Knob:
    """Returns the slider of n_i, the channels that a block gives."""
    reason = f"{published} in the figure; a multiple of 4, for n_b = n / 4"
    return Knob(f"n{i}", 4, most, usual, 4, f"channels of the {block} block", reason, multiple=4)


IDENTITY_RESNET = Entry(
    name="identity-resnet",
    title="Identity ResNet",
    source="Notebook, figure 26",
    knobs=(
        Knob("b", 2, 8, 3, help="images", reason="two or more, for batch norm to normalise over"),
        Knob("x", 4, 32, 16, help="height and width", reason="32 in the figure"),
        Knob(
            "N",
            1,
            3,
            3,
            help="residual components a block",
            reason="three in the figure; 50 is the most that a page builds at once",
            most=50,
        ),
        Knob("n1", 1, 64, 16, help="channels of the first convolution", reason="16 in the figure"),
        _channels(2, 128, 32, "first", 64),
        _channels(3, 128, 64, "second", 128),
        _channels(4, 256, 128, "third", 256),
        Knob("s", 1, 4, 2, help="stride of the later blocks", reason="2 in the figure"),
        Knob("y", 2, 20, 10, help="classes", reason="ten in the figure"),
    ),
    system=identity_resnet,
    section="Images",
    type="b c x -> b y",
    presets=RESNET_PRESETS,
    width=1000.0,
)
