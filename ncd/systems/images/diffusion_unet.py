"""The U-Net of a diffusion model: it finds the noise in a picture, knowing how noisy it is."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from inspect import Parameter, Signature
from typing import Any

from ncd.circuit.definition import define
from ncd.circuit.elaborate import Axes
from ncd.errors import SizeError
from ncd.language.axes import AxisSize, plain, space
from ncd.language.blocks import Block
from ncd.language.terms import Id, Term
from ncd.language.wire import Wire
from ncd.ops import (
    Add,
    Concat,
    Conv,
    Copy,
    Einsum,
    Elementwise,
    Group,
    GroupNorm,
    Linear,
    Map,
    Pad,
    Rename,
    Scale,
    Softmax,
    Split,
)
from ncd.systems.catalogue_entry import Entry, Knob, Preset

EPS = 1e-6
FIRST_HALF = "f < n_f / 2"
PLACE = f"where({FIRST_HALF}, f, f - n_f / 2)"  # of a sine or of its cosine
ANGLE = f"$1 / 10000 ** ({PLACE} / max(n_f // 2 - 1, 1))"


def diffusion_unet(
    depth: int = 2, n: int = 1, c: int = 12, g: int = 4, x: int = 8, o: int = 1, T: int = 100
) -> Term:
    """Returns a network that finds the noise in a noisy picture.

    Args:
        depth: The levels; each but the first has 2 c channels and half the height and width.
        n: The residual blocks of a level on the way down; on the way up there is one more.
        c: The channels of the first level.
        g: The groups of a norm.
        x: The height and width of the picture.
        o: The colours.
        T: The steps from a picture to noise.

    Returns:
        A term from a picture and its step to the noise in it, ``o x_1, ()#T -> o x_1``.

    Raises:
        SizeError: For a picture that does not halve so often.

    Source: Ho et al. 2020, "Denoising Diffusion Probabilistic Models", appendix B.

    >>> import ncd
    >>> sizes = dict(depth=4, n=2, c=128, g=32, x=32, o=3, T=1000)
    >>> ncd.cost(diffusion_unet(**sizes)).parameters  # 35.7 million in appendix B
    35746307
    """
    step = 2 ** (depth - 1)
    if x % step:
        nearest = max(step, (2 * x + step) // (2 * step) * step)
        fact = f"a picture of {x} × {x} cannot be halved {depth - 1} times"
        raise SizeError(fact, cure=f"x = {nearest}", axis="x", nearest=nearest)
    places = {f"x_{i}": space(*(x // 2 ** (i - 1),) * 2) for i in range(1, depth + 1)}
    wide: dict[str, AxisSize] = {
        "c": c,
        "d": plain(2 * c, "2c"),
        "m": plain(4 * c, "4c"),
        "f": plain(c, "c"),
        "k": 2 * c,
    }
    joined = {"cc": plain(2 * c, "2c"), "cd": plain(3 * c, "3c")}
    joined |= {"dc": plain(3 * c, "3c"), "dd": plain(4 * c, "4c")}
    small = {f"{a}_{i}": x // 2 ** (i - 1) for i in range(2, depth + 1) for a in "yu"}
    padded = {f"p_{i}": space(*(x // 2 ** (i - 1) + 1,) * 2) for i in range(1, depth)}
    keys = {f"z_{i}": places[f"x_{i}"] for i in range(2, depth + 1) if i in (2, depth)}
    return Axes(o=o, T=T, p=2, q=2, **places, **padded, **keys, **small, **wide, **joined)(
        _diffusion_unet(depth, n, g)
    )


@lru_cache(32)
def _diffusion_unet(depth: int, n: int, g: int) -> Term:
    """Writes down the network as its published code does: a list of what is saved on the way."""

    def network(x: Any, t: Any) -> Any:
        time = _time()(t)
        last, *saved = _down_levels(depth, n, g)(x, time)
        h = _middle(depth, g)(last, time)
        up = _up_levels([array.axes.spec for array in (h, last, *saved, time)], depth, n, g)
        return _output_layers(g)(up(h, last, *saved, time))

    network.__annotations__ |= {"x": "o x_1", "t": "()#T"}  # axes, as ``define`` reads them
    return define(network)


def _down_levels(depth: int, n: int, g: int) -> Term:
    """Returns the levels on the way down, which give all that is saved there, the last first."""

    def down(x: Any, time: Any) -> Any:
        saved = [Conv("o x_1 -> c x_1", "conv_in", 3)(x)]
        for i in range(1, depth + 1):
            for j in range(n):
                saved.append(_block(_channels(saved[-1]), i, f"down_{i}_{j}", g)(saved[-1], time))
            if i < depth:
                saved.append(_smaller(i)(saved[-1]))
        return tuple(reversed(saved))

    down.__annotations__ |= {"x": "o x_1", "time": "m"}
    return Block(define(down), "Down", "linear")


def _middle(depth: int, g: int) -> Term:
    array = f"d x_{depth}"
    first = _block("d", depth, "middle_1", g, attends=True)
    second = _block("d", depth, "middle_2", g, attends=False)
    body = Wire(f"{array}, m -> {array}, m, m") >> first @ Id("m") >> second
    return Block(body, "Middle", "linear")


def _up_levels(axes: Sequence[str], depth: int, n: int, g: int) -> Term:
    """Returns the levels on the way up; each block takes what was saved last."""

    def up(h: Any, *others: Any) -> Any:
        *saved, time = others
        for i in range(depth, 0, -1):
            for j in range(n + 1):
                skip = saved.pop(0)
                both = _channels(h) + _channels(skip)
                h = Concat(f"{_channels(h)}, {_channels(skip)} -> {both}")(h, skip)
                h = _block(both, i, f"up_{i}_{j}", g)(h, time)
            if i > 1:
                h = _larger(i)(h)
        return h

    own = [Parameter(f"a_{k}", Parameter.POSITIONAL_ONLY, annotation=a) for k, a in enumerate(axes)]
    up.__signature__ = Signature(own)  # type: ignore[attr-defined]
    return Block(define(up), "Up", "linear")


def _channels(array: Any) -> str:
    """Returns the name of an array's channels."""
    name: str = array.axes.names[0]
    return name


def _time() -> Term:
    """Returns the embedding of a step, as sines and cosines and two learned maps."""
    waves = Map("()#T -> f", f"where({FIRST_HALF}, sin({ANGLE}), cos({ANGLE}))", "sines")
    maps = (
        Linear("f -> m", "time_1", True) >> Elementwise("silu") >> Linear("m -> m", "time_2", True)
    )
    return Block(waves >> maps >> Elementwise("silu"), "Time Embedding", "note")


def _block(old: str, i: int, name: str, g: int, attends: bool | None = None) -> Term:
    """Returns a residual block that is told the step; the second level also attends."""
    new, x = "c" if i == 1 else "d", f"x_{i}"
    first = GroupNorm(f"{old} {x}", "norm_1", g, EPS) >> Elementwise("silu")
    second = GroupNorm(f"{new} {x}", "norm_2", g, EPS) >> Elementwise("silu")
    shortcut = Id(f"{old} {x}") if old == new else Conv(f"{old} {x} -> {new} {x}", "skip")
    part = (
        (first >> Conv(f"{old} {x} -> {new} {x}", "conv_1", 3))
        @ Linear(f"m -> {new}", "time", True)
        >> Block(Map(f"{new} {x}, {new} -> {new} {x}", "$1 + $2", "+ time"), "", "note")
        >> second
        >> Conv(f"{new} {x} -> {new} {x}", "conv_2", 3)
    )
    body = Wire(f"{old} {x}, m -> {old} {x}, m, {old} {x}") >> part @ shortcut >> Add()
    if i == 2 if attends is None else attends:
        body >>= _attention(new, i, g)
        return Block(body, "Residual Block, Attention", "folded", name)
    return Block(body, "Residual Block", "folded", name)


def _attention(c: str, i: int, g: int) -> Term:
    """Returns attention of one head, in which each position reads all others."""
    x, z = f"x_{i}", f"z_{i}"
    array = f"{c} {x}"
    heads = (
        Linear(f"{c} -> k", "q", True)
        @ (Rename(f"{array} -> {c} {z}") >> Linear(f"{c} -> k", "k", True))
        @ (Rename(f"{array} -> {c} {z}") >> Linear(f"{c} -> k", "v", True))
        >> Einsum(f"k {x}, k {z} -> {x} {z}", "scores")
        >> Scale("k")
        >> Softmax(z)
        >> Einsum(f"{x} {z}, k {z} -> k {x}")
        >> Linear(f"k -> {c}", "out", True)
    )
    attention = GroupNorm(array, "norm", g, EPS) >> Wire(f"{array} -> {array}, {array}, {array}")
    return (
        Copy(array)
        >> Block(attention >> heads, "Attention", "einsum", "attention") @ Id(array)
        >> Add()
    )


def _smaller(i: int) -> Term:
    """Returns a convolution that halves the image, padded at the right and below alone."""
    c = "c" if i == 1 else "d"
    halved = Pad(f"x_{i} -> p_{i}", 0, 1) >> Conv(
        f"{c} p_{i} -> {c} x_{i + 1}", "conv", 3, stride=2, padding=0
    )
    return Block(halved, "Downsample", "folded", f"smaller_{i}")


def _larger(i: int) -> Term:
    """Returns each position as a square of four, and a convolution."""
    x, large = f"x_{i}", f"x_{i - 1}"
    doubled = (
        Id(f"d {x}")
        >> Split(f"{x} -> y_{i} u_{i}")
        >> Map(f"y_{i} u_{i} -> y_{i} p u_{i} q", "$1", "nearest")
        >> Group(f"y_{i} p u_{i} q -> {large}")
        >> Conv(f"d {large} -> d {large}", "conv", 3)
    )
    return Block(doubled, "Upsample", "folded", f"larger_{i}")


def _output_layers(g: int) -> Term:
    return (
        GroupNorm("c x_1", "norm_out", g, EPS)
        >> Elementwise("silu")
        >> Conv("c x_1 -> o x_1", "conv_out", 3)
    )


_HO = 'Ho et al. 2020, "Denoising Diffusion Probabilistic Models", section 4 and appendix B'
DIFFUSION_UNET = Entry(
    name="diffusion-unet",
    title="Diffusion",
    source="Ho et al. 2020, DDPM",
    knobs=(
        Knob("depth", 2, 3, 2, help="levels", reason="each half as wide; 4 in DDPM", most=6),
        Knob("n", 1, 2, 1, help="blocks of a level", reason="2 in DDPM", most=4),
        Knob("c", 4, 32, 12, 4, "channels of the first level", "128 in DDPM", multiple=4),
        Knob("g", 1, 4, 4, help="groups of a norm", reason="32 in DDPM", most=128),
        Knob("x", 8, 32, 8, 8, "height and width", "8, as the digits have; 32 in DDPM"),
        Knob("o", 1, 3, 1, help="colours", reason="1 for grey digits, 3 in DDPM"),
        Knob("T", 10, 1000, 100, 10, "steps to noise", "1,000 in DDPM", least=2),
    ),
    system=diffusion_unet,
    section="Images",
    type="o x_1, ()#T -> o x_1",
    width=1100.0,
    presets=(
        Preset(
            "ddpm-cifar10",
            {"depth": 4, "n": 2, "c": 128, "g": 32, "x": 32, "o": 3, "T": 1000},
            _HO,
            "DDPM, CIFAR-10",
        ),
    ),
)
