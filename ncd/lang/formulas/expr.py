"""Expressions: an op's torch, said once as data.

``ncd.run`` calls them and ``ncd.code`` writes them; neither asks what op it has. An expression
is on the op's inputs (:class:`Arg`); dimensions are counted from the end, so that batch axes may
stand in front of every array. Axes are meant by their :class:`~ncd.lang.types.axes.Dim`, never by
text, so that no two can be taken for one.

An op answers with one expression for each of its outputs, or with a single one that gives them all
at once, as a tuple (``topk``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Literal

from ncd.lang.types.axes import Array, Axis, Dim


class Expr:
    """One node; its parts are expressions, or plain values."""

    def parts(self) -> Iterator[Expr]:
        """The expressions that this one is made of."""
        for name in _names(type(self)):  # type: ignore[arg-type]
            yield from _expressions(getattr(self, name))

    def walk(self) -> Iterator[Expr]:
        """This expression and all within it."""
        yield self
        for part in self.parts():
            yield from part.walk()


@lru_cache
def _names(kind: type[Expr]) -> tuple[str, ...]:
    """The fields of a kind of node that hold expressions, by their types as they are written."""
    return tuple(f.name for f in fields(kind) if "Expr" in str(f.type))  # type: ignore[arg-type]


def _expressions(value: object) -> Iterator[Expr]:
    if isinstance(value, Expr):
        yield value
    elif isinstance(value, tuple):
        for item in value:
            yield from _expressions(item)


@dataclass(frozen=True)
class Arg(Expr):
    """The op's input tensor of this number, from 0."""

    index: int


@dataclass(frozen=True)
class Const(Expr):
    """A number, a truth value, a text or None."""

    value: int | float | bool | str | None


@dataclass(frozen=True)
class Size(Expr):
    """How many positions some axes have together, a whole number; 1 for none.

    In source it is written with the names of the axes: ``k * h``.
    """

    axes: tuple[Axis, ...]


@dataclass(frozen=True)
class Layer(Expr):
    """The op's layer, called."""

    args: tuple[Expr, ...]


@dataclass(frozen=True)
class Weight(Expr):
    """The op's own parameter: a learned array that no layer holds."""


@dataclass(frozen=True)
class Call(Expr):
    """A function by its dotted name: ``torch.cat``, ``F.relu``, ``nn.Linear``, ``math.sqrt``.

    The first word is one of ``torch``, ``F`` (``torch.nn.functional``), ``nn`` and ``math``.
    """

    function: str
    args: tuple[Expr, ...] = ()
    kwargs: tuple[tuple[str, Expr], ...] = ()


@dataclass(frozen=True)
class Method(Expr):
    """A method of a tensor: ``x.softmax(-1)``."""

    on: Expr
    name: str
    args: tuple[Expr, ...] = ()
    kwargs: tuple[tuple[str, Expr], ...] = ()


@dataclass(frozen=True)
class Infix(Expr):
    """Two values and Python's operator between them: ``+ - * / // % ** < <= > >= == != & |``."""

    sign: str
    left: Expr
    right: Expr


@dataclass(frozen=True)
class Prefix(Expr):
    """Python's operator before a value: ``-`` or ``~``."""

    sign: Literal["-", "~"]
    on: Expr


@dataclass(frozen=True)
class Tuple(Expr):
    """Several values as a tuple: ``(a, b)``."""

    items: tuple[Expr, ...]


@dataclass(frozen=True)
class Item(Expr):
    """One of the values of a tuple."""

    on: Expr
    index: int


@dataclass(frozen=True)
class Select(Expr):
    """The position ``index`` along a dimension counted from the end, which then is gone."""

    on: Expr
    dim: int
    index: int


@dataclass(frozen=True)
class Lookup(Expr):
    """The places of a table at some indices: ``out[s, a, r] = table[s, index[s, a], r]``.

    ``index`` has dimensions s, then ``own`` more (a); ``table`` has s, then the one that is looked
    up, then ``rest`` more (r). s are the dimensions that both share, one by one; there may be none.
    Batch axes stand in front of either, of both, or of none: a batch of both is one of s. Without
    s and batch, with one dimension after the one that is looked up, it is ``F.embedding``.
    """

    index: Expr
    table: Expr
    own: int
    rest: int


Group = tuple[Dim, ...]  # the dimensions that one torch dimension stands for, the last fastest


@dataclass(frozen=True)
class Rearrange(Expr):
    """Dimensions in another order, taken apart or put together, as einops' ``rearrange``.

    ``before`` and ``after`` hold the same dimensions; a group of none has size 1. Batch axes stay
    in front.
    """

    on: Expr
    before: tuple[Group, ...]
    after: tuple[Group, ...]


@dataclass(frozen=True)
class Contract(Expr):
    """The product of arrays, summed over the dimensions that ``after`` lacks (``einsum``)."""

    args: tuple[Expr, ...]
    before: tuple[Group, ...]  # for each argument its dimensions
    after: Group


@dataclass(frozen=True)
class Align(Expr):
    """A tensor of dimensions ``before`` made ready to be broadcast with one of ``after``.

    ``before`` are some of ``after``, in any order; the others get size 1, and the ones in front of
    all of ``before`` are left away.
    """

    on: Expr
    before: Group
    after: Group


@dataclass(frozen=True)
class Position(Expr):
    """0, 1, 2, … along a dimension, ready to be broadcast with one of the dimensions ``after``.

    Whole numbers, on the device of what the op is given.
    """

    dim: Dim
    after: Group


@dataclass(frozen=True)
class Filled(Expr):
    """Zeros of these sizes, real numbers on the device of what the op is given."""

    dims: Group


@dataclass(frozen=True)
class Cast(Expr):
    """A tensor of real numbers (of the type of what the op is given), or of whole ones (int64)."""

    on: Expr
    to: Literal["real", "whole"]


# --- what ops say often --------------------------------------------------------------------------


def groups(array: Array) -> tuple[Group, ...]:
    """Every dimension of an array by itself."""
    return tuple((dim,) for dim in array.dims)


def arranged(on: Expr, before: tuple[Group, ...], after: tuple[Group, ...]) -> Expr:
    """The dimensions ``before`` as ``after``, in one step with one before it that fits.

    The expression itself if nothing changes.
    """
    if isinstance(on, Rearrange) and on.after == before:
        return arranged(on.on, on.before, after)
    return on if before == after else Rearrange(on, before, after)


def reordered(on: Expr, before: Array, after: Array) -> Expr:
    """The axes of ``before`` in the order of ``after``."""
    return arranged(on, groups(before), groups(after))


def merged(on: Expr, rest: Array, own: Array) -> Expr:
    """The last axes ``own`` as one dimension, after those of ``rest``."""
    return arranged(on, (*groups(rest), *groups(own)), (*groups(rest), own.dims))


def parted(on: Expr, rest: Array, own: Array) -> Expr:
    """The last dimension as the axes ``own``, after those of ``rest``."""
    return arranged(on, (*groups(rest), own.dims), (*groups(rest), *groups(own)))


def call(function: str, *args: Expr | int | float | bool | str | None, **kwargs: object) -> Call:
    """A call whose plain arguments are constants.

    >>> call("torch.cat", Arg(0), dim=-1).kwargs
    (('dim', Const(value=-1)),)
    """
    named = tuple((name, _expr(value)) for name, value in kwargs.items())
    return Call(function, tuple(map(_expr, args)), named)


def method(on: Expr, name: str, *args: Expr | int | float | bool | str | None) -> Method:
    """A method whose plain arguments are constants."""
    return Method(on, name, tuple(map(_expr, args)))


def _expr(value: object) -> Expr:
    if isinstance(value, Expr):
        return value
    if isinstance(value, tuple | list):
        return Tuple(tuple(map(_expr, value)))
    assert value is None or isinstance(value, int | float | bool | str)
    return Const(value)
