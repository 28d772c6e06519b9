"""Swin: attention in windows, which every other layer shifts."""

from __future__ import annotations

from functools import lru_cache

from ncd.circuit.elaborate import Axes
from ncd.circuit.knob import Knob
from ncd.language.axes import AxisSize, plain, space
from ncd.language.blocks import Block
from ncd.language.loops import Repeat
from ncd.language.terms import Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import (
    Add,
    Conv,
    Einsum,
    Elementwise,
    Group,
    Index,
    LayerNorm,
    Linear,
    Map,
    Param,
    Reduce,
    Rename,
    Roll,
    Scale,
    Softmax,
    Split,
)
from ncd.systems.catalogue_entry import Entry, Preset

STAGES = (1, 2, 3, 4)
FAR = 100  # what is taken off the scores of patches that are no neighbours in the picture


def swin(n: int = 1, w: int = 3, s: int = 4, h: int = 1, k: int = 8, y: int = 10) -> Term:
    """Returns a classifier of images whose attention stays within windows of patches.

    Args:
        n: The pairs of layers of the third stage; the others have one pair.
        w: The patches along each side of a window; of the last stage there is one window.
        s: The pixels along each side of a patch.
        h: The heads of the first stage, doubled by each later one.
        k: The features of a head.
        y: The classes.

    Returns:
        A term from an image of 8 · w · s pixels a side to the scores of classes, ``c x -> y``.

    Source: Liu et al. 2021, "Swin Transformer: Hierarchical Vision Transformer using Shifted
    Windows", section 3.

    >>> import ncd
    >>> ncd.cost(swin(n=3, w=7, s=4, h=3, k=32, y=1000)).parameters  # Swin-T
    28288354
    """
    sizes: dict[str, AxisSize] = {"c": 3, "x": space(8 * w * s, 8 * w * s), "y": y, "k": k}
    for i in STAGES:
        side, heads = 2 ** (4 - i), h * 2 ** (i - 1)
        sizes |= {f"x_{i}": space(side * w, side * w), f"h_{i}": heads, f"m_{i}": heads * k}
        sizes |= {f"d_{i}": plain(4 * heads * k, f"4m_{i}"), f"a_{i}": side, f"b_{i}": side}
        sizes[f"n_{i}"] = side * side
        if i < 4:
            sizes |= {f"e_{i}": side // 2 * w, f"g_{i}": side // 2 * w, f"f_{i}": 4 * heads * k}
    return Axes(**sizes, p=2, q=2, v=w, w=w, t=w * w, r=w * w, z=(2 * w - 1) ** 2)(_swin(n, w, s))


@lru_cache(32)
def _swin(n: int, w: int, s: int) -> Term:
    return Then(
        Conv("c x -> m_1 x_1", "patch", s, s, 0),
        Einsum("m_1 x_1 -> x_1 m_1"),
        LayerNorm("m_1", "norm"),
        *(_stage(i, n if i == 3 else 1, w) for i in STAGES),
        LayerNorm("m_4", "layernorm"),
        Reduce("x_4 ->", "mean"),
        Linear("m_4 -> y", "classifier", True),
    )


@lru_cache(64)
def _stage(i: int, pairs: int, w: int) -> Term:
    """Returns pairs of layers; behind all stages but the last, four patches become one."""
    shift = w // 2 if i < 4 else 0
    pair = _layer(i, w, 0, "first") >> _layer(i, w, shift, "second")
    body: Term = Repeat((pair,) * pairs, "layers") if pairs > 1 else pair
    if i < 4:
        body >>= _merge(i)
    return Block(body, f"Stage ${i}$", "neutral" if i == 1 else "folded", f"stage_{i}")


def _layer(i: int, w: int, shift: int, name: str) -> Term:
    """Returns windowed attention and a feed-forward, each added to what it was given."""
    m, x = f"m_{i}", f"x_{i}"
    array = f"{x} {m}"
    feed_forward = (
        LayerNorm(m, "layernorm_after")
        >> Linear(f"{m} -> d_{i}", "fc1", True)
        >> Elementwise("gelu")
        >> Linear(f"d_{i} -> {m}", "fc2", True)
    )
    kind = "Shifted Windows" if shift else "Windows"
    role = "note" if shift else "einsum"
    body = (
        Wire(f"{array} -> {array}, {array}")
        >> (LayerNorm(m, "layernorm_before") >> Block(_attention(i, w, shift), kind, role))
        @ Id(array)
        >> Add()
        >> Wire(f"{array} -> {array}, {array}")
        >> Block(feed_forward, "Feed-Forward", "folded") @ Id(array)
        >> Add()
    )
    return Block(body, "", "neutral", name)


def _attention(i: int, w: int, shift: int) -> Term:
    """Returns attention within windows of w × w patches, on a picture that is moved by a shift."""
    m, x, a, b, n = f"m_{i}", f"x_{i}", f"a_{i}", f"b_{i}", f"n_{i}"
    cut = Split(f"{x} -> {a} w {b} v") >> Einsum(f"{a} w {b} v {m} -> {a} {b} w v {m}")
    windows = cut >> Group(f"{a} {b} -> {n}") >> Group("w v -> t")
    joined = (
        Id(f"{n} t {m}")
        >> Split(f"{n} -> {a} {b}")
        >> Split("t -> w v")
        >> Einsum(f"{a} {b} w v {m} -> {a} w {b} v {m}")
        >> Group(f"{a} w {b} v -> {x}")
    )
    inside = windows >> _heads(i, w, shift) >> joined
    if not shift:
        return Id(f"{x} {m}") >> inside
    return Id(f"{x} {m}") >> Roll(x, -shift) >> inside >> Roll(x, shift)


def _heads(i: int, w: int, shift: int) -> Term:
    """Returns attention of the patches t of each window to those of the same window, r."""
    m, h, n = f"m_{i}", f"h_{i}", f"n_{i}"
    keys = Rename(f"{n} t {m} -> {n} r {m}")
    masks = (_place(w, n, h), _mask(w, shift, i)) if shift else (_place(w, n, h),)
    scores = Then(
        Einsum(f"{n} t {h} k, {n} r {h} k -> {n} t r {h}", "scores"),
        Scale("k"),
        *masks,
        Softmax("r"),
        Einsum(f"{n} t r {h}, {n} r {h} k -> {n} t {h} k"),
    )
    return (
        Wire(f"{n} t {m} -> {n} t {m}, {n} t {m}, {n} t {m}")
        >> Linear(f"{m} -> {h} k", "q", True)
        @ (keys >> Linear(f"{m} -> {h} k", "k", True))
        @ (keys >> Linear(f"{m} -> {h} k", "v", True))
        >> scores
        >> Linear(f"{h} k -> {m}", "out", True)
    )


def _place(w: int, n: str, h: str) -> Term:
    """Returns a step that adds a learned number for each way from one patch to another."""
    down, across = f"t // {w} - r // {w} + {w - 1}", f"t % {w} - r % {w} + {w - 1}"
    scores = f"{n} t r {h}"
    return (
        Id(scores) @ Param(f"z {h}", "bias")
        >> Id(scores) @ Map("-> t r#z", f"({down}) * {2 * w - 1} + {across}", "way") @ Id(f"z {h}")
        >> Id(scores) @ Index(f"t r#z, z {h} -> t r {h}")
        >> Map(f"{scores}, t r {h} -> {scores}", "$1 + $2", "+ bias")
    )


def _mask(w: int, shift: int, i: int) -> Term:
    """Returns a step that parts patches which only the shift has brought together.

    They meet in the last of the windows down, and in the last across.
    """
    n, count = f"n_{i}", 2 ** (4 - i)
    last, edge = count - 1, w - shift
    down = f"{n} // {count} == {last} and (t // {w} < {edge}) != (r // {w} < {edge})"
    across = f"{n} % {count} == {last} and (t % {w} < {edge}) != (r % {w} < {edge})"
    apart = f"where(({down}) or ({across}), $1 - {FAR}, $1)"
    return Map(f"{n} t r h_{i} -> {n} t r h_{i}", apart, "parted")


def _merge(i: int) -> Term:
    """Returns one patch of each square of four: their features, normalised, become half as many."""
    m, e, g = f"m_{i}", f"e_{i}", f"g_{i}"
    body = (
        Id(f"x_{i} {m}")
        >> Split(f"x_{i} -> {e} p {g} q")
        >> Einsum(f"{e} p {g} q {m} -> {e} {g} q p {m}")
        >> Group(f"{e} {g} -> x_{i + 1}")
        >> Group(f"q p {m} -> f_{i}")
        >> LayerNorm(f"f_{i}", "norm")
        >> Linear(f"f_{i} -> m_{i + 1}", "reduction")
    )
    return Block(body, "Patch Merging", "folded", "merge")


_LIU = 'Liu et al. 2021, "Swin Transformer", section 3.3; images of {0} × {0}'


def _sizes(n: int, h: int, w: int = 7) -> dict[str, int]:
    """Returns the sizes of a model with 32 features a head and 1,000 classes."""
    return {"n": n, "w": w, "s": 4, "h": h, "k": 32, "y": 1000}


SWIN = Entry(
    name="swin",
    title="Swin transformer",
    source="Liu et al. 2021, Swin",
    knobs=(
        Knob("n", 1, 2, 1, help="pairs of layers in the third stage", reason="3 or 9", most=16),
        Knob("w", 2, 4, 3, help="patches along a side of a window", reason="7 in Swin-T"),
        Knob("s", 1, 4, 4, help="pixels along a side of a patch", reason="4 in Swin-T"),
        Knob("h", 1, 2, 1, help="heads, doubled by each stage", reason="3 in Swin-T"),
        Knob("k", 4, 16, 8, 4, "features of a head", "32 in Swin-T", least=1),
        Knob("y", 2, 100, 10, help="classes", reason="1,000 in ImageNet"),
    ),
    system=swin,
    section="Images",
    type="c x -> y",
    width=900.0,
    presets=(
        Preset("swin-t", _sizes(3, 3), _LIU.format(224), "Swin-T"),
        Preset("swin-s", _sizes(9, 3), _LIU.format(224), "Swin-S"),
        Preset("swin-b", _sizes(9, 4), _LIU.format(224), "Swin-B"),
        Preset("swin-b-384", _sizes(9, 4, 12), _LIU.format(384), "Swin-B, 384 pixels"),
        Preset("swin-l-384", _sizes(9, 6, 12), _LIU.format(384), "Swin-L, 384 pixels"),
    ),
    notes={"Roll": "The picture moves by half a window, so that the windows lie across old edges."},
)
