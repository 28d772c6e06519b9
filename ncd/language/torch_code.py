"""Expressions: the torch code of an op as data.

``ncd.run`` evaluates them and ``ncd.write`` writes them as source, without knowing the op. An
expression works on the op's inputs (:class:`Arg`). Dimensions are counted from the end, so that
every array may have batch axes in front. Axes are identified by their
:class:`~ncd.language.axes.Dim`, not by text, so that two of them are never confused.

An op has one expression for each of its outputs, or a single one that gives all outputs as a tuple
(``topk``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Literal

from ncd.language.axes import Array, Axis, Dim


class TorchExpr:
    """A node of an expression; its fields are expressions or plain values."""

    def parts(self) -> Iterator[TorchExpr]:
        """Yields the expressions directly within this one."""
        for name in _names(type(self)):  # type: ignore[arg-type]
            yield from _expressions(getattr(self, name))

    def walk(self) -> Iterator[TorchExpr]:
        """Yields this expression and all expressions within it."""
        yield self
        for part in self.parts():
            yield from part.walk()


@lru_cache
def _names(kind: type[TorchExpr]) -> tuple[str, ...]:
    """Returns the fields of a class of nodes whose type annotations mention expressions."""
    return tuple(f.name for f in fields(kind) if "Expr" in str(f.type))  # type: ignore[arg-type]


def _expressions(value: object) -> Iterator[TorchExpr]:
    if isinstance(value, TorchExpr):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _expressions(item)


@dataclass(frozen=True)
class Arg(TorchExpr):
    """The op's input tensor with this index, from 0."""

    index: int


@dataclass(frozen=True)
class Const(TorchExpr):
    """A number, a boolean, a text or None."""

    value: int | float | bool | str | None


@dataclass(frozen=True)
class Size(TorchExpr):
    """The product of the sizes of some axes; 1 for none. Source writes their names: ``k * h``."""

    axes: tuple[Axis, ...]


@dataclass(frozen=True)
class Layer(TorchExpr):
    """A call of the op's layer."""

    args: tuple[TorchExpr, ...]


@dataclass(frozen=True)
class Weight(TorchExpr):
    """The op's own parameter: a learned array outside of any layer."""


@dataclass(frozen=True)
class Call(TorchExpr):
    """A call of a function by its dotted name: ``torch.cat``, ``F.relu``, ``nn.Linear``.

    The first word is one of ``torch``, ``F`` (``torch.nn.functional``), ``nn`` and ``math``.
    """

    function: str
    args: tuple[TorchExpr, ...] = ()
    kwargs: tuple[tuple[str, TorchExpr], ...] = ()


@dataclass(frozen=True)
class Method(TorchExpr):
    """A call of a tensor's method: ``x.softmax(-1)``."""

    operand: TorchExpr
    name: str
    args: tuple[TorchExpr, ...] = ()
    kwargs: tuple[tuple[str, TorchExpr], ...] = ()


@dataclass(frozen=True)
class Infix(TorchExpr):
    """A binary operator of Python: ``+ - * / // % ** < <= > >= == != & |``."""

    sign: str
    left: TorchExpr
    right: TorchExpr


@dataclass(frozen=True)
class Prefix(TorchExpr):
    """A unary operator of Python: ``-`` or ``~``."""

    sign: Literal["-", "~"]
    operand: TorchExpr


@dataclass(frozen=True)
class Tuple(TorchExpr):
    """A tuple of values: ``(a, b)``."""

    items: tuple[TorchExpr, ...]


@dataclass(frozen=True)
class Item(TorchExpr):
    """The value of a tuple at an index."""

    operand: TorchExpr
    index: int


@dataclass(frozen=True)
class Select(TorchExpr):
    """The slice at position ``index`` along a dimension, which is dropped (``torch.select``)."""

    operand: TorchExpr
    dim: int
    index: int


@dataclass(frozen=True)
class Lookup(TorchExpr):
    """The entries of a table at some indices: ``out[s, a, r] = table[s, index[s, a], r]``.

    ``index`` has the dimensions s, then ``index_rank`` more (a); ``table`` has s, then the one that
    is looked up, then ``trailing_rank`` more (r). s are the dimensions that both share; there may
    be none. Either may have batch axes in front; a batch that both have is part of s. Without s and
    batch, and with one dimension after the one that is looked up, it is ``F.embedding``.
    """

    index: TorchExpr
    table: TorchExpr
    index_rank: int
    trailing_rank: int


@dataclass(frozen=True)
class Scattered(TorchExpr):
    """Sums of numbers into places: ``out[s, index[s, a], r] += values[s, a, r]``, from zeros.

    ``index_rank`` and ``trailing_rank`` are the numbers of dimensions a and r. Either may have
    batch axes in front.
    """

    index: TorchExpr
    values: TorchExpr
    index_rank: int
    trailing_rank: int
    size: int


Group = tuple[Dim, ...]  # dimensions merged into one torch dimension, the last fastest


@dataclass(frozen=True)
class Rearrange(TorchExpr):
    """Dimensions reordered, split or merged, as ``einops.rearrange`` does.

    ``source_dims`` and ``target_dims`` hold the same dimensions; an empty group has size 1. Batch
    axes stay in front, except where it is ``exact``: for a layer that takes just these dimensions.
    """

    operand: TorchExpr
    source_dims: tuple[Group, ...]
    target_dims: tuple[Group, ...]
    exact: bool = False


@dataclass(frozen=True)
class Contract(TorchExpr):
    """The product of arrays, summed over the dimensions that are not in ``target_dims`` "
    "(``einsum``)."""

    args: tuple[TorchExpr, ...]
    source_dims: tuple[Group, ...]  # the dimensions of each argument
    target_dims: Group


@dataclass(frozen=True)
class Align(TorchExpr):
    """A tensor of dimensions ``source_dims``, reshaped to broadcast with one of ``target_dims``.

    ``source_dims`` is a subset of ``target_dims``, in any order; the others get size 1, and leading
    ones are omitted.
    """

    operand: TorchExpr
    source_dims: Group
    target_dims: Group


@dataclass(frozen=True)
class Position(TorchExpr):
    """The positions 0, 1, 2, … along a dimension, shaped to broadcast with ``target_dims``.

    They are whole numbers, on the device of the op's inputs.
    """

    dim: Dim
    target_dims: Group


@dataclass(frozen=True)
class Filled(TorchExpr):
    """Zeros of these dimensions: real numbers on the device of the op's inputs."""

    dims: Group


@dataclass(frozen=True)
class Cast(TorchExpr):
    """A tensor converted to real numbers (of the dtype of the inputs) or whole ones (int64)."""

    operand: TorchExpr
    target_kind: Literal["real", "whole"]


# --- shorthands of ops ---------------------------------------------------------------------------


def groups(array: Array) -> tuple[Group, ...]:
    """Returns every dimension of an array as a group of its own."""
    return tuple((dim,) for dim in array.dims)


def rearrange(
    on: TorchExpr, before: tuple[Group, ...], after: tuple[Group, ...], exact: bool = False
) -> TorchExpr:
    """Rearranges ``before`` to ``after``, merged with a rearrangement just before it.

    Returns the expression itself if nothing changes.
    """
    if isinstance(on, Rearrange) and on.target_dims == before:
        return rearrange(on.operand, on.source_dims, after, exact or on.exact)
    return on if before == after else Rearrange(on, before, after, exact)


def reorder_axes(on: TorchExpr, before: Array, after: Array) -> TorchExpr:
    """Permutes the axes of ``before`` into the order of ``after``."""
    return rearrange(on, groups(before), groups(after))


def merge_axes(on: TorchExpr, rest: Array, own: Array) -> TorchExpr:
    """Merges the last axes ``own``, after those of ``rest``, into one dimension."""
    return rearrange(on, (*groups(rest), *groups(own)), (*groups(rest), own.dims))


def split_axis(on: TorchExpr, rest: Array, own: Array) -> TorchExpr:
    """Splits the last dimension, after the axes ``rest``, into the axes ``own``."""
    return rearrange(on, (*groups(rest), own.dims), (*groups(rest), *groups(own)))


def call(
    function: str, *args: TorchExpr | int | float | bool | str | None, **kwargs: object
) -> Call:
    """Returns a call; arguments that are plain values become constants.

    >>> call("torch.cat", Arg(0), dim=-1).kwargs
    (('dim', Const(value=-1)),)
    """
    named = tuple((name, _expr(value)) for name, value in kwargs.items())
    return Call(function, tuple(map(_expr, args)), named)


def number_or_tuple(value: int | tuple[int, ...]) -> TorchExpr:
    """Returns a number, or a tuple of numbers, as an argument."""
    return _expr(value)


def method(on: TorchExpr, name: str, *args: TorchExpr | int | float | bool | str | None) -> Method:
    """Returns a method call; arguments that are plain values become constants."""
    return Method(on, name, tuple(map(_expr, args)))


def _expr(value: object) -> TorchExpr:
    if isinstance(value, TorchExpr):
        return value
    if isinstance(value, tuple | list):
        return Tuple(tuple(map(_expr, value)))
    assert isinstance(value, int | float | bool | str | None)
    return Const(value)
