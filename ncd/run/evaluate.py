"""An op's expressions as one call: read once, run often.

Everything that follows from the axes - permutations, sizes, einsum's letters - is worked out when
an expression is read. What is read takes the op's tensors, its own layer (or parameter), and what a
new tensor should be like; dimensions are counted from the end, so that batch axes may stand in
front, and no size of a batch is ever looked at.
"""

from __future__ import annotations

import math
import operator
import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ncd.lang.errors import MismatchError
from ncd.lang.expr import (
    Align,
    Arg,
    Call,
    Cast,
    Const,
    Contract,
    Expr,
    Filled,
    Group,
    Infix,
    Item,
    Layer,
    Lookup,
    Method,
    Position,
    Prefix,
    Rearrange,
    Select,
    Size,
    Tuple,
    Weight,
)


class Like(NamedTuple):
    """Where a new tensor is, and of what type its real numbers are."""

    device: torch.device
    dtype: torch.dtype


Code = Callable[[Sequence[Tensor], Any, Like], Any]  # of the tensors, the layer, and what is alike
MODULES: Mapping[str, Any] = {"torch": torch, "F": F, "nn": nn, "math": math}
_SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "//": operator.floordiv,
    "%": operator.mod,
    "**": operator.pow,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
    "&": operator.and_,
    "|": operator.or_,
}


@dataclass(frozen=True)
class Known:
    """A value that no tensor is needed for."""

    value: Any


def code(expr: Expr, ranks: Sequence[int] = (), layer: str = "") -> Code:
    """What an expression does, ready to run.

    ``ranks`` says how many dimensions each tensor has without a batch, ``layer`` which layer is
    called (``nn.Conv2d``).

    >>> twice = code(Infix("*", Arg(0), Const(2)))
    >>> twice([torch.ones(2)], None, Like(torch.device("cpu"), torch.float32))
    tensor([2., 2.])
    """
    return _running(_Reader(ranks, layer).read(expr))


def known(expr: Expr) -> Known | None:
    """What an expression is, if no tensor is needed for that."""
    part = _Reader((), "").read(expr) if not any(map(_needs, expr.walk())) else None
    return part if isinstance(part, Known) else None


def _needs(expr: Expr) -> bool:
    return not isinstance(expr, Const | Size | Infix | Prefix | Tuple | Call)


def function(name: str) -> Any:
    """The function, or the class of layers, that a dotted name means: ``F.relu``."""
    first, *rest = name.split(".")
    found = MODULES[first]
    for word in rest:
        found = getattr(found, word)
    return found


def _running(part: Code | Known) -> Code:
    if not isinstance(part, Known):
        return part
    value = part.value
    return lambda args, own, like: value


class _Reader:
    """Reads expressions; one method a kind."""

    def __init__(self, ranks: Sequence[int], layer: str) -> None:
        self.ranks, self.called = ranks, layer

    def read(self, expr: Expr) -> Code | Known:
        """What an expression does, or what it is if that is known without any tensor."""
        reader: Callable[[Any], Code | Known] = getattr(self, type(expr).__name__.lower())
        return reader(expr)

    def run(self, expr: Expr) -> Code:
        return _running(self.read(expr))

    def applied(
        self,
        function: Callable[..., Any],
        parts: Sequence[Expr],
        named: Iterable[tuple[str, Expr]] = (),
    ) -> Code:
        """A function of parts; those that are known are handed over as they are."""
        given, extra = [self.read(part) for part in parts], {k: self.read(v) for k, v in named}
        known = {name: part.value for name, part in extra.items() if isinstance(part, Known)}
        more = {n: part for n, part in extra.items() if not isinstance(part, Known)}
        if known:
            function = partial(function, **known)
        runs = [_running(part) for part in given]
        if more:
            return lambda args, own, like: function(
                *[run(args, own, like) for run in runs],
                **{name: run(args, own, like) for name, run in more.items()},
            )
        if runs and all(isinstance(part, Known) for part in given[1:]):
            first, rest = runs[0], tuple(p.value for p in given[1:] if isinstance(p, Known))
            return lambda args, own, like: function(first(args, own, like), *rest)
        return lambda args, own, like: function(*[run(args, own, like) for run in runs])

    def folded(self, function: Callable[..., Any], *parts: Expr) -> Code | Known:
        """The same for plain arithmetic, which is done at once where all parts are known."""
        known = [part.value for part in map(self.read, parts) if isinstance(part, Known)]
        if len(known) == len(parts):
            return Known(function(*known))
        return self.applied(function, parts)

    def rank(self, expr: Expr) -> int:
        """How many dimensions an expression has without a batch, as far as its parts tell."""
        if isinstance(expr, Arg):
            return self.ranks[expr.index]
        if isinstance(expr, Rearrange | Contract):
            return len(expr.after)
        return max((self.rank(part) for part in expr.parts()), default=0)

    # One method a kind of expression ------------------------------------------------------------

    def arg(self, expr: Arg) -> Code:
        index = expr.index
        return lambda args, own, like: args[index]

    def const(self, expr: Const) -> Known:
        return Known(expr.value)

    def size(self, expr: Size) -> Known:
        return Known(math.prod(axis.numel for axis in expr.axes))

    def call(self, expr: Call) -> Code | Known:
        if expr.function.startswith("math."):
            return self.folded(function(expr.function), *expr.args)
        called = _cat if expr.function == "torch.cat" else function(expr.function)
        if not expr.function.startswith("nn.") and _narrow(expr.function):
            called = _batched(called, expr.function, self.rank(expr.args[0]))
        return self.applied(called, expr.args, expr.kwargs)

    def method(self, expr: Method) -> Code:
        called = _softmax if expr.name == "softmax" else getattr(Tensor, expr.name)
        return self.applied(called, (expr.on, *expr.args), expr.kwargs)

    def infix(self, expr: Infix) -> Code | Known:
        return self.folded(_SIGNS[expr.sign], expr.left, expr.right)

    def prefix(self, expr: Prefix) -> Code | Known:
        return self.folded(operator.neg if expr.sign == "-" else operator.invert, expr.on)

    def tuple(self, expr: Tuple) -> Code | Known:
        return self.folded(lambda *items: items, *expr.items)

    def item(self, expr: Item) -> Code:
        return self.applied(operator.itemgetter(expr.index), (expr.on,))

    def layer(self, expr: Layer) -> Code:
        runs = [self.run(part) for part in expr.args]
        if _narrow(self.called):
            (run,), name, rank = runs, self.called, self.rank(expr.args[0])
            return lambda args, own, like: _batched(own, name, rank)(run(args, own, like))
        if len(runs) == 1:
            (run,) = runs
            return lambda args, own, like: own(run(args, own, like))
        return lambda args, own, like: own(*[run(args, own, like) for run in runs])

    def weight(self, expr: Weight) -> Code:
        return lambda args, own, like: own

    def select(self, expr: Select) -> Code:
        dim, index = expr.dim, expr.index
        return self.applied(lambda x: x.select(dim, index), (expr.on,))

    def lookup(self, expr: Lookup) -> Code:
        found = partial(_looked_up, own=expr.own, rest=expr.rest)
        return self.applied(found, (expr.index, expr.table))

    def rearrange(self, expr: Rearrange) -> Code:
        return self.applied(rearranged(expr.before, expr.after), (expr.on,))

    def contract(self, expr: Contract) -> Code:
        product = multiplied(expr) or partial(torch.einsum, equation(expr))
        return self.applied(product, expr.args)

    def align(self, expr: Align) -> Code:
        return self.applied(aligned(expr.before, expr.after), (expr.on,))

    def position(self, expr: Position) -> Code:
        size, ones = expr.dim.size, len(expr.after) - 1 - expr.after.index(expr.dim)
        shape = (size, *(1,) * ones)
        return lambda args, own, like: torch.arange(size, device=like.device).view(shape)

    def filled(self, expr: Filled) -> Code:
        shape = tuple(dim.size for dim in expr.dims)
        return lambda args, own, like: torch.zeros(shape, device=like.device, dtype=like.dtype)

    def cast(self, expr: Cast) -> Code:
        run = self.run(expr.on)
        if expr.to == "whole":
            return lambda args, own, like: run(args, own, like).to(torch.int64)

        def real(args: Sequence[Tensor], own: Any, like: Like) -> Tensor:
            x: Tensor = run(args, own, like)
            return x if x.is_floating_point() else x.to(like.dtype)

        return real


NEW = (Position, Filled, Cast)  # those that make a tensor like another


# --- what torch does not do with a batch in front ------------------------------------------------


def _narrow(name: str) -> bool:
    """Whether a function or a layer takes only so many dimensions, such as ``F.max_pool2d``."""
    return bool(re.search(r"[123]d$", name)) or name in ("F.fold", "F.unfold", "F.batch_norm")


def _batched(called: Callable[..., Tensor], name: str, rank: int) -> Callable[..., Tensor]:
    """The function with every batch axis in front joined to the batch that it knows."""
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


def _cat(tensors: Sequence[Tensor], dim: int) -> Tensor:
    """``torch.cat`` where some tensors lack the batch axes of the others: a class token."""
    n = max(x.dim() for x in tensors)
    if all(x.dim() == n for x in tensors):
        return torch.cat(list(tensors), dim)
    own = min(x.dim() for x in tensors)
    lead = next(x.shape[: n - own] for x in tensors if x.dim() == n)
    wide = [x if x.dim() == n else x.expand(*lead, *x.shape[x.dim() - own :]) for x in tensors]
    return torch.cat(wide, dim)


def _softmax(x: Tensor, dim: int) -> Tensor:
    """Along another dimension than the last, with that one moved to where torch is fast."""
    if dim in (-1, x.dim() - 1):
        return x.softmax(-1)
    return x.transpose(dim, -1).softmax(-1).transpose(dim, -1)


def _looked_up(index: Tensor, table: Tensor, own: int, rest: int) -> Tensor:
    """The places of a table at some indices; the dimensions in front are those of both."""
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


# --- what follows from the axes alone ------------------------------------------------------------


def rearranged(before: tuple[Group, ...], after: tuple[Group, ...]) -> Callable[[Tensor], Tensor]:
    """Taken apart, permuted and put together, each only if there is anything to do."""
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
    """The last ``n`` dimensions as others of these sizes."""
    end = tuple(sizes)
    return lambda x: x.reshape(x.shape[: x.dim() - n] + end)


def permuted(order: Sequence[int]) -> Callable[[Tensor], Tensor]:
    """The last dimensions in another order, given from the end."""
    moved = [i - len(order) for i in range(len(order)) if order[i] != i - len(order)]
    if len(moved) == 2:
        one, two = moved
        return lambda x: x.transpose(one, two)
    last = tuple(order)
    return lambda x: x.permute(*range(x.dim() - len(last)), *last)


def equation(expr: Contract) -> str:
    """The einsum of a contraction, a letter for each dimension.

    Raises MismatchError where there are not letters enough.
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
    """A product of two arrays as one of matrices, which torch begins sooner than an einsum.

    None where it is not one: nothing is summed over, or something within one array alone.
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
        return back(torch.bmm(x, y) if x.dim() == y.dim() == 3 and batch else x @ y)

    return product


def _singles(dims: Group) -> tuple[Group, ...]:
    return tuple((dim,) for dim in dims)


def aligned(before: Group, after: Group) -> Callable[[Tensor], Tensor]:
    """Dimensions in the order of ``after``, with size 1 for those that are missing."""
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
