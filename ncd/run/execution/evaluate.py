"""Compiles an op's expressions into one call: read once, run often.

Everything that depends on axes (permutations, sizes, einsum letters) is computed when an expression
is read. The result takes the op's tensors, its layer or parameter, and a model for new tensors.
Dimensions are counted from the end, so that batch axes may stand in front.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ncd.lang.formulas import expr as ex
from ncd.lang.formulas.operators import SIGNS
from ncd.run.execution.tensor_ops import (
    aligned,
    batched,
    cat,
    equation,
    looked_up,
    multiplied,
    narrow,
    rearranged,
    scattered,
    softmax,
)


class Like(NamedTuple):
    """The device and the real dtype of new tensors."""

    device: torch.device
    dtype: torch.dtype


Code = Callable[[Sequence[Tensor], Any, Like], Any]  # of the tensors, the layer, and what is alike
MODULES: Mapping[str, Any] = {"torch": torch, "F": F, "nn": nn, "math": math}
_SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    **SIGNS,
    "&": operator.and_,
    "|": operator.or_,
}


@dataclass(frozen=True)
class Known:
    """A value that needs no tensor."""

    value: Any


def code(expr: ex.Expr, ranks: Sequence[int] = (), layer: str = "") -> Code:
    """Returns an expression as a function that is ready to run.

    ``ranks`` is the number of dimensions of each tensor without a batch, ``layer`` the layer that
    is called (``nn.Conv2d``).

    >>> twice = code(ex.Infix("*", ex.Arg(0), ex.Const(2)))
    >>> twice([torch.ones(2)], None, Like(torch.device("cpu"), torch.float32))
    tensor([2., 2.])
    """
    return _running(_Reader(ranks, layer).read(expr))


def codes(exprs: Sequence[ex.Expr], ranks: Sequence[int] = (), layer: str = "") -> Code:
    """Returns several expressions as one function, which gives a tuple.

    A call whose items they all use, such as ``topk``, runs once.
    """
    calls = [{part.on for part in expr.walk() if isinstance(part, ex.Item)} for expr in exprs]
    same = len({frozenset(found) for found in calls}) == 1 and len(calls[0]) == 1
    shared = calls[0] if same else set()
    first = [code(call, ranks, layer) for call in shared]
    reader = _Reader(ranks, layer)
    reader.shared = {call: len(ranks) for call in shared}
    runs = [reader.run(expr) for expr in exprs]

    def several(args: Sequence[Tensor], own: Any, like: Like) -> tuple[Tensor, ...]:
        args = (*args, *[run(args, own, like) for run in first])
        return tuple([run(args, own, like) for run in runs])

    return several


def over_batches(run: Code, ranks: Sequence[int]) -> Code:
    """Returns a function of tensors of these dimensions as one that also takes batch axes."""

    def batched(args: Sequence[Tensor], own: Any, like: Like) -> Any:
        more = [x.ndim - rank for x, rank in zip(args, ranks, strict=True)]
        mapped: Callable[..., Any] = partial(_unpacked, run, own, like)
        for depth in range(1, max(more, default=0) + 1):
            dims = tuple(0 if extra >= depth else None for extra in more)
            mapped = torch.vmap(mapped, in_dims=dims)
        return mapped(*args)

    return batched


def _unpacked(run: Code, own: Any, like: Like, *args: Tensor) -> Any:
    return run(args, own, like)


def known(expr: ex.Expr) -> Known | None:
    """Returns the value of an expression if it needs no tensor, else None."""
    part = _Reader((), "").read(expr) if not any(map(_needs, expr.walk())) else None
    return part if isinstance(part, Known) else None


def _needs(expr: ex.Expr) -> bool:
    return not isinstance(expr, ex.Const | ex.Size | ex.Infix | ex.Prefix | ex.Tuple | ex.Call)


def function(name: str) -> Any:
    """Returns the function or layer class of a dotted name such as ``F.relu``."""
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


def _applied(
    function: Callable[..., Any],
    given: Sequence[Code | Known],
    extra: Mapping[str, Code | Known] = MappingProxyType({}),
) -> Code:
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


class _Reader:
    """Compiles expressions; one method for each kind."""

    def __init__(self, ranks: Sequence[int], layer: str) -> None:
        self.ranks, self.called = ranks, layer
        self.shared: Mapping[ex.Expr, int] = {}  # what stands among the tensors already

    def read(self, expr: ex.Expr) -> Code | Known:
        """Compiles an expression, or returns its value if it needs no tensor."""
        if (index := self.shared.get(expr) if self.shared else None) is not None:
            return lambda args, own, like: args[index]
        reader: Callable[[Any], Code | Known] = getattr(self, type(expr).__name__.lower())
        return reader(expr)

    def run(self, expr: ex.Expr) -> Code:
        return _running(self.read(expr))

    def applied(
        self,
        function: Callable[..., Any],
        parts: Sequence[ex.Expr],
        named: Iterable[tuple[str, ex.Expr]] = (),
    ) -> Code:
        """Compiles a function call; known arguments are passed as values."""
        return _applied(function, list(map(self.read, parts)), {k: self.read(v) for k, v in named})

    def folded(self, function: Callable[..., Any], *parts: ex.Expr) -> Code | Known:
        """Compiles plain arithmetic, which is computed at once if all parts are known."""
        given = list(map(self.read, parts))
        known = [part.value for part in given if isinstance(part, Known)]
        return Known(function(*known)) if len(known) == len(given) else _applied(function, given)

    def rank(self, expr: ex.Expr) -> int:
        """Returns the number of dimensions of an expression without a batch, as far as known."""
        if isinstance(expr, ex.Arg):
            return self.ranks[expr.index]
        if isinstance(expr, ex.Rearrange | ex.Contract):
            return len(expr.after)
        return max((self.rank(part) for part in expr.parts()), default=0)

    # One method a kind of expression ------------------------------------------------------------

    def arg(self, expr: ex.Arg) -> Code:
        index = expr.index
        return lambda args, own, like: args[index]

    def const(self, expr: ex.Const) -> Known:
        return Known(expr.value)

    def size(self, expr: ex.Size) -> Known:
        return Known(math.prod(axis.numel for axis in expr.axes))

    def call(self, expr: ex.Call) -> Code | Known:
        if expr.function.startswith("math."):
            return self.folded(function(expr.function), *expr.args)
        called = cat if expr.function == "torch.cat" else function(expr.function)
        if not expr.function.startswith("nn.") and narrow(expr.function):
            called = batched(called, expr.function, self.rank(expr.args[0]))
        return self.applied(called, expr.args, expr.kwargs)

    def method(self, expr: ex.Method) -> Code:
        called = softmax if expr.name == "softmax" else getattr(Tensor, expr.name)
        return self.applied(called, (expr.on, *expr.args), expr.kwargs)

    def infix(self, expr: ex.Infix) -> Code | Known:
        return self.folded(_SIGNS[expr.sign], expr.left, expr.right)

    def prefix(self, expr: ex.Prefix) -> Code | Known:
        return self.folded(operator.neg if expr.sign == "-" else operator.invert, expr.on)

    def tuple(self, expr: ex.Tuple) -> Code | Known:
        return self.folded(lambda *items: items, *expr.items)

    def item(self, expr: ex.Item) -> Code:
        return self.applied(operator.itemgetter(expr.index), (expr.on,))

    def layer(self, expr: ex.Layer) -> Code:
        runs = [self.run(part) for part in expr.args]
        if narrow(self.called):
            (run,), name, rank = runs, self.called, self.rank(expr.args[0])
            return lambda args, own, like: batched(own, name, rank)(run(args, own, like))
        if len(runs) == 1:
            (run,) = runs
            return lambda args, own, like: own(run(args, own, like))
        return lambda args, own, like: own(*[run(args, own, like) for run in runs])

    def weight(self, expr: ex.Weight) -> Code:
        return lambda args, own, like: own

    def select(self, expr: ex.Select) -> Code:
        dim, index = expr.dim, expr.index
        return self.applied(lambda x: x.select(dim, index), (expr.on,))

    def lookup(self, expr: ex.Lookup) -> Code:
        found = partial(looked_up, own=expr.own, rest=expr.rest)
        return self.applied(found, (expr.index, expr.table))

    def scattered(self, expr: ex.Scattered) -> Code:
        summed = partial(scattered, own=expr.own, rest=expr.rest, size=expr.size)
        return self.applied(summed, (expr.index, expr.values))

    def rearrange(self, expr: ex.Rearrange) -> Code:
        return self.applied(rearranged(expr.before, expr.after), (expr.on,))

    def contract(self, expr: ex.Contract) -> Code:
        product = multiplied(expr) or partial(torch.einsum, equation(expr))
        return self.applied(product, expr.args)

    def align(self, expr: ex.Align) -> Code:
        return self.applied(aligned(expr.before, expr.after), (expr.on,))

    def position(self, expr: ex.Position) -> Code:
        size, ones = expr.dim.size, len(expr.after) - 1 - expr.after.index(expr.dim)
        shape = (size, *(1,) * ones)
        return lambda args, own, like: torch.arange(size, device=like.device).view(shape)

    def filled(self, expr: ex.Filled) -> Code:
        shape = tuple(dim.size for dim in expr.dims)
        return lambda args, own, like: torch.zeros(shape, device=like.device, dtype=like.dtype)

    def cast(self, expr: ex.Cast) -> Code:
        run = self.run(expr.on)
        if expr.to == "whole":
            return lambda args, own, like: run(args, own, like).to(torch.int64)

        def real(args: Sequence[Tensor], own: Any, like: Like) -> Tensor:
            x: Tensor = run(args, own, like)
            return x if x.is_floating_point() else x.to(like.dtype)

        return real


NEW = (ex.Position, ex.Filled, ex.Cast)  # those that make a tensor like another
