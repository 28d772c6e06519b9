"""DiT: a transformer that finds the noise in a picture, with norms that the time step sets."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from ncd.circuit.definition import define
from ncd.circuit.elaborate import Axes
from ncd.errors import SizeError
from ncd.language.axes import AxisSize, plain, seq, space
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term
from ncd.ops import (
    Add,
    Conv,
    Copy,
    Einsum,
    Elementwise,
    Group,
    Index,
    Linear,
    Map,
    Param,
    Reduce,
    Split,
)
from ncd.systems.catalogue_entry import Entry, Knob, Preset
from ncd.systems.language_models.model_parts import feed_forward, tanh_gelu
from ncd.systems.shared_parts import self_attention

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
        known = Add()(_time()(step), _kind()(kind))
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


def _time() -> Term:
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
