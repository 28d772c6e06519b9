"""Tensor operations of expressions, prepared once from their axes.

Dimensions are counted from the end, so that batch axes may stand in front of every tensor.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ncd.lang.errors import MismatchError
from ncd.lang.formulas.expr import Contract, Group

# --- what torch does not do with a batch in front ------------------------------------------------


NARROW = ("F.batch_norm", "F.fold", "F.unfold", "nn.GroupNorm")


def narrow(name: str) -> bool:
    """Returns whether a function or layer takes a fixed number of dimensions (max pooling)."""
    if name.startswith("torch.ops."):
        return False  # its arrays have just the axes that it says
    return bool(re.search(r"[123]d$", name)) or name in NARROW


def batched(called: Callable[..., Tensor], name: str, rank: int) -> Callable[..., Tensor]:
    """Returns the function with all batch axes merged into the one that it accepts."""
    places = int(name[-2]) if name.endswith("d") and name[-2].isdigit() else rank
    own = int(rank > places + 1 or "orm" in name)  # whether it has a batch among its dimensions

    def function(x: Tensor, *rest: Any, **named: Any) -> Tensor:
        lead = x.dim() - rank
        if lead < 2 - own and not (own and lead):
            return called(x, *rest, **named)
        front = x.shape[: lead + own]
        out = called(x.flatten(0, lead + own - 1), *rest, **named)
        return out.reshape(front + out.shape[1:])

    return function


def cat(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """Concatenates tensors, some of which may lack the batch axes of the others (a class token)."""
    n = max(x.dim() for x in tensors)
    if all(x.dim() == n for x in tensors):
        return torch.cat(list(tensors), dim)
    own = min(x.dim() for x in tensors)
    lead = next(x.shape[: n - own] for x in tensors if x.dim() == n)
    wide = [x if x.dim() == n else x.expand(*lead, *x.shape[x.dim() - own :]) for x in tensors]
    return torch.cat(wide, dim)


def softmax(x: Tensor, dim: int) -> Tensor:
    """Applies softmax along a dimension, which is moved to the end, where torch is fast."""
    if dim in (-1, x.dim() - 1):
        return x.softmax(-1)
    return x.transpose(dim, -1).softmax(-1).transpose(dim, -1)


def looked_up(index: Tensor, table: Tensor, own: int, rest: int) -> Tensor:
    """Returns the rows of a table at some indices; leading dimensions are shared.

    Raises MismatchError for an index out of range; on a GPU torch stops by itself.
    """
    try:
        return _looked_up(index, table, own, rest)
    except (IndexError, RuntimeError) as error:
        places = table.shape[table.dim() - rest - 1]
        if "out of" not in str(error):  # range, or bounds
            raise
        raise MismatchError(
            f"an index is none of the places, which are 0 to {places - 1}",
            where="Index",
            cure=f"min({places - 1}, ...) in the Map that makes it",
        ) from error


def _looked_up(index: Tensor, table: Tensor, own: int, rest: int) -> Tensor:
    before, after = index.dim() - own, table.dim() - rest - 1
    ends = index.shape[before:] + table.shape[after + 1 :]
    if after == 0:
        flat = table if rest == 1 else table.reshape((table.shape[0], -1))
        found = F.embedding(index, flat)
        return found if rest == 1 else found.reshape(index.shape[:before] + ends)
    lead = torch.broadcast_shapes(index.shape[:before], table.shape[:after])
    count, places = math.prod(lead), math.prod(index.shape[before:])
    rows = table.expand(lead + table.shape[after:]).reshape((count, table.shape[after], -1))
    wide = index.expand(lead + index.shape[before:]).reshape((count, places, 1))
    found = rows.gather(1, wide.expand((count, places, rows.shape[2])))
    return found.reshape(lead + ends)


def scattered(index: Tensor, values: Tensor, own: int, rest: int, size: int) -> Tensor:
    """Returns zeros with the values added at their places; leading dimensions are shared."""
    before, after = index.dim() - own, values.dim() - own - rest
    lead = torch.broadcast_shapes(index.shape[:before], values.shape[:after])
    places, ends = math.prod(index.shape[before:]), values.shape[after + own :]
    width = math.prod(ends)
    flat = values.expand(lead + values.shape[after:]).reshape((*lead, places, width))
    wide = index.expand(lead + index.shape[before:]).reshape((*lead, places, 1))
    zeros = values.new_zeros((*lead, size, width))
    return zeros.scatter_add(-2, wide.expand_as(flat), flat).reshape((*lead, size, *ends))


# --- what follows from the axes alone ------------------------------------------------------------


def rearranged(before: tuple[Group, ...], after: tuple[Group, ...]) -> Callable[[Tensor], Tensor]:
    """Returns a function that splits, permutes and merges dimensions, as far as needed."""
    old = [dim for group in before for dim in group]
    new = [dim for group in after for dim in group]
    steps: list[Callable[[Tensor], Tensor]] = []
    if any(len(group) != 1 for group in before):
        steps.append(_reshaped(len(before), [dim.size for dim in old]))
    if old != new:
        steps.append(permuted([old.index(dim) - len(old) for dim in new]))
    if any(len(group) != 1 for group in after):
        sizes = [math.prod(dim.size for dim in group) for group in after]
        steps.append(_reshaped(len(new), sizes))
    if len(steps) == 1:
        return steps[0]

    def all_steps(x: Tensor) -> Tensor:
        for step in steps:
            x = step(x)
        return x

    return all_steps


def _reshaped(n: int, sizes: Sequence[int]) -> Callable[[Tensor], Tensor]:
    """Returns a function that reshapes the last ``n`` dimensions to these sizes."""
    end = tuple(sizes)
    return lambda x: x.reshape(x.shape[: x.dim() - n] + end)


def permuted(order: Sequence[int]) -> Callable[[Tensor], Tensor]:
    """Returns a function that permutes the last dimensions."""
    moved = [i - len(order) for i in range(len(order)) if order[i] != i - len(order)]
    if len(moved) == 2:
        one, two = moved
        return lambda x: x.transpose(one, two)
    last = tuple(order)
    return lambda x: x.permute(*range(x.dim() - len(last)), *last)


def equation(expr: Contract) -> str:
    """Returns the einsum equation of a contraction, with a letter for each dimension.

    Raises MismatchError if there are more dimensions than letters.
    """
    keys = dict.fromkeys(dim.key for group in expr.before for dim in group)
    if len(keys) > len(string.ascii_letters):
        raise MismatchError(
            f"it names {len(keys)} dimensions, and torch's einsum has letters for 52",
            cure="an einsum of fewer axes",
        )
    letters = dict(zip(keys, string.ascii_letters, strict=False))
    sides = ["..." + "".join(letters[d.key] for d in g) for g in (*expr.before, expr.after)]
    return f"{','.join(sides[:-1])}->{sides[-1]}"


def multiplied(expr: Contract) -> Callable[[Tensor, Tensor], Tensor] | None:
    """Returns a contraction as a matrix product, which torch starts faster than an einsum.

    Returns None if it is not one: nothing is summed, or something within one array.
    """
    if len(expr.before) != 2:
        return None
    left, right = expr.before
    both = [dim for dim in left if dim in right]
    inner = tuple(dim for dim in both if dim not in expr.after)
    if not inner or {*left, *right} != {*expr.after, *inner}:
        return None
    batch = tuple(dim for dim in expr.after if dim in both)
    rows, columns = (
        tuple(dim for dim in expr.after if dim in side and dim not in both) for side in expr.before
    )
    front = (batch,) if batch else ()
    first = rearranged(_singles(left), (*front, rows, inner))
    second = rearranged(_singles(right), (*front, inner, columns))
    back = rearranged((*front, rows, columns), _singles(expr.after))

    def product(a: Tensor, b: Tensor) -> Tensor:
        x, y = first(a), second(b)
        if not batch:
            return back(x @ y)
        x, y = _dense(x), _dense(y)
        return back(torch.bmm(x, y) if x.dim() == y.dim() == 3 else x @ y)

    return product


def _dense(x: Tensor) -> Tensor:
    """Returns a stack of matrices in a layout that torch multiplies at once."""
    return x if x.stride(-1) == 1 or x.stride(-2) == 1 else x.contiguous()


def _singles(dims: Group) -> tuple[Group, ...]:
    return tuple((dim,) for dim in dims)


def aligned(before: Group, after: Group) -> Callable[[Tensor], Tensor]:
    """Returns a function that permutes dimensions to ``after``, adding size 1 for missing ones."""
    order = [dim for dim in after if dim in before]
    move = None
    if order != list(before):
        move = permuted([before.index(dim) - len(order) for dim in order])
    first = after.index(order[0]) if order else len(after)
    short = tuple(dim.size if dim in order else 1 for dim in after[first:])
    whole, n = (1,) * first + short, len(order)

    def align(x: Tensor) -> Tensor:
        lead = x.dim() - n
        x = move(x) if move else x
        if lead == 0:  # those in front of all can be left away
            return x if len(short) == n else x.reshape(short)
        return x if len(whole) == n else x.reshape(x.shape[:lead] + whole)

    return align
