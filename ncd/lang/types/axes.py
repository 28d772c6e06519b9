"""Axes, arrays and types: what a wire is, and how it is written.

As text, axes are set apart by spaces and arrays by commas (``"y m, x m"``), as in the documents.
With its size an axis is ``m:128``; ``~y:20`` is a sequence axis (drawn with a bar) and
``x:16x16`` a spatial group (drawn bold, as a double wire, and two dimensions in torch). A name that
is a number is its size (``"3, 4 2"``). A label in quotes after the name is what the picture shows
in its place (``c"c_{5-λ}":64``). ``()`` is an array without axes, a scalar.

An array holds real numbers, or whole ones below the size of an axis: ``"y#v"`` are numbers from 0
to v - 1 along y, such as token ids; ``"y#2"`` is a mask.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import prod

from ncd.lang.errors import ParseError, SizeError, shown
from ncd.lang.once import once

Size = int | tuple[int, ...]
LARGEST = 10**12  # positions along one dimension; torch counts all numbers of an array to 2**63
DIMENSIONS = 64  # of one array; torch has no more
SHORT = 200  # letters of a text that is worth keeping once it is read

_NAME = r"[^\W_]\w*(?:/\w+)*"
_AXIS = re.compile(
    rf'(?P<seq>~?)(?P<name>{_NAME})(?:"(?P<label>[^"]*)")?'
    r"(?::(?P<size>-?\d{1,40}(?:x-?\d{1,40})*))?$"
)
_WORD = re.compile(r'(?:[^\s"]|"[^"]*"|")+')
_LABEL = re.compile(r'[^"#,>\x00-\x1f\x7f]{1,40}$')


@dataclass(frozen=True)
class Axis:
    """One wire: a name, a size (None while it is not bound), whether it is a sequence, a label.

    >>> Axis("y", 20, sequence=True).spec, Axis("x", (16, 16)).shape, Axis("n_b").size
    ('~y:20', (16, 16), None)

    Raises SizeError for a size that is not a positive whole number, and ParseError for a label
    that could not be written between quotes.
    """

    name: str
    size: Size | None = None
    sequence: bool = False
    label: str = ""

    def __post_init__(self) -> None:
        if self.size is None and self.name.isdecimal():
            object.__setattr__(self, "size", int(self.name[:40]))
        if self.label and not _LABEL.match(self.label):
            raise ParseError(f"{shown(self.label)} is no label", cure='a short text such as "3 3"')
        if self.size is not None:
            self._check_size()

    def _check_size(self) -> None:
        if self.shape == ():
            cure = f"{self.name} = space(16, 16)"
            raise SizeError(f"axis {self.name} is a group of no sizes", cure=cure, axis=self.name)
        if len(self.shape) > 8:
            raise SizeError(
                f"axis {self.name} is a group of {len(self.shape)} dimensions, at most 8 can be",
                cure=f"{self.name} = space(16, 16)",
                axis=self.name,
            )
        for size in self.shape:
            whole = isinstance(size, int) and not isinstance(size, bool)
            if not whole or not 1 <= size <= LARGEST:
                nearest = min(max(1, round(size)), LARGEST) if _is_number(size) else 1
                limits = "1 or more" if not whole or size < 1 else f"at most {LARGEST:,}"
                raise SizeError(
                    f"axis {self.name} has size {shown(size)}, "
                    f"but a size is a whole number, {limits}",
                    cure=f"{self.name} = {nearest}",
                    axis=self.name,
                    nearest=nearest,
                )

    @once
    def shape(self) -> tuple[int, ...]:
        """The torch dimensions of this axis: one, or two for a spatial group."""
        if self.size is None:
            cure = f"Axes({self.identifier}=…) around the term"
            raise SizeError(f"axis {self.name} has no size", cure=cure, axis=self.name)
        return self.size if isinstance(self.size, tuple) else (self.size,)

    @property
    def spatial(self) -> bool:
        return isinstance(self.size, tuple)

    @once
    def numel(self) -> int:
        """How many positions the axis has."""
        return prod(self.shape)

    @once
    def size_text(self) -> str:
        """The size as people write it: ``20``, or ``16×16``.

        >>> Axis("x", (16, 16)).size_text
        '16×16'
        """
        return "×".join(map(str, self.shape))

    @once
    def called(self) -> str:
        """The label, if it says more than the size, else the name.

        >>> Axis("c", 4, label="4").called, Axis("c", 64, label="c_λ").called
        ('c', 'c_λ')
        """
        only_size = self.size is not None and (
            self.label == self.size_text
            or (self.label.isdecimal() and self.size == int(self.label))
        )
        return self.name if only_size or not self.label else self.label

    @property
    def sized_words(self) -> str:
        if self.size is None or self.name == self.size_text:
            return self.name
        return f"{self.name} {self.size_text}"

    @once
    def identifier(self) -> str:
        """The name as Python accepts it; two names may share one.

        >>> Axis("x/s").identifier, Axis("2c").identifier
        ('x_s', 'n2c')
        """
        name = re.sub(r"\W", "_", self.name)
        return f"n{name}" if name[0].isdigit() else name

    @once
    def dims(self) -> tuple[Dim, ...]:
        """The torch dimensions of the axis, each with its name: one, or one a side of a group."""
        if not self.spatial:
            return (Dim(self.name, 0, self.numel),)
        return tuple(Dim(self.name, i + 1, n) for i, n in enumerate(self.shape))

    @property
    def spec(self) -> str:
        """The text that parses back to this axis."""
        known = self.size is None or (self.name.isdecimal() and self.size == int(self.name))
        size = "" if known else ":" + "x".join(map(str, self.shape))
        label = f'"{self.label}"' if self.label else ""
        return f"{'~' if self.sequence else ''}{self.name}{label}{size}"

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash((self.name, self.size))

    @staticmethod
    def parse(text: str) -> Axis:
        found = _AXIS.match(text)
        if not found:
            raise ParseError(
                f"{shown(text)} is not an axis", cure="a name such as m, m:128, ~y:20 or x:16x16"
            )
        sizes = tuple(map(int, found["size"].split("x"))) if found["size"] else None
        size = sizes[0] if sizes and len(sizes) == 1 else sizes
        return Axis(found["name"], size, bool(found["seq"]), found["label"] or "")


@dataclass(frozen=True)
class Dim:
    """One torch dimension: of the axis ``name``, its side ``side`` if it is a group (else 0)."""

    name: str
    side: int
    size: int

    @property
    def key(self) -> tuple[str, int]:
        return self.name, self.side


class Array(tuple[Axis, ...]):
    """A stack of wires: the axes of one tensor, in order; ``below`` bounds its whole numbers.

    >>> str(Array.parse("y m:128")), Array.parse("x:16x16 c:3").shape
    ('y m', (16, 16, 3))
    >>> Array.parse("y:5#v:100").below
    Axis(name='v', size=100, sequence=False, label='')
    """

    below: Axis | None
    names: tuple[str, ...]

    def __new__(cls, axes: Iterable[Axis] = (), below: Axis | None = None) -> Array:
        array = super().__new__(cls, axes)
        array.below = below
        array.names = tuple([axis.name for axis in array])
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
        if isinstance(text, Array):
            return text
        if not isinstance(text, str):
            raise ParseError(f"{shown(text)} is no array", cure='something like "y m"')
        return _array(text) if len(text) <= SHORT else _array.__wrapped__(text)

    @once
    def shape(self) -> tuple[int, ...]:
        return tuple(size for axis in self for size in axis.shape)

    @once
    def numel(self) -> int:
        return prod(self.shape)

    @once
    def sized(self) -> bool:
        """Whether every axis has a size, and what bounds its whole numbers has one."""
        axes = self if self.below is None else (*self, self.below)
        return all(axis.size is not None for axis in axes)

    @once
    def dims(self) -> tuple[Dim, ...]:
        """Every torch dimension, with its name."""
        return tuple(dim for axis in self for dim in axis.dims)

    @property
    def spec(self) -> str:
        axes = " ".join(axis.spec for axis in self) or "()"
        return axes if self.below is None else f"{axes}#{self.below.spec}"

    @property
    def kind(self) -> str:
        """What it holds, in words: real numbers, or whole numbers below a bound."""
        return "real numbers" if self.below is None else f"whole numbers below {self.below.name}"

    def with_axes(self, axes: Iterable[Axis]) -> Array:
        """Other axes, the same kind of numbers."""
        return Array(axes, self.below)

    def position(self, name: str) -> tuple[int, ...]:
        """The torch dimensions of the axis so named, counted from the end.

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
    """Raises ParseError for an array in which an axis stands twice."""
    names = array.names
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise ParseError(
            f"axis {twice} stands twice in ({array})", cure=f"{twice}_2 for one of them"
        )


class Type(tuple[Array, ...]):
    """A tuple of arrays, the domain or codomain of a term.

    >>> str(Type.parse("~y:20 m:128, x m")), Type.parse(""), Type.parse("()")
    ('y m, x m', Type.parse(''), Type.parse('()'))
    """

    __slots__ = ()

    @staticmethod
    def parse(text: str | Type) -> Type:
        if isinstance(text, Type):
            return text
        if not isinstance(text, str):
            raise ParseError(f"{shown(text)} is no type", cure='something like "y m, x m"')
        return Type(map(Array.parse, text.split(","))) if text.strip() else Type()

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of all arrays, and those that bound whole numbers."""
        found: list[Axis] = []
        for array in self:
            found += array if array.below is None else (*array, array.below)
        return tuple(found)

    @property
    def spec(self) -> str:
        return ", ".join(array.spec for array in self)

    def __str__(self) -> str:
        return ", ".join(map(str, self))

    def __repr__(self) -> str:
        return f"Type.parse({self.spec!r})"


@dataclass(frozen=True)
class Signature:
    """What an op takes and gives: ``"y k h, x k h -> y x h"``; nothing on the right is a scalar.

    >>> Signature.parse("k, k ->").cod
    Type.parse('()')
    >>> Signature.parse("-> v m").dom
    Type.parse('')
    """

    dom: Type
    cod: Type

    @staticmethod
    def parse(text: str | Signature) -> Signature:
        if isinstance(text, Signature):
            return text
        if not isinstance(text, str):
            raise ParseError(f"{shown(text)} is no signature", cure='something like "m -> k h"')
        return _signature(text) if len(text) <= SHORT else _signature.__wrapped__(text)

    @property
    def spec(self) -> str:
        return f"{self.dom.spec} -> {self.cod.spec}".strip()

    def __str__(self) -> str:
        return f"{self.dom} -> {self.cod}".strip()


@lru_cache(maxsize=4096)
def _signature(text: str) -> Signature:
    left, arrow, right = text.partition("->")
    if not arrow:
        raise ParseError(f"{shown(text)} is not a signature", cure='something like "m -> k h"')
    return Signature(Type.parse(left), Type.parse(right if right.strip() else "()"))


def _is_number(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and abs(value) < float("inf"))
