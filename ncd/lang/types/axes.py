"""Arrays and types: tuples of axes, tuples of arrays, and how they are written.

As text, axes are separated by spaces and arrays by commas (``"y m, x m"``). ``()`` is an array
without axes, a scalar. Axes themselves are in :mod:`ncd.lang.types.axis`.

An array holds real numbers, or whole numbers below the size of an axis: ``"y#v"`` are numbers from
0 to v - 1 along y, such as token ids; ``"y#2"`` is a mask.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from ncd.lang.errors import ParseError, shown
from ncd.lang.once import once
from ncd.lang.types.axis import Axis as Axis
from ncd.lang.types.axis import Dim as Dim
from ncd.lang.types.axis import Size as Size

DIMENSIONS = 64  # of one array; torch has no more
SHORT = 200  # letters of a text whose parsed value is cached

_WORD = re.compile(r'(?:[^\s"]|"[^"]*"|")+')


class Array(tuple[Axis, ...]):
    """The axes of one tensor, in order; a stack of wires in a diagram.

    Args:
        axes: The axes.
        below: For whole numbers the axis whose size they are below; None for real numbers.

    Source: Notebook, section 2.3.

    >>> str(Array.parse("y m:128")), Array.parse("x:16x16 c:3").shape
    ('y m', (16, 16, 3))
    >>> Array.parse("y:5#v:100").below
    Axis(name='v', size=100, sequence=False, label='')
    """

    below: Axis | None
    names: tuple[str, ...]

    def __new__(cls, axes: Iterable[Axis] = (), below: Axis | None = None) -> Array:
        try:
            array = super().__new__(cls, axes)
            array.names = tuple([axis.name for axis in array])
        except (TypeError, AttributeError):
            if isinstance(axes, Iterable) and not isinstance(axes, Collection):
                raise  # an error of what yields the axes
            raise _no_axes(axes) from None
        if below is not None and not isinstance(below, Axis):
            raise _no_axes(below)
        array.below = below
        return array

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Array) and self.below != other.below:
            return False
        return tuple.__eq__(self, other) if isinstance(other, tuple) else NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __reduce__(self) -> tuple[object, ...]:
        return Array, (tuple(self), self.below)

    @staticmethod
    def parse(text: str | Array) -> Array:
        """Returns the array of a text such as ``"y m:128"``; raises ParseError."""
        if isinstance(text, Array):
            return text
        if not isinstance(text, str):
            raise ParseError(f"{shown(text)} is no array", cure='something like "y m"')
        return _array(text) if len(text) <= SHORT else _array.__wrapped__(text)

    @once
    def shape(self) -> tuple[int, ...]:
        """The sizes of all torch dimensions."""
        return tuple(size for axis in self for size in axis.shape)

    @once
    def numel(self) -> int:
        """The number of numbers that it holds."""
        return prod(self.shape)

    @once
    def sized(self) -> bool:
        """Returns whether every axis has a size, and so has the bound of its whole numbers."""
        axes = self if self.below is None else (*self, self.below)
        return all(axis.size is not None for axis in axes)

    @once
    def dims(self) -> tuple[Dim, ...]:
        """All torch dimensions, each with its name."""
        return tuple(dim for axis in self for dim in axis.dims)

    @property
    def spec(self) -> str:
        """The text that parses back to this array."""
        axes = " ".join(axis.spec for axis in self) or "()"
        return axes if self.below is None else f"{axes}#{self.below.spec}"

    @property
    def kind(self) -> str:
        """The kind of its numbers in words: real, or whole below a bound."""
        return "real numbers" if self.below is None else f"whole numbers below {self.below.name}"

    def with_axes(self, axes: Iterable[Axis]) -> Array:
        """Returns an array of these axes with the same kind of numbers."""
        return Array(axes, self.below)

    def position(self, name: str) -> tuple[int, ...]:
        """Returns the torch dimensions of the axis of this name, counted from the end.

        Raises ValueError if there is none.

        >>> Array.parse("b:2 x:4x4 c:3").position("x")
        (-3, -2)
        """
        at = self.names.index(name)
        end = -sum(len(axis.shape) for axis in self[at + 1 :])
        return tuple(range(end - len(self[at].shape), end))

    def __str__(self) -> str:
        axes = " ".join(self.names) or "()"
        return axes if self.below is None else f"{axes}#{self.below.name}"

    def __repr__(self) -> str:
        return f"Array.parse({self.spec!r})"


def _no_axes(value: object) -> ParseError:
    return ParseError(f"{shown(value)} is no axes of an array", cure='Array.parse("y m")')


NO_AXES = Array()


@lru_cache(maxsize=4096)
def _array(text: str) -> Array:
    axes, sign, bound = text.partition("#")
    words = _WORD.findall(axes)
    below = Axis.parse(bound.strip()) if sign else None
    array = Array(() if words == ["()"] else map(Axis.parse, words), below)
    check_once(array)
    if len(array) > DIMENSIONS:
        raise ParseError(f"an array has at most {DIMENSIONS} axes", cure="fewer axes")
    return array


def check_once(array: Array) -> None:
    """Raises ParseError for an array that names an axis twice."""
    names = array.names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ParseError(
            f"axis {twice} stands twice in ({array})", cure=f"{twice}_2 for one of them"
        )


def _no_arrays(value: object) -> ParseError:
    return ParseError(f"{shown(value)} is no arrays of a type", cure='Type.parse("y m, x m")')


class Type(tuple[Array, ...]):
    """A tuple of arrays, the domain or codomain of a term.

    Args:
        arrays: The arrays.

    Raises:
        ParseError: For what is no arrays.

    Source: Notebook, section 2.3.

    >>> str(Type.parse("~y:20 m:128, x m")), Type.parse(""), Type.parse("()")
    ('y m, x m', Type.parse(''), Type.parse('()'))
    """

    __slots__ = ()

    def __new__(cls, arrays: Iterable[Array] = ()) -> Type:
        if not isinstance(arrays, Iterable):
            raise _no_arrays(arrays)
        made = super().__new__(cls, arrays)
        if not all(isinstance(array, Array) for array in made):
            raise _no_arrays(arrays)
        return made

    @staticmethod
    def parse(text: str | Type) -> Type:
        """Returns the type of a text such as ``"y m, x m"``; raises ParseError."""
        if isinstance(text, Type):
            return text
        if not isinstance(text, str):
            raise ParseError(f"{shown(text)} is no type", cure='something like "y m, x m"')
        return Type(map(Array.parse, text.split(","))) if text.strip() else Type()

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of all arrays, and those that bound whole numbers."""
        axes: list[Axis] = []
        for array in self:
            axes += array if array.below is None else (*array, array.below)
        return tuple(axes)

    @property
    def spec(self) -> str:
        """The text that parses back to this type."""
        return ", ".join(array.spec for array in self)

    def __str__(self) -> str:
        return ", ".join(map(str, self))

    def __repr__(self) -> str:
        return f"Type.parse({self.spec!r})"


@dataclass(frozen=True)
class Signature:
    """The type of an op: the arrays that it takes and gives, ``"y k h, x k h -> y x h"``.

    As text, nothing on the left of the arrow is no array, nothing on the right a scalar.

    Args:
        dom: The arrays that it takes.
        cod: The arrays that it gives.

    Source: einops and ``torch.einsum``, whose patterns it follows, with spaces between the axes.

    >>> Signature.parse("k, k ->").cod
    Type.parse('()')
    >>> Signature.parse("-> v m").dom
    Type.parse('')
    """

    dom: Type
    cod: Type

    def __post_init__(self) -> None:
        for side in (self.dom, self.cod):
            if not isinstance(side, Type):
                raise _no_arrays(side)

    @staticmethod
    def parse(text: str | Signature) -> Signature:
        """Returns the signature of a text such as ``"m -> k h"``; raises ParseError."""
        if isinstance(text, Signature):
            return text
        if not isinstance(text, str):
            raise ParseError(f"{shown(text)} is no signature", cure='something like "m -> k h"')
        return _signature(text) if len(text) <= SHORT else _signature.__wrapped__(text)

    @property
    def spec(self) -> str:
        """The text that parses back to this signature."""
        return f"{self.dom.spec} -> {self.cod.spec}".strip()

    def __str__(self) -> str:
        return f"{self.dom} -> {self.cod}".strip()


@lru_cache(maxsize=4096)
def _signature(text: str) -> Signature:
    left, arrow, right = text.partition("->")
    if not arrow:
        raise ParseError(f"{shown(text)} is not a signature", cure='something like "m -> k h"')
    return Signature(Type.parse(left), Type.parse(right if right.strip() else "()"))
