"""Diffusion models, which find the noise in a picture: a U-Net, and a transformer, DiT."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from inspect import Parameter, Signature
from math import lcm
from typing import Any

from ncd.circuit.definition import define
from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.errors import SizeError
from ncd.language.axes import AxisSize, plain, seq, space
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
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
    Index,
    Linear,
    Map,
    Pad,
    Param,
    Reduce,
    Rename,
    Scale,
    Softmax,
    Split,
)
from ncd.systems.catalogue_entry import Entry, Preset
from ncd.systems.language_models.model_parts import feed_forward, tanh_gelu
from ncd.systems.shared_parts import self_attention

# --- The U-Net of a diffusion model: it finds the noise in a picture, knowing how noisy it is


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
        SizeError: For a picture that does not halve so often, or channels that are not g groups.

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
    if c % g:
        whole = lcm(g, 4)  # c is a multiple of 4 at any g
        nearest = -(-c // whole) * whole
        fact = f"c = {c} channels are not g = {g} groups of one size"
        raise SizeError(fact, cure=f"c = {nearest}, or g = 1", axis="c", nearest=nearest)
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


# --- DiT: a transformer that finds the noise in a picture, with norms that the time step sets


PARTS = ("shift", "scale", "gate", "shift", "scale", "gate")  # of attention, and of feed-forward
WAVES = 256  # numbers of the sines and cosines of a step
MODULATION = "modulation"


def dit(
    n: int = 2,
    x: int = 4,
    s: int = 2,
    c: int = 4,
    h: int = 4,
    k: int = 8,
    v: int = 11,
    T: int = 1000,
) -> Term:
    """Returns a transformer that finds the noise in a noisy picture of a class.

    Args:
        n: The layers.
        x: The patches along each side.
        s: The places along each side of a patch.
        c: The channels of the picture, which an autoencoder has made smaller.
        h: The heads.
        k: The features of a head; a patch has h · k, a multiple of 4.
        v: The classes, and one more that stands for none.
        T: The steps from a picture to noise.

    Returns:
        A term from a picture, its step and its class to the noise in it and its variance,
        ``c u, ()#T, ()#v -> o u``.

    Raises:
        SizeError: For features that are no multiple of 4, as the positions need.

    Source: Peebles and Xie 2023, "Scalable Diffusion Models with Transformers", section 3.2.

    >>> import ncd
    >>> sizes = dict(n=28, x=16, s=2, c=4, h=16, k=72, v=1001)
    >>> ncd.cost(dit(**sizes)).parameters  # DiT-XL/2
    675129632
    """
    m = h * k
    if m % 4:
        nearest = 4 * (-(-k // 4))
        fact = f"a patch has h · k = {m} features, which is no multiple of 4"
        raise SizeError(fact, cure=f"k = {nearest}", axis="k", nearest=nearest)
    sizes: dict[str, AxisSize] = {
        "m": m,
        "h": h,
        "k": k,
        "d": plain(4 * m, "4m"),
        "f": WAVES,
        "v": v,
        "T": T,
        "j": 6,
    }
    sizes |= {"u": space(x * s, x * s), "x": space(x, x), "t": seq(x * x), "c": c, "o": 2 * c}
    return Axes(**sizes, i=2, a=x, b=s, e=x, g=s, q=s * s * 2 * c)(_dit(n, x, s))


@lru_cache(32)
def _dit(n: int, x: int, s: int) -> Term:
    def network(picture: Any, step: Any, kind: Any) -> Any:
        patches = _patches(x, s)(picture)
        known = Add()(_step_features()(step), _kind()(kind))
        patches, known = Repeat((_layer(),) * n, "blocks")(patches, known)
        return _final_layer()(patches, known)

    network.__annotations__ |= {"picture": "c u", "step": "()#T", "kind": "()#v"}
    return define(network)


def _patches(x: int, s: int) -> Term:
    """Returns a vector for each patch, with sines and cosines of its column and its row."""
    place = f"where(m // (n_m / 4) < 2, t % {x}, t // {x})"
    angle = f"{place} / 10000 ** ((m % (n_m / 4)) / (n_m / 4))"
    sines = f"where(m // (n_m / 4) % 2 == 0, sin({angle}), cos({angle}))"
    body = (
        Conv("c u -> m x", "x_embedder", s, s, 0)
        >> Group("x -> t")
        >> Einsum("m t -> t m")
        >> Id("t m") @ Param("t m", "pos_embed", sines)
        >> Add()
    )
    return Block(body, "Patches", "folded", "patches")


def _step_features() -> Term:
    angle = "$1 / 10000 ** ((f % (n_f / 2)) / (n_f / 2))"
    waves = Map("()#T -> f", f"where(f < n_f / 2, cos({angle}), sin({angle}))", "sines")
    maps = Linear("f -> m", "t_1", True) >> Elementwise("silu") >> Linear("m -> m", "t_2", True)
    return Block(waves >> maps, "Time Step", "folded", "t_embedder")


def _kind() -> Term:
    looked_up = Id("()#v") @ Param("v m", "y_embedder") >> Index("()#v, v m -> m")
    return Block(looked_up, "Class", "linear")


def _layer() -> Term:
    """Returns a layer whose norms and gates depend on the time step and the class."""
    set_by = Block(
        Elementwise("silu") >> Linear("m -> j m", MODULATION, True), "Modulation", "note"
    )
    attention = self_attention("attn", role="folded", axes=("y", "z"))
    mlp = feed_forward(tanh_gelu(), "fc1", "fc2")

    def layer(x: Any, known: Any) -> Any:
        six = set_by(known)
        x = _gate(2)(x, attention(_modulate("j", 0)(x, six)), six)
        return _gate(5)(x, mlp(_modulate("j", 3)(x, six)), six), known

    layer.__annotations__ |= {"x": "t m", "known": "m"}
    return define(layer)


def _modulate(of: str, first: int) -> Term:
    """Returns a norm without weights, and a shift and a scale for each feature."""
    array = f"{of} m"
    two = Copy(array) >> Index(array, {of: first}) @ Index(array, {of: first + 1})
    body = _norm() @ two >> Map("t m, m, m -> t m", "$1 * (1 + $3) + $2", "modulate")
    return Block(body, "Modulate", "folded")


def _norm() -> Term:
    squares = Map("t m -> t m", "$1 ** 2", "square") >> Reduce("t m -> t", "mean")
    return (
        Copy("t m")
        >> Reduce("t m -> t", "mean") @ Id("t m")
        >> Map("t, t m -> t m", "$2 - $1", "centred")
        >> Copy("t m")
        >> squares @ Id("t m")
        >> Map("t, t m -> t m", "$2 / sqrt($1 + 0.000001)", "norm")
    )


def _gate(place: int) -> Term:
    """Returns the sum of an array and of what a part adds to it, through a gate."""
    added = Map("t m, t m, m -> t m", "$1 + $3 * $2", "gated")
    return Block(Id("t m, t m") @ Index("j m", j=place) >> added, "Gate", "folded")


def _final_layer() -> Term:
    """Returns the places of each patch, put together as a picture."""
    set_by = Elementwise("silu") >> Linear("m -> i m", MODULATION, True)
    joined = (
        Id("t m")
        >> Linear("m -> q", "linear", True)
        >> Split("t -> a e")
        >> Split("q -> b g o")
        >> Einsum("a e b g o -> o a b e g")
        >> Group("a b e g -> u")
    )
    body = Id("t m") @ set_by >> _modulate("i", 0) >> joined
    return Block(body, "Final Layer", "folded", "final_layer")


_PEEBLES = (
    'Peebles and Xie 2023, "Scalable Diffusion Models with Transformers", table 1; pictures of '
    "256 × 256, which an autoencoder has made 32 × 32"
)


def _sizes(n: int, h: int, k: int, x: int = 16, s: int = 2) -> dict[str, int]:
    """Returns the sizes of a model for 1,000 classes and none."""
    return {"n": n, "x": x, "s": s, "c": 4, "h": h, "k": k, "v": 1001, "T": 1000}


DIT = Entry(
    name="dit",
    title="Diffusion transformer",
    source="Peebles and Xie 2023, DiT",
    knobs=(
        Knob("n", 1, 3, 2, help="layers", reason="28 in DiT-XL", most=48),
        Knob("x", 1, 8, 4, help="patches along a side", reason="16 in DiT-XL/2"),
        Knob("s", 1, 8, 2, help="places along a side of a patch", reason="2 in DiT-XL/2"),
        Knob("c", 1, 4, 4, help="channels", reason="4, as the autoencoder gives"),
        Knob("h", 1, 8, 4, help="heads", reason="16 in DiT-XL"),
        Knob("k", 4, 24, 8, 4, "features of a head", "72 in DiT-XL", least=1),
        Knob("v", 2, 100, 11, help="classes, and one for none", reason="1,001 in DiT"),
        Knob("T", 10, 1000, 1000, 10, "steps to noise", "1,000 in DiT", least=1),
    ),
    system=dit,
    section="Images",
    type="c u, ()#T, ()#v -> o u",
    width=1280.0,
    presets=(
        Preset("dit-s-2", _sizes(12, 6, 64), _PEEBLES, "DiT-S/2"),
        Preset("dit-b-2", _sizes(12, 12, 64), _PEEBLES, "DiT-B/2"),
        Preset("dit-l-2", _sizes(24, 16, 64), _PEEBLES, "DiT-L/2"),
        Preset("dit-xl-2", _sizes(28, 16, 72), _PEEBLES, "DiT-XL/2"),
        Preset("dit-xl-8", _sizes(28, 16, 72, 4, 8), _PEEBLES, "DiT-XL/8"),
    ),
    notes={MODULATION: "The time step and the class set a shift, a scale and a gate, twice."},
    renamed_axes={"p": "x"},
)
