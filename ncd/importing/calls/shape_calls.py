"""Reads views, transposes and repetitions of an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ncd.importing.base.atoms import (
    VAGUE,
    Atom,
    CannotSplit,
    every,
    fresh,
    leaves,
    regrouped,
    size,
)
from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import Constant, Handler, Operand, Value


def view(g: Builder, x: Operand, *shape: Any) -> Operand:
    """Returns a tensor in the shape of the current node."""
    if any(isinstance(n, torch.dtype) for n in shape):
        g.refuse("bits that are read as numbers of another kind")
    if isinstance(x, Constant) and not x.name:
        return Constant(x.tensor.reshape(g.shape))
    if (weight := _weight(g, x)) is not None:
        return weight
    value = g.value(x)
    found = view_as(g, value, g.shape)
    if len(found.dims) > len(value.dims):
        _name_heads(g, found)
    return found


def _name_heads(g: Builder, x: Value) -> None:
    """Names the dimension of a view that is as long as its module has heads, and what follows."""
    module = g.path[-1][0].partition("@")[0] if g.path else ""
    for at, dim in enumerate(x.dims):
        parts = leaves(dim)
        if len(parts) == 1 and parts[0].size == g.heads.get(module) and parts[0].hint in VAGUE:
            g.call(dim, "heads")
            if len(x.dims) == at + 2:
                g.call(x.dims[-1], "k")
            return


def _weight(g: Builder, x: Operand) -> Constant | None:
    """Returns a parameter unchanged if only dimensions of size 1 are added or removed, else None.

    A kernel of a convolution is often written so.
    """
    if not isinstance(x, Constant) or not x.name or x.name in g.shared or x.order:
        return None
    before, after = (tuple(n for n in shape[1:] if n > 1) for shape in (x.tensor.shape, g.shape))
    if not x.tensor.dim() or x.tensor.shape[:1] != g.shape[:1] or before != after:
        return None
    return Constant(x.tensor.reshape(g.shape), x.name, rows=x.rows)


def view_as(g: Builder, x: Value, shape: Sequence[int]) -> Value:
    """Returns the value in another shape."""
    for change in (lambda x: x, g.loose, lambda x: _merged(g, x, shape)):
        x = change(x)
        try:
            return Value(regrouped(x.dims, shape), x.slot)
        except CannotSplit as error:
            failed = error
    raise failed


def _merged(g: Builder, x: Value, shape: Sequence[int]) -> Value:
    """Returns the value with one axis for all dimensions that another shape cuts across."""
    least = min(len(x.dims), len(shape))
    same = [one == two for one, two in zip(x.shape, shape, strict=False)]
    first = next((i for i, one in enumerate(same) if not one), least)
    back = zip(reversed(x.shape[first:]), reversed(shape[first:]), strict=False)
    last = next((i for i, (one, two) in enumerate(back) if one != two), 0)
    end = len(x.dims) - last
    if first >= end:
        return x
    x = Value((*x.dims[:first], every(x.dims[first:end]), *x.dims[end:]), x.slot)
    x = g.single(x, first, alone=False)
    return g.renamed(x, x.dims[first], (Atom(size(x.dims[first]), "n"),))


def permute(g: Builder, x: Operand, order: Sequence[int]) -> Operand:
    if isinstance(x, Constant):
        return x.permuted([i % x.tensor.dim() for i in order])
    return Value(tuple(x.dims[i] for i in order), x.slot)


def transpose(g: Builder, x: Operand, one: int, two: int) -> Operand:
    order = list(range(_rank(x)))
    if order:
        order[one], order[two] = order[two], order[one]
    return permute(g, x, order)


def t(g: Builder, x: Operand) -> Operand:
    return permute(g, x, range(_rank(x))[::-1])


def _rank(x: Operand) -> int:
    return x.tensor.dim() if isinstance(x, Constant) else len(x.dims)


def unsqueeze(g: Builder, x: Operand, at: int) -> Operand:
    if (weight := _weight(g, x)) is not None:
        return weight
    value = g.value(x)
    at %= len(value.dims) + 1
    return Value((*value.dims[:at], (), *value.dims[at:]), value.slot)


def expand(g: Builder, x: Operand, *shape: Any, **more: Any) -> Operand:
    """Returns a tensor whose numbers are repeated along new atoms; nothing is computed."""
    if isinstance(x, Constant) and not x.name:
        return Constant(x.tensor.expand(g.shape))
    value = g.value(x)
    pairs = zip(reversed(value.dims), reversed(g.shape), strict=False)
    value = g.without_ones(value, [-i for i, (dim, n) in enumerate(pairs, 1) if size(dim) != n])
    dims = ((),) * (len(g.shape) - len(value.dims)) + value.dims
    new = tuple(dim if size(dim) == n else fresh(n) for dim, n in zip(dims, g.shape, strict=True))
    g.meet(every(new))
    return Value(new, value.slot)


def repeat(g: Builder, x: Operand, times: Sequence[int]) -> Operand:
    """Returns a tensor repeated along dimensions of size 1."""
    value = g.value(x)
    dims = ((),) * (len(times) - len(value.dims)) + value.dims
    if any(n != 1 and size(dim) != 1 for dim, n in zip(dims, times, strict=True)):
        g.refuse("a repetition of several numbers")
    return expand(g, value, list(times))


def repeat_interleave(g: Builder, x: Operand, times: Any, dim: Any = None, **more: Any) -> Operand:
    """Returns a tensor whose entries along a dimension are repeated, each ``times`` times."""
    value = g.value(x)
    if not isinstance(times, int) or dim is None:
        g.refuse("a repetition by an array")
    at = dim % len(value.dims)
    extra = fresh(times)
    dims = (*value.dims[:at], (*value.dims[at], *extra), *value.dims[at + 1 :])
    g.meet(every(dims))
    return Value(dims, value.slot)


def copied(g: Builder, into: Operand, x: Operand, *more: Any) -> Operand:
    """Returns the values that are written over a whole array."""
    shape = into.tensor.shape if isinstance(into, Constant) else into.shape
    if tuple(shape) == g.value(x).shape:
        return x
    return expand(g, x, shape)


CALLS: dict[str, Handler] = {
    **dict.fromkeys(("view", "reshape", "unflatten", "flatten", "_unsafe_view"), view),
    **dict.fromkeys(("expand", "expand_as", "broadcast_to"), expand),
    "copy": copied,
    "numpy_T": t,
    "permute": permute,
    "repeat": repeat,
    "repeat_interleave": repeat_interleave,
    "t": t,
    "transpose": transpose,
    "unsqueeze": unsqueeze,
}
