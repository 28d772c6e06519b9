"""Compiles an op's expressions into one call on tensors.

Dimensions are counted from the end, so that batch axes may stand in front of every tensor.

Everything that depends on axes (permutations, sizes, einsum letters) is computed when an expression
is read. The result takes the op's tensors, its layer or parameter, and a model for new tensors.
Dimensions are counted from the end, so that batch axes may stand in front.
"""

from __future__ import annotations

import math
import operator
import re
import string
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ncd.errors import MismatchError
from ncd.formulas.elementwise_functions import ELEMENTWISE
from ncd.formulas.formula import SIGNS, Application, Formula, Name, Number, Operand
from ncd.language import torch_code as ex
from ncd.language.torch_code import Contract, Group

# --- what torch does not do with a batch in front ------------------------------------------------


# --- Tensor operations of expressions, prepared once from their axes

NARROW = ("F.batch_norm", "F.fold", "F.unfold", "nn.GroupNorm")


def narrow(name: str) -> bool:
    """Returns whether a function or layer takes a fixed number of dimensions (max pooling)."""
    if name.startswith("torch.ops."):
        return False  # its arrays have just the axes that it says
    return bool(re.search(r"[123]d$", name)) or name in NARROW


def with_merged_batch(
    called: Callable[..., Tensor], name: str, rank: int, places: int = 0
) -> Callable[..., Tensor]:
    """Returns the function with all batch axes merged into the one that it accepts.

    ``places`` are the dimensions that it works on, if its name does not say so.
    """
    places = places or (int(name[-2]) if name.endswith("d") and name[-2].isdigit() else rank)
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


def scatter_sum(index: Tensor, values: Tensor, own: int, rest: int, size: int) -> Tensor:
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


def rearrange_function(
    before: tuple[Group, ...], after: tuple[Group, ...]
) -> Callable[[Tensor], Tensor]:
    """Returns a function that splits, permutes and merges dimensions, as far as needed."""
    old = [dim for group in before for dim in group]
    new = [dim for group in after for dim in group]
    steps: list[Callable[[Tensor], Tensor]] = []
    if any(len(group) != 1 for group in before):
        steps.append(_reshape_function(len(before), [dim.size for dim in old]))
    if old != new:
        steps.append(permute_function([old.index(dim) - len(old) for dim in new]))
    if any(len(group) != 1 for group in after):
        sizes = [math.prod(dim.size for dim in group) for group in after]
        steps.append(_reshape_function(len(new), sizes))
    if len(steps) == 1:
        return steps[0]

    def all_steps(x: Tensor) -> Tensor:
        for step in steps:
            x = step(x)
        return x

    return all_steps


def _reshape_function(n: int, sizes: Sequence[int]) -> Callable[[Tensor], Tensor]:
    """Returns a function that reshapes the last ``n`` dimensions to these sizes."""
    end = tuple(sizes)
    return lambda x: x.reshape(x.shape[: x.dim() - n] + end)


def permute_function(order: Sequence[int]) -> Callable[[Tensor], Tensor]:
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
    keys = dict.fromkeys(dim.key for group in expr.source_dims for dim in group)
    if len(keys) > len(string.ascii_letters):
        raise MismatchError(
            f"it names {len(keys)} dimensions, and torch's einsum has letters for 52",
            cure="an einsum of fewer axes",
        )
    letters = dict(zip(keys, string.ascii_letters, strict=False))
    sides = [
        "..." + "".join(letters[d.key] for d in g) for g in (*expr.source_dims, expr.target_dims)
    ]
    return f"{','.join(sides[:-1])}->{sides[-1]}"


def matrix_product(expr: Contract) -> Callable[[Tensor, Tensor], Tensor] | None:
    """Returns a contraction as a matrix product, which torch starts faster than an einsum.

    Returns None if it is not one: nothing is summed, or something within one array.
    """
    if len(expr.source_dims) != 2:
        return None
    left, right = expr.source_dims
    both = [dim for dim in left if dim in right]
    inner = tuple(dim for dim in both if dim not in expr.target_dims)
    if not inner or {*left, *right} != {*expr.target_dims, *inner}:
        return None
    batch = tuple(dim for dim in expr.target_dims if dim in both)
    rows, columns = (
        tuple(dim for dim in expr.target_dims if dim in side and dim not in both)
        for side in expr.source_dims
    )
    front = (batch,) if batch else ()
    first = rearrange_function(_singles(left), (*front, rows, inner))
    second = rearrange_function(_singles(right), (*front, inner, columns))
    back = rearrange_function((*front, rows, columns), _singles(expr.target_dims))

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


def align_function(before: Group, after: Group) -> Callable[[Tensor], Tensor]:
    """Returns a function that permutes dimensions to ``after``, adding size 1 for missing ones."""
    order = [dim for dim in after if dim in before]
    move = None
    if order != list(before):
        move = permute_function([before.index(dim) - len(order) for dim in order])
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


# --- Compiles an op's expressions into one call: read once, run often


class TensorOptions(NamedTuple):
    """The device and the real dtype of new tensors."""

    device: torch.device
    dtype: torch.dtype


Code = Callable[
    [Sequence[Tensor], Any, TensorOptions], Any
]  # of the tensors, the layer, and what is alike
MODULES: Mapping[str, Any] = {"torch": torch, "F": F, "nn": nn, "math": math}
_SIGNS: Mapping[str, Callable[[Any, Any], Any]] = {
    **SIGNS,
    "&": operator.and_,
    "|": operator.or_,
}


@dataclass(frozen=True)
class StaticValue:
    """A value that needs no tensor."""

    value: Any


def compile_expr(expr: ex.TorchExpr, ranks: Sequence[int] = (), layer: str = "") -> Code:
    """Returns an expression as a function that is ready to run.

    ``ranks`` is the number of dimensions of each tensor without a batch, ``layer`` the layer that
    is called (``nn.Conv2d``).

    >>> twice = compile_expr(ex.Infix("*", ex.Arg(0), ex.Const(2)))
    >>> twice([torch.ones(2)], None, TensorOptions(torch.device("cpu"), torch.float32))
    tensor([2., 2.])
    """
    return _running(_ExprCompiler(ranks, layer).read(expr))


def compile_exprs(
    exprs: Sequence[ex.TorchExpr], ranks: Sequence[int] = (), layer: str = ""
) -> Code:
    """Returns several expressions as one function, which gives a tuple.

    A call whose items they all use, such as ``topk``, runs once.
    """
    calls = [{part.operand for part in expr.walk() if isinstance(part, ex.Item)} for expr in exprs]
    same = len({frozenset(found) for found in calls}) == 1 and len(calls[0]) == 1
    shared = calls[0] if same else set()
    first = [compile_expr(call, ranks, layer) for call in shared]
    reader = _ExprCompiler(ranks, layer)
    reader.shared = {call: len(ranks) for call in shared}
    runs = [reader.run(expr) for expr in exprs]

    def several(args: Sequence[Tensor], own: Any, like: TensorOptions) -> tuple[Tensor, ...]:
        args = (*args, *[run(args, own, like) for run in first])
        return tuple([run(args, own, like) for run in runs])

    return several


def over_batches(run: Code, ranks: Sequence[int]) -> Code:
    """Returns a function of tensors of these dimensions as one that also takes batch axes."""

    def batched(args: Sequence[Tensor], own: Any, like: TensorOptions) -> Any:
        more = [x.ndim - rank for x, rank in zip(args, ranks, strict=True)]
        mapped: Callable[..., Any] = partial(_call_with_tuple, run, own, like)
        for depth in range(1, max(more, default=0) + 1):
            dims = tuple(0 if extra >= depth else None for extra in more)
            mapped = torch.vmap(mapped, in_dims=dims)
        return mapped(*args)

    return batched


def _call_with_tuple(run: Code, own: Any, like: TensorOptions, *args: Tensor) -> Any:
    return run(args, own, like)


def static_value(expr: ex.TorchExpr) -> StaticValue | None:
    """Returns the value of an expression if it needs no tensor, else None."""
    part = _ExprCompiler((), "").read(expr) if not any(map(_needs, expr.walk())) else None
    return part if isinstance(part, StaticValue) else None


def _needs(expr: ex.TorchExpr) -> bool:
    return not isinstance(expr, ex.Const | ex.Size | ex.Infix | ex.Prefix | ex.Tuple | ex.Call)


def function(name: str) -> Any:
    """Returns the function or layer class of a dotted name such as ``F.relu``."""
    first, *rest = name.split(".")
    found = MODULES[first]
    for word in rest:
        found = getattr(found, word)
    return found


def _running(part: Code | StaticValue) -> Code:
    if not isinstance(part, StaticValue):
        return part
    value = part.value
    return lambda args, own, like: value


def _compose_call(
    function: Callable[..., Any],
    given: Sequence[Code | StaticValue],
    extra: Mapping[str, Code | StaticValue] = MappingProxyType({}),
) -> Code:
    known = {name: part.value for name, part in extra.items() if isinstance(part, StaticValue)}
    more = {n: part for n, part in extra.items() if not isinstance(part, StaticValue)}
    if known:
        function = partial(function, **known)
    runs = [_running(part) for part in given]
    if more:
        return lambda args, own, like: function(
            *[run(args, own, like) for run in runs],
            **{name: run(args, own, like) for name, run in more.items()},
        )
    if runs and all(isinstance(part, StaticValue) for part in given[1:]):
        first, rest = runs[0], tuple(p.value for p in given[1:] if isinstance(p, StaticValue))
        return lambda args, own, like: function(first(args, own, like), *rest)
    return lambda args, own, like: function(*[run(args, own, like) for run in runs])


class _ExprCompiler:
    """Compiles expressions; one method for each kind."""

    def __init__(self, ranks: Sequence[int], layer: str) -> None:
        self.ranks, self.called = ranks, layer
        self.shared: Mapping[ex.TorchExpr, int] = {}  # what stands among the tensors already

    def read(self, expr: ex.TorchExpr) -> Code | StaticValue:
        """Compiles an expression, or returns its value if it needs no tensor."""
        if (index := self.shared.get(expr) if self.shared else None) is not None:
            return lambda args, own, like: args[index]
        reader: Callable[[Any], Code | StaticValue] = getattr(self, type(expr).__name__.lower())
        return reader(expr)

    def run(self, expr: ex.TorchExpr) -> Code:
        return _running(self.read(expr))

    def compile_call(
        self,
        function: Callable[..., Any],
        parts: Sequence[ex.TorchExpr],
        named: Iterable[tuple[str, ex.TorchExpr]] = (),
    ) -> Code:
        """Compiles a function call; known arguments are passed as values."""
        return _compose_call(
            function, list(map(self.read, parts)), {k: self.read(v) for k, v in named}
        )

    def compile_arithmetic(
        self, function: Callable[..., Any], *parts: ex.TorchExpr
    ) -> Code | StaticValue:
        """Compiles plain arithmetic, which is computed at once if all parts are known."""
        given = list(map(self.read, parts))
        known = [part.value for part in given if isinstance(part, StaticValue)]
        return (
            StaticValue(function(*known))
            if len(known) == len(given)
            else _compose_call(function, given)
        )

    def rank(self, expr: ex.TorchExpr) -> int:
        """Returns the number of dimensions of an expression without a batch, as far as known."""
        if isinstance(expr, ex.Arg):
            return self.ranks[expr.index]
        if isinstance(expr, ex.Rearrange | ex.Contract):
            return len(expr.target_dims)
        return max((self.rank(part) for part in expr.parts()), default=0)

    # One method a kind of expression ------------------------------------------------------------

    def arg(self, expr: ex.Arg) -> Code:
        index = expr.index
        return lambda args, own, like: args[index]

    def const(self, expr: ex.Const) -> StaticValue:
        return StaticValue(expr.value)

    def size(self, expr: ex.Size) -> StaticValue:
        return StaticValue(math.prod(axis.numel for axis in expr.axes))

    def call(self, expr: ex.Call) -> Code | StaticValue:
        if expr.function.startswith("math."):
            return self.compile_arithmetic(function(expr.function), *expr.args)
        called = cat if expr.function == "torch.cat" else function(expr.function)
        if not expr.function.startswith("nn.") and narrow(expr.function):
            called = with_merged_batch(called, expr.function, self.rank(expr.args[0]))
        if expr.function == "F.pad" and "mode" in dict(expr.kwargs):
            padded = len([*expr.args[1].parts()]) // 2
            called = with_merged_batch(called, expr.function, self.rank(expr.args[0]), padded)
        return self.compile_call(called, expr.args, expr.kwargs)

    def method(self, expr: ex.Method) -> Code:
        called = softmax if expr.name == "softmax" else getattr(Tensor, expr.name)
        return self.compile_call(called, (expr.operand, *expr.args), expr.kwargs)

    def infix(self, expr: ex.Infix) -> Code | StaticValue:
        return self.compile_arithmetic(_SIGNS[expr.sign], expr.left, expr.right)

    def prefix(self, expr: ex.Prefix) -> Code | StaticValue:
        return self.compile_arithmetic(
            operator.neg if expr.sign == "-" else operator.invert, expr.operand
        )

    def tuple(self, expr: ex.Tuple) -> Code | StaticValue:
        return self.compile_arithmetic(lambda *items: items, *expr.items)

    def item(self, expr: ex.Item) -> Code:
        return self.compile_call(operator.itemgetter(expr.index), (expr.operand,))

    def layer(self, expr: ex.Layer) -> Code:
        runs = [self.run(part) for part in expr.args]
        if narrow(self.called):
            (run,), name, rank = runs, self.called, self.rank(expr.args[0])
            return lambda args, own, like: with_merged_batch(own, name, rank)(run(args, own, like))
        if len(runs) == 1:
            (run,) = runs
            return lambda args, own, like: own(run(args, own, like))
        return lambda args, own, like: own(*[run(args, own, like) for run in runs])

    def weight(self, expr: ex.Weight) -> Code:
        return lambda args, own, like: own

    def select(self, expr: ex.Select) -> Code:
        dim, index = expr.dim, expr.index
        return self.compile_call(lambda x: x.select(dim, index), (expr.operand,))

    def lookup(self, expr: ex.Lookup) -> Code:
        found = partial(looked_up, own=expr.index_rank, rest=expr.trailing_rank)
        return self.compile_call(found, (expr.index, expr.table))

    def scattered(self, expr: ex.Scattered) -> Code:
        summed = partial(scatter_sum, own=expr.index_rank, rest=expr.trailing_rank, size=expr.size)
        return self.compile_call(summed, (expr.index, expr.values))

    def rearrange(self, expr: ex.Rearrange) -> Code:
        return self.compile_call(
            rearrange_function(expr.source_dims, expr.target_dims), (expr.operand,)
        )

    def contract(self, expr: ex.Contract) -> Code:
        product = matrix_product(expr) or partial(torch.einsum, equation(expr))
        return self.compile_call(product, expr.args)

    def align(self, expr: ex.Align) -> Code:
        return self.compile_call(
            align_function(expr.source_dims, expr.target_dims), (expr.operand,)
        )

    def position(self, expr: ex.Position) -> Code:
        size, ones = expr.dim.size, len(expr.target_dims) - 1 - expr.target_dims.index(expr.dim)
        shape = (size, *(1,) * ones)
        return lambda args, own, like: torch.arange(size, device=like.device).view(shape)

    def filled(self, expr: ex.Filled) -> Code:
        shape = tuple(dim.size for dim in expr.dims)
        return lambda args, own, like: torch.zeros(shape, device=like.device, dtype=like.dtype)

    def cast(self, expr: ex.Cast) -> Code:
        run = self.run(expr.operand)
        if expr.target_kind == "whole":
            return lambda args, own, like: run(args, own, like).to(torch.int64)

        def real(args: Sequence[Tensor], own: Any, like: TensorOptions) -> Tensor:
            x: Tensor = run(args, own, like)
            return x if x.is_floating_point() else x.to(like.dtype)

        return real


CREATING_NODES = (ex.Position, ex.Filled, ex.Cast)  # those that make a tensor like another


# --- The values of formulas on tensors


_HOMES = {"torch": torch, "F": F}


def _torch_function(name: str) -> Callable[..., Tensor]:
    home, _, word = name.partition(".")
    found: Callable[..., Tensor] = getattr(_HOMES[home], word)
    return found


FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    **SIGNS,
    "-": lambda *parts: operator.neg(*parts) if len(parts) == 1 else operator.sub(*parts),
    "and": torch.logical_and,
    "or": torch.logical_or,
    "not": torch.logical_not,
    "min": torch.minimum,
    "max": torch.maximum,
    "where": lambda test, yes, no: torch.where(test != 0, yes, no),
    "clamp": lambda x, low, high: torch.minimum(torch.maximum(x, low), high),
    **{name: _torch_function(function.torch) for name, function in ELEMENTWISE.items()},
}
IN_PLACE: Mapping[str, Callable[..., Tensor]] = {"*": Tensor.mul_, "/": Tensor.div_}


def formula_value(
    formula: Formula, leaf: Callable[[Number | Operand | Name], Any], is_fresh: bool = False
) -> Any:
    """Returns the value of a formula.

    Args:
        formula: The formula.
        leaf: Gives the value of a number, an operand or a name.
        is_fresh: Whether each tensor of ``leaf`` is new, so that it may be overwritten.

    >>> from ncd.formulas.formula import parse
    >>> formula_value(parse("exp(-$1)"), lambda operand: torch.zeros(2))
    tensor([1., 1.])
    """
    if not isinstance(formula, Application):
        return leaf(formula)
    parts = [formula_value(part, leaf, is_fresh) for part in formula.parts]
    if is_fresh and formula.operation in IN_PLACE and _can_scale(*parts):
        return IN_PLACE[formula.operation](*parts)
    return FUNCTIONS[formula.operation](*parts)


def _can_scale(array: Tensor, number: Tensor) -> bool:
    """Returns whether an array can be multiplied by a number without another array."""
    return array.is_floating_point() and array.dim() > 0 and number.dim() == 0
