"""Functions of torch along a dimension: sums, means, softmax and attention."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

from ncd.importing.base.atoms import Atom, Dim, fresh, group_of, leaves, size
from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import Axes, Constant, Handler, Operand, Slot, Value
from ncd.importing.calls.activation_calls import dropout
from ncd.importing.calls.arithmetic_calls import binary, scaled
from ncd.importing.calls.formulas import as_real, broadcast, mapped, number
from ncd.importing.calls.mask_calls import causal, masked_fill
from ncd.importing.calls.product_calls import product
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array, Signature, Type
from ncd.ops import Reduce, Softmax, Top

HOW = {"amax": "max", "amin": "min", "mean": "mean", "prod": "product", "sum": "sum"}


def along(how: str, g: Builder, x: Value, atoms: Dim) -> Value:
    """Reduces some atoms; their dimensions have size 1 then."""
    x = g.solid(x)
    gone = {*atoms}
    if any(set(group_of(atom)) - gone for atom in atoms):
        g.refuse("one side of a spatial group")
    dims = tuple(tuple(a for a in leaves(dim) if a not in gone) for dim in x.dims)

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        (array,) = arrays
        own = [axis for axis in array if axis.name in axes(atoms).names]
        return Reduce(Signature(Type((Array(own),)), Type((Array(),))), how)

    return g.op(make, [x], dims)


def reduced(
    name: str, g: Builder, x: Operand, at: Any = None, keep: bool = False, **more: Any
) -> Value:
    value = g.value(x)
    rank = len(value.dims)
    value = as_real(g, value)
    if not rank:  # torch takes one number as an axis of it
        return value
    places = range(rank) if at is None or at == [] else [at] if isinstance(at, int) else at
    gone = [i % rank for i in places]
    atoms = tuple(atom for i in sorted(gone) for atom in leaves(value.dims[i]))
    if any(set(group_of(atom)) - {*atoms} for atom in atoms):
        value = g.ungrouped(value)
        atoms = tuple(atom for i in sorted(gone) for atom in leaves(value.dims[i]))
    found = along(HOW.get(name, name), g, value, atoms) if atoms else value
    kept = tuple(dim for i, dim in enumerate(found.dims) if keep or i not in gone)
    return Value(kept, found.slot)


def variance(
    g: Builder,
    x: Operand,
    at: Any = None,
    unbiased: Any = None,
    keep: bool = False,
    *,
    dim: Any = None,
    correction: Any = None,
    keepdim: bool = False,
) -> tuple[Value, Value]:
    """Adds the variance along some dimensions, and the mean."""
    if isinstance(at, bool):
        at, unbiased = None, at
    at, keep = dim if at is None else at, keep or keepdim
    less = correction if correction is not None else int(unbiased is not False)
    value = as_real(g, g.value(x))
    places = range(len(value.dims)) if at in (None, []) else [at] if isinstance(at, int) else at
    count = prod(size(value.dims[i]) for i in places)
    if count <= less:
        g.refuse("a variance of too few numbers")
    mean = reduced("mean", g, value, list(places), True)
    found = reduced("mean", g, broadcast(g, value, mean, "($1 - $2) ** 2"), list(places), keep)
    if less:
        found = mapped(g, found, f"$1 * {number(count / (count - less))}")
    return found, (mean if keep else reduced("mean", g, value, list(places)))


def deviation(g: Builder, x: Operand, *args: Any, **named: Any) -> tuple[Value, Value]:
    """Adds the standard deviation along some dimensions, and the mean."""
    found, mean = variance(g, x, *args, **named)
    return mapped(g, found, "sqrt($1)"), mean


def distances(g: Builder, x: Operand, y: Operand, p: float = 2.0, *more: Any) -> Value:
    """Adds the distance of each row of one array to each of another."""
    one, two = g.value(x), g.value(y)
    rows = Value((*one.dims[:-1], (), one.dims[-1]), one.slot)
    apart = broadcast(g, rows, Value((*two.dims[:-2], (), *two.dims[-2:]), two.slot), "$1 - $2")
    if p == 2:
        total = reduced("sum", g, mapped(g, apart, "$1 ** 2"), -1)
        return mapped(g, total, "sqrt($1)")
    if p == 1:
        return reduced("sum", g, mapped(g, apart, "abs($1)"), -1)
    return g.refuse("distances of another norm")


def softmax(g: Builder, x: Operand, at: int, *more: Any, **named: Any) -> Value:
    value = g.solid(g.value(x))
    at %= len(value.dims) or 1
    dim = leaves(value.dims[at]) if value.dims else ()
    if not dim:
        g.refuse("a softmax of one number")
    if group_of(dim[0]) != dim:
        value = g.single(value, at)
    atoms = leaves(value.dims[at])

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        return Softmax(axes(atoms))

    return g.op(make, [value], value.dims)


def log_softmax(g: Builder, x: Operand, at: int, *more: Any, **named: Any) -> Value:
    return mapped(g, softmax(g, x, at), "log($1)")


def top(g: Builder, x: Operand, k: int, at: int = -1, largest: bool = True, *more: Any) -> Any:
    """Adds the k largest numbers along a dimension, and their positions."""
    if not largest:
        g.refuse("the smallest numbers")
    value = g.value(x)
    if not value.dims:
        g.refuse("the largest of one number")
    at %= len(value.dims)
    value = g.single(value, at)
    old = leaves(value.dims[at])
    new = (Atom(k, "n"),)
    rest = tuple(atom for atom in leaves(value.slot.atoms) if atom not in old)
    slots = [Slot((*rest, *new)), Slot((*rest, *new), "whole", old[0])]

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        return Top(Signature(Type((axes(old),)), Type((axes(new),))))

    g.step(make, [value], slots)
    dims = (*value.dims[:at], new, *value.dims[at + 1 :])
    return tuple(Value(dims, slot) for slot in slots)


def attention(
    g: Builder,
    query: Operand,
    key: Operand,
    value: Operand,
    mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: Any = None,
    enable_gqa: bool = False,
) -> Value:
    """Adds scaled dot-product attention in its steps."""
    q, k, v = map(g.value, (query, key, value))
    if enable_gqa:
        q, k, v = _repeated(g, q, k, v)
    for dim in (q.dims[-1], v.dims[-1]):
        g.call(dim, "k")
    scores = product(g, q, k, -1, -2)
    usual = size(q.dims[-1]) ** -0.5
    scores = scaled(g, scores, usual if scale is None else scale)
    if mask is not None:
        scores = _with_mask(g, scores, mask)
    if is_causal:
        scores = causal(g, scores)
    weights = softmax(g, scores, -1)
    weights = dropout(g, weights, dropout_p, dropout_p > 0)
    return product(g, weights, v, -2, -1)


def _with_mask(g: Builder, scores: Value, mask: Any) -> Value:
    boolean = (
        mask.tensor.dtype.is_floating_point is False
        if isinstance(mask, Constant)
        else mask.slot.kind != "real"
    )
    if not boolean:
        return binary("add", g, scores, mask)
    if isinstance(mask, Constant):
        return masked_fill(g, scores, Constant(~mask.tensor.bool()), float("-inf"))
    return broadcast(g, scores, mask, "where($2 > 0, $1, (-inf))", "mask")


def _repeated(g: Builder, q: Value, k: Value, v: Value) -> tuple[Value, Value, Value]:
    """Returns keys and values whose heads serve several heads of the queries."""
    times = q.shape[-3] // k.shape[-3]
    extra = fresh(times, "q")
    g.meet(extra)

    def wide(x: Value) -> Value:
        return Value((*x.dims[:-3], (*x.dims[-3], *extra), *x.dims[-2:]), x.slot)

    return q, wide(k), wide(v)


CALLS: dict[str, Handler] = {
    **{name: partial(reduced, name) for name in HOW},
    **dict.fromkeys(("softmax", "_softmax"), softmax),
    **dict.fromkeys(("cdist", "_cdist_forward"), distances),
    "std": lambda g, x, *args, **named: deviation(g, x, *args, **named)[0],
    "std_mean": deviation,
    "var": lambda g, x, *args, **named: variance(g, x, *args, **named)[0],
    "var_mean": variance,
    "log_softmax": log_softmax,
    "scaled_dot_product_attention": attention,
    "topk": top,
}
