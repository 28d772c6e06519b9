"""Reads masks: filled places, causal masks, and choices by a condition."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from ncd.importing.base.atoms import leaves
from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import Axes, Constant, Handler, Operand, Value
from ncd.importing.base.op_order import in_order
from ncd.importing.calls.formulas import broadcast, mapped, number
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array
from ncd.ops import CausalMask

LOWEST = -1e4  # a score below it has no weight after a softmax


def scalar_of(x: Any) -> float | None:
    """Returns the number of a constant that holds one number only."""
    if isinstance(x, Constant) and not x.name and x.tensor.numel() == 1:
        return float(x.tensor)
    return None


def with_constant_mask(g: Builder, scores: Any, mask: Any) -> Value | None:
    """Returns scores with a constant mask added that forbids later positions; None for others."""
    if not isinstance(mask, Constant) or mask.name or not isinstance(scores, Value):
        return None
    if not mask.tensor.is_floating_point():
        return None
    if bool((mask.tensor == 0).all()) and _fits(mask.tensor, scores):
        return scores
    allowed = mask.tensor == 0
    if bool((allowed | (mask.tensor <= LOWEST)).all()) and is_causal(allowed, scores):
        return causal(g, scores)
    return None


def _fits(mask: torch.Tensor, scores: Value) -> bool:
    """Returns whether a mask is broadcast to the shape of the scores."""
    if mask.dim() > len(scores.dims):
        return False
    ends = scores.shape[len(scores.dims) - mask.dim() :]
    return all(n in (1, have) for n, have in zip(mask.shape, ends, strict=True))


def is_causal(allowed: torch.Tensor, scores: Value) -> bool:
    """Returns whether each position may see itself and those before, in every matrix alike."""
    if allowed.dim() < 2 or not _fits(allowed, scores):
        return False
    shape = scores.shape[-2:]
    flat = allowed.reshape(-1, *allowed.shape[-2:])
    if tuple(flat.shape[-2:]) != shape or shape[0] != shape[1] or shape[0] == 1:
        return False
    if any(len(leaves(dim)) != 1 or leaves(dim)[0].group for dim in scores.dims[-2:]):
        return False
    return bool((flat == torch.ones_like(flat[0]).tril()).all())


def causal(g: Builder, scores: Value) -> Value:
    """Adds the causal mask."""
    y, x = leaves(scores.dims[-2]), leaves(scores.dims[-1])

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        both, (array,) = axes((*y, *x)), arrays
        placed = array.names.index(both.names[0]) < array.names.index(both.names[1])
        return CausalMask(both) if placed else in_order(array, both, CausalMask(both))

    return g.op(make, [g.solid(scores)], scores.dims)


def masked_fill(g: Builder, x: Operand, mask: Any, value: Any) -> Value:
    filled = scalar_of(value) if isinstance(value, Constant) else value
    if not isinstance(filled, int | float):
        g.refuse("a value that is an array")
    if isinstance(x, Constant) and isinstance(mask, Value):
        return _two_valued(g, x, mask, filled)
    scores = g.value(x)
    if isinstance(mask, Constant):
        if not bool(mask.tensor.any()) and _fits(mask.tensor, scores):
            return scores
        if filled <= LOWEST and is_causal(~mask.tensor.bool(), scores):
            return causal(g, scores)
    return broadcast(g, scores, mask, f"where($2 > 0, {number(filled)}, $1)", "mask")


def _two_valued(g: Builder, x: Constant, mask: Value, filled: float) -> Value:
    """Returns an array with one number where a mask is set, and another elsewhere."""
    alike = x.tensor.numel() and bool((x.tensor == x.tensor.reshape(-1)[0]).all())
    if not alike or tuple(x.tensor.shape) != mask.shape:
        g.refuse("a constant that is filled")
    usual = float(x.tensor.reshape(-1)[0])
    return mapped(g, g.solid(mask), f"where($1 > 0, {number(filled)}, {number(usual)})", "mask")


def alike(value: Any, g: Builder, x: Operand, *args: Any, **more: Any) -> Constant:
    """Returns an array filled with one number, in the shape of another array."""
    filled = args[-1] if value is None else value
    return Constant(torch.full(g.shape, filled, dtype=g.dtype))


def where(g: Builder, test: Any, yes: Any, no: Any) -> Value:
    """Adds a choice of numbers by a mask; of two arrays each is 0 where it is not taken."""
    first = scalar_of(yes) if isinstance(yes, Constant) else yes
    second = scalar_of(no) if isinstance(no, Constant) else no
    if isinstance(first, int | float) and isinstance(second, int | float):
        chosen = f"where($1 > 0, {number(first)}, {number(second)})"
        return mapped(g, g.solid(g.value(test)), chosen, "mask")
    if isinstance(second, int | float) and not isinstance(first, int | float):
        if isinstance(test, Constant):
            return masked_fill(g, yes, Constant(~test.tensor.bool()), second)
        return broadcast(g, yes, test, f"where($2 > 0, $1, {number(second)})", "mask")
    if isinstance(first, int | float) and not isinstance(second, int | float):
        return masked_fill(g, no, test, first)
    taken = broadcast(g, yes, test, "where($2 > 0, $1, 0)", "mask")
    return broadcast(g, taken, broadcast(g, no, test, "where($2 > 0, 0, $1)", "mask"), "$1 + $2")


CALLS: dict[str, Handler] = {
    **dict.fromkeys(("zeros_like", "new_zeros", "empty_like", "new_empty"), partial(alike, 0)),
    **dict.fromkeys(("ones_like", "new_ones"), partial(alike, 1)),
    **dict.fromkeys(("full_like", "new_full"), partial(alike, None)),
    "masked_fill": masked_fill,
    "where": where,
}
