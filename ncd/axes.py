"""Axes, arrays and types: what a wire is, and how it is written.

As text, axes are set apart by spaces and arrays by commas (``"y m, x m"``), as in the documents.
With its size an axis is ``m:128``; ``~y:20`` is a sequence axis (drawn with a bar) and
``x:16x16`` a spatial group (drawn bold, as a double wire, and two dimensions in torch). ``()`` is
an array without axes, a scalar.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from ncd.errors import ParseError, SizeError, shown

Size = int | tuple[int, ...]
LARGEST = 10**12  # positions along one dimension; torch counts all numbers of an array to 2**63

_AXIS = re.compile(
    r"(?P<seq>~?)(?P<name>[^\W_]\w*(?:/\w+)?)(?::(?P<size>-?\d{1,40}(?:x-?\d{1,40})*))?$"
)


@dataclass(frozen=True)
class Axis:
    """One wire: a name, a size (None while it is not bound), and whether it is a sequence.

    >>> Axis("y", 20, sequence=True).spec, Axis("x", (16, 16)).shape, Axis("n_b").size
    ('~y:20', (16, 16), None)

    Raises SizeError for a size that is not a positive whole number.
    """

    name: str
    size: Size | None = None
    sequence: bool = False

    def __post_init__(self) -> None:
        sizes = () if self.size is None else self.shape
        if self.size == ():
            cure = f"{self.name} = space(16, 16)"
            raise SizeError(f"axis {self.name} is a group of no sizes", cure=cure, axis=self.name)
        for size in sizes:
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

    @property
    def shape(self) -> tuple[int, ...]:
        """The torch dimensions of this axis: one, or two for a spatial group."""
        if self.size is None:
            cure = f"Axes({self.identifier}=…) around the term"
            raise SizeError(f"axis {self.name} has no size", cure=cure, axis=self.name)
        return self.size if isinstance(self.size, tuple) else (self.size,)

    @property
    def spatial(self) -> bool:
        return isinstance(self.size, tuple)

    @property
    def numel(self) -> int:
        """How many positions the axis has."""
        return prod(self.shape)

    @property
    def size_text(self) -> str:
        """The size as people write it: ``20``, or ``16×16``.

        >>> Axis("x", (16, 16)).size_text
        '16×16'
        """
        return "×".join(map(str, self.shape))

    @property
    def sized_words(self) -> str:
        return self.name if self.size is None else f"{self.name} {self.size_text}"

    @property
    def identifier(self) -> str:
        """The name as Python and einops accept it.

        >>> Axis("x/s").identifier, Axis("2c").identifier
        ('x_s', 'n2c')
        """
        name = re.sub(r"\W", "_", self.name)
        return f"n{name}" if name[0].isdigit() else name

    @property
    def identifiers(self) -> tuple[str, ...]:
        """One identifier a torch dimension: ``x`` or ``x_h x_w``."""
        if not self.spatial:
            return (self.identifier,)
        letters = "hw" if len(self.shape) == 2 else "tuvwxyz"
        return tuple(f"{self.identifier}_{letters[i]}" for i in range(len(self.shape)))

    @property
    def spec(self) -> str:
        """The text that parses back to this axis."""
        size = "" if self.size is None else ":" + "x".join(map(str, self.shape))
        return f"{'~' if self.sequence else ''}{self.name}{size}"

    def __str__(self) -> str:
        return self.name

    @staticmethod
    def parse(text: str) -> Axis:
        found = _AXIS.match(text)
        if not found:
            raise ParseError(
                f"{shown(text)} is not an axis", cure="a name such as m, m:128, ~y:20 or x:16x16"
            )
        sizes = tuple(map(int, found["size"].split("x"))) if found["size"] else None
        size = sizes[0] if sizes and len(sizes) == 1 else sizes
        return Axis(found["name"], size, bool(found["seq"]))


class Array(tuple[Axis, ...]):
    """A stack of wires: the axes of one tensor, in order.

    >>> str(Array.parse("y m:128")), Array.parse("x:16x16 c:3").shape
    ('y m', (16, 16, 3))
    """

    __slots__ = ()

    @staticmethod
    def parse(text: str) -> Array:
        words = text.split()
        array = Array(() if words == ["()"] else map(Axis.parse, words))
        twice = [name for name in array.names if array.names.count(name) > 1]
        if twice:
            raise ParseError(
                f"axis {twice[0]} stands twice in ({array})", cure=f"{twice[0]}_2 for one of them"
            )
        return array

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(axis.name for axis in self)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(size for axis in self for size in axis.shape)

    @property
    def numel(self) -> int:
        return prod(self.shape)

    @property
    def identifiers(self) -> tuple[str, ...]:
        return tuple(name for axis in self for name in axis.identifiers)

    @property
    def spec(self) -> str:
        return " ".join(axis.spec for axis in self) or "()"

    def dims(self, name: str) -> tuple[int, ...]:
        """The torch dimensions of the axis so named, counted from the end.

        >>> Array.parse("b:2 x:4x4 c:3").dims("x")
        (-3, -2)
        """
        at = self.names.index(name)
        end = -sum(len(axis.shape) for axis in self[at + 1 :])
        return tuple(range(end - len(self[at].shape), end))

    def __str__(self) -> str:
        return " ".join(self.names) or "()"

    def __repr__(self) -> str:
        return f"Array.parse({self.spec!r})"


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
        return tuple(axis for array in self for axis in array)

    @property
    def spec(self) -> str:
        return ", ".join(array.spec for array in self)

    def __str__(self) -> str:
        return ", ".join(map(str, self))

    def __repr__(self) -> str:
        return f"Type.parse({self.spec!r})"


@dataclass(frozen=True)
class Signature:
    """What an op takes and gives: ``"y k h, x k h -> y x h"``.

    >>> Signature.parse("k, k ->").cod
    Type.parse('()')
    """

    dom: Type
    cod: Type

    @staticmethod
    def parse(text: str | Signature) -> Signature:
        if isinstance(text, Signature):
            return text
        left, arrow, right = text.partition("->")
        if not arrow:
            raise ParseError(f"{shown(text)} is not a signature", cure='something like "m -> k h"')
        return Signature(Type.parse(left), Type.parse(right if right.strip() else "()"))

    @property
    def spec(self) -> str:
        return f"{self.dom.spec} -> {self.cod.spec}"

    def __str__(self) -> str:
        return f"{self.dom} -> {self.cod}"


def _is_number(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and abs(value) < float("inf"))


# --- sizes ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Marked:
    """A size that also says what kind of axis it is; made by :func:`seq` and :func:`space`."""

    size: Size
    sequence: bool = False


def seq(size: int) -> Marked:
    """The size of a sequence axis, whose name is drawn with a bar."""
    return Marked(size, sequence=True)


def space(*sizes: int) -> Marked:
    """The sizes of a spatial group such as height × width, drawn as a double wire."""
    return Marked(sizes)


def sized(axis: Axis, sizes: Mapping[str, int | Marked]) -> Axis:
    """The axis with the size that ``sizes`` has for its name, or as it was."""
    value = sizes.get(axis.name)
    if value is None:
        return axis
    mark = value if isinstance(value, Marked) else Marked(value)
    return replace(axis, size=mark.size, sequence=mark.sequence)
