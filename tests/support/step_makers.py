"""Random steps by hand, of more variety than the samples of the ops.

A maker takes the arrays that are there and gives a term that takes the first of them; it may raise
NCDError, which says that the language refuses what it made, or give None where it has nothing to
work on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from ncd import (
    Add,
    Array,
    Axis,
    BatchNorm,
    CausalMask,
    Concat,
    Conv,
    ConvTranspose,
    Copy,
    Cut,
    Dropout,
    Einsum,
    Elementwise,
    Group,
    Id,
    Index,
    LayerNorm,
    Linear,
    Map,
    MaxPool,
    Param,
    Reduce,
    Rename,
    RMSNorm,
    Softmax,
    Split,
    Term,
    Top,
    Type,
    Window,
    Wire,
)
from tests.support.draws import Draws
from tests.support.op_samples import NAMES, sampled

Maker = Callable[[Draws, Type], Term | None]
SMOOTH = ("relu", "gelu", "sigmoid", "tanh", "sin", "silu", "softplus", "abs")


def words(axes: Iterable[Axis | str]) -> str:
    """Axes as text, by their names."""
    return " ".join(a if isinstance(a, str) else a.name for a in axes) or "()"


def one_of(d: Draws, array: Array) -> str:
    return d.one(array.names)


# --- by hand -------------------------------------------------------------------------------------


def einsum(d: Draws, given: Type) -> Term | None:
    arrays = given[: d.number(1, min(3, len(given)))]
    own = d.some(list(dict.fromkeys(axis.name for array in arrays for axis in array)))
    ins = ", ".join(words(n for n in array.names if n in own) for array in arrays)
    return Einsum(f"{ins} -> {words(d.shuffled(d.some(own)))}", d.one(("", "scores", "out")))


def linear(d: Draws, given: Type) -> Term | None:
    own, new = d.some(given[0]), [d.axis() for _ in range(d.number(0, 2))]
    return Linear(f"{words(own)} -> {words(new)}", d.one(NAMES), d.yes())


def softmax(d: Draws, given: Type) -> Term | None:
    return Softmax(one_of(d, given[0])) if given[0] else None


def mask(d: Draws, given: Type) -> Term | None:
    """Softmax at once, so that −∞ stays finite."""
    if len(given[0]) < 2:
        return None
    y, x = d.shuffled(given[0].names)[:2]
    y, x = sorted((y, x), key=given[0].names.index)
    return CausalMask(f"{y} {x}") >> Softmax(x)


def elementwise(d: Draws, given: Type) -> Term | None:
    return Elementwise(d.one(SMOOTH))


FORMULAS = (
    "$1 * 2 - 1",
    "where($1 > 0, $1, -0.5)",
    "sin($1) ** 2",
    "max($1, 0.25)",
    "$1 / (1 + abs($1))",
    "min($1, 1) + {p}",
    "$1 * ({p} + 1) / n_{p}",
    "where({p} >= 1 and $1 < 1, $1, 0)",
)


def mapped(d: Draws, given: Type) -> Term | None:
    """A formula of one array or two, and of a position."""
    array = given[0]
    at = d.one(array).identifier if array else ""
    formula = d.one(FORMULAS[: None if array else 5]).format(p=at)
    if len(given) > 1 and d.yes() and set(given[1].names) <= set(array.names):
        return Map(f"{words(array)}, {given[1]} -> {words(array)}", f"({formula}) * cos($2)")
    kind = "" if array.below is None else f"#{array.below.name}"
    return Map(f"{words(array)}{kind} -> {words(d.shuffled(array))}", formula)


def to_whole(d: Draws, given: Type) -> Term | None:
    name = d.name()
    return Map(f"{given[0]} -> {words(given[0])}#{name}:3", "floor(2.999 * abs(sin($1)))")


def looked_up(d: Draws, given: Type) -> Term | None:
    """Whole numbers as places of a table that is learned."""
    array = given[0]
    if array.below is None:
        return None
    more = d.axis()
    table = Param(f"{array.below.spec} {more}", d.one(NAMES))
    pattern = f"{array}, {array.below.name} {more} -> {words((*array.names, more))}"
    return Id(Type((array,))) @ table >> Index(pattern)


def placed(d: Draws, given: Type) -> Term | None:
    return Index(words(given[0]) + _kind(given[0]), {one_of(d, given[0]): 0}) if given[0] else None


def _kind(array: Array) -> str:
    return "" if array.below is None else f"#{array.below.name}"


def reduced(d: Draws, given: Type) -> Term | None:
    own = d.some(given[0].names, least=1)
    kept = [name for name in own[1:] if d.yes()]
    return Reduce(f"{words(own)} -> {words(kept)}", d.one(("max", "mean", "min", "sum")))


def top(d: Draws, given: Type) -> Term | None:
    return Top(f"{one_of(d, given[0])} -> {d.name()}:{d.number(1, 2)}") if given[0] else None


def wire(d: Draws, given: Type) -> Term | None:
    """Some arrays, copied, dropped, in another order."""
    taken = given[: d.number(1, min(3, len(given)))]
    left = [str(d.one(taken)) for _ in range(d.number(0, 4))]
    return Wire(f"{Type(taken)} -> {', '.join(left)}")


def rename(d: Draws, given: Type) -> Term | None:
    return Rename(f"{one_of(d, given[0])} -> {d.name()}") if given[0] else None


def residual(d: Draws, given: Type) -> Term | None:
    whole = Id(Type((given[0],)))
    inner = d.one((elementwise, softmax, norm, feed_forward, dropout))(d, given)
    return Copy(given[0]) >> (whole if inner is None else whole >> inner) @ whole >> Add()


def concat(d: Draws, given: Type) -> Term | None:
    if not given[0]:
        return None
    name = one_of(d, given[0])
    return Copy(given[0]) >> Concat(f"{name}, {name} -> {d.name()}")


def cut(d: Draws, given: Type) -> Term | None:
    if not given[0]:
        return None
    axis = d.one(given[0])
    first = d.number(1, max(1, axis.numel - 1))
    return Cut(f"{axis.name} -> {d.name()}:{first}, {d.name()}")


def norm(d: Draws, given: Type) -> Term | None:
    own = words(d.some(given[0], least=1))
    return d.one((LayerNorm, RMSNorm))(own, d.one(NAMES)) if given[0] else None


def batch_norm(d: Draws, given: Type) -> Term | None:
    return BatchNorm(words(d.some(given[0])[:2]))


def group(d: Draws, given: Type) -> Term | None:
    return Group(f"{words(d.some(given[0], least=1))} -> {d.name()}")


def split(d: Draws, given: Type) -> Term | None:
    axis = d.one(given[0]) if given[0] else None
    if axis is None:
        return None
    factor = d.one([n for n in range(1, axis.numel + 1) if axis.numel % n == 0])
    return Split(f"{axis.name} -> {words(d.shuffled([f'{d.name()}:{factor}', d.name()]))}")


def window(d: Draws, given: Type) -> tuple[str, str] | None:
    """Channel axes and, behind them, one to slide over."""
    if len(given[0]) < 2:
        return None
    own = d.some(given[0].names, least=2)[:3]
    return words(own[:-1]), own[-1]


def conv(d: Draws, given: Type) -> Term | None:
    found = window(d, given)
    if found is None:
        return None
    channels, places = found
    new = " ".join(d.axis() for _ in range(d.number(1, 2)))
    kernel, stride = d.number(1, 3), d.number(1, 2)
    after = places if stride == 1 and kernel != 2 else d.name()
    pattern = f"{channels} {places} -> {new} {after}"
    return Conv(pattern, "conv", kernel, stride, bias=d.yes(), dilation=d.number(1, 2))


def conv_transpose(d: Draws, given: Type) -> Term | None:
    found = window(d, given)
    if found is None:
        return None
    channels, places = found
    pattern = f"{channels} {places} -> {d.axis()} {d.name()}"
    stride, gap = d.number(1, 2), d.number(1, 2)
    more = d.number(0, max(stride, gap) - 1)
    return ConvTranspose(pattern, "up", d.number(1, 3), stride, 0, d.yes(), more, gap)


def max_pool(d: Draws, given: Type) -> Term | None:
    pattern = f"{one_of(d, given[0])} -> {d.name()}" if given[0] else "x -> y"
    return MaxPool(pattern, 2, d.number(1, 2), d.number(0, 1))


def windows(d: Draws, given: Type) -> Term | None:
    pattern = f"{one_of(d, given[0])} -> {d.name()} {d.name()}" if given[0] else "x -> y w"
    return Window(pattern, d.number(1, 3), d.number(1, 2), d.number(0, 1), d.number(1, 2))


def dropout(d: Draws, given: Type) -> Term | None:
    return Dropout(0.5)


def feed_forward(d: Draws, given: Type) -> Term | None:
    """A linear map to a wider axis, an activation, and a linear map back: its type is kept."""
    if not given[0]:
        return None
    axis, wide = d.one(given[0]), d.axis()
    inner = wide.partition(":")[0]
    spec = replace(axis, sequence=False).spec
    up = Linear(f"{axis.name} -> {wide}", d.one(("up", "gate")))
    return up >> Elementwise("relu") >> Linear(f"{inner} -> {spec}", "down", d.yes())


MAKERS: tuple[Maker, ...] = (
    elementwise,
    mapped,
    wire,
    softmax,
    linear,
    einsum,
    norm,
    group,
    split,
    rename,
    mask,
    residual,
    concat,
    cut,
    reduced,
    to_whole,
    looked_up,
    placed,
    top,
    batch_norm,
    conv,
    conv_transpose,
    max_pool,
    windows,
    dropout,
    feed_forward,
    sampled,
    sampled,
    sampled,
    sampled,
)
KEEPING: tuple[Maker, ...] = (feed_forward, residual, norm, softmax, elementwise)
