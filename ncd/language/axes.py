"""Axes and their kinds, arrays, types and signatures, and how they are written.

As text an axis is a name and perhaps a size, ``m:128``; ``~y:20`` is a sequence axis (drawn with a
bar) and ``x:16x16`` a spatial group (drawn bold, as a double wire; two dimensions in torch). A name
that is a number is its size (``"3"``). A label in quotes after the name is drawn in its place
(``c"c_{5-λ}":64``).

As text, axes are separated by spaces and arrays by commas (``"y m, x m"``). ``()`` is an array
without axes, a scalar. Axes themselves are in :mod:`ncd.language.axes`.

An array holds real numbers, or whole numbers below the size of an axis: ``"y#v"`` are numbers from
0 to v - 1 along y, such as token ids; ``"y#2"`` is a mask.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from math import isfinite, prod

from ncd.errors import ParseError, SizeError, printable, short_repr
from ncd.language.cached_property import lazy_property

# --- Axes: the wires of a diagram, each one dimension of a tensor or a spatial group of them

Size = int | tuple[int, ...]
MAX_SIZE = 10**12  # positions along one dimension; torch counts all numbers of an array to 2**63
SIDES = 8  # dimensions of a spatial group

_NAME = r"[^\W_]\w*(?:/\w+)*"
_AXIS = re.compile(
    rf'(?P<seq>~?)(?P<name>{_NAME})(?:"(?P<label>[^"]*)")?'
    r"(?::(?P<size>-?\d{1,40}(?:x-?\d{1,40})*))?$"
)
_WHOLE_NAME = re.compile(rf"{_NAME}\Z")
_LABEL = re.compile(r'[^"#,>\x00-\x1f\x7f]{1,40}$')


@dataclass(frozen=True)
class Axis:
    """One named dimension of an array, or a spatial group of dimensions; a wire in a diagram.

    Args:
        name: The name, as in the paper; a name that is a number is its size as well.
        size: How many positions there are; a tuple for a spatial group such as (16, 16); None
            while it is not known.
        sequence: Whether it is a sequence axis, whose name is drawn with a bar.
        label: The text that is drawn in place of the name, in the mathematics of labels.

    Raises:
        SizeError: For a size that is not a positive whole number, at most 10**12.
        ParseError: For a name or a label that no text could hold, such as ``"a,b"``.

    Source: Notebook, section 2.3; bars as in figure 20, double wires as in figure 27.

    >>> Axis("y", 20, sequence=True).spec, Axis("x", (16, 16)).shape, Axis("n_b").size
    ('~y:20', (16, 16), None)
    """

    name: str
    size: Size | None = None
    sequence: bool = False
    label: str = ""

    def __post_init__(self) -> None:
        _check_name(self.name)
        if self.size is None and self.name.isdecimal():
            object.__setattr__(self, "size", int(self.name[:40]))
        if not isinstance(self.label, str) or self.label:
            self._check_label()
        if self.size is not None:
            self._check_size()

    def _check_label(self) -> None:
        text = isinstance(self.label, str) and printable(self.label)
        if not (text and _LABEL.match(self.label)):
            raise ParseError(
                f"{short_repr(self.label)} is no label", cure='a short text such as "3 3"'
            )

    def _check_size(self) -> None:
        n = len(self.shape)
        if not 1 <= n <= SIDES:
            sides = f"{n} dimensions, at most {SIDES} can be" if n else "no sizes"
            raise SizeError(
                f"axis {self.name} is a group of {sides}",
                cure=f"{self.name} = space(16, 16)",
                axis=self.name,
            )
        for size in self.shape:
            whole = isinstance(size, int) and not isinstance(size, bool)
            if not whole or not 1 <= size <= MAX_SIZE:
                nearest = min(max(1, round(size)), MAX_SIZE) if _is_number(size) else 1
                limits = "1 or more" if not whole or size < 1 else f"at most {MAX_SIZE:,}"
                raise SizeError(
                    f"axis {self.name} has size {short_repr(size)}, "
                    f"but a size is a whole number, {limits}",
                    cure=f"{self.name} = {nearest}",
                    axis=self.name,
                    nearest=nearest,
                )

    @lazy_property
    def shape(self) -> tuple[int, ...]:
        """The sizes of its torch dimensions: one, or one for each side of a group.

        Raises SizeError if the size is not known.
        """
        if self.size is None:
            cure = f"Axes({self.identifier}=…) around the term"
            raise SizeError(f"axis {self.name} has no size", cure=cure, axis=self.name)
        return self.size if isinstance(self.size, tuple) else (self.size,)

    @property
    def spatial(self) -> bool:
        """Returns whether it is a spatial group."""
        return isinstance(self.size, tuple)

    @lazy_property
    def numel(self) -> int:
        """The number of positions."""
        return prod(self.shape)

    @lazy_property
    def size_text(self) -> str:
        """The size as people write it: ``20``, or ``16×16``."""
        return "×".join(map(str, self.shape))

    @lazy_property
    def display_name(self) -> str:
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
        """The name with the size, such as ``m 128``."""
        if self.size is None or self.name == self.size_text:
            return self.name
        return f"{self.name} {self.size_text}"

    @lazy_property
    def identifier(self) -> str:
        """The name as a Python identifier; two names may share one.

        >>> Axis("x/s").identifier, Axis("2c").identifier
        ('x_s', 'n2c')
        """
        name = re.sub(r"\W", "_", self.name)
        return f"n{name}" if name[0].isdigit() else name

    @lazy_property
    def dims(self) -> tuple[Dim, ...]:
        """The torch dimensions of the axis, each with its name."""
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
        """Returns the axis of a text such as ``~y:20``; raises ParseError."""
        found = _AXIS.match(text) if isinstance(text, str) else None
        if not found:
            raise ParseError(
                f"{short_repr(text)} is not an axis",
                cure="a name such as m, m:128, ~y:20 or x:16x16",
            )
        sizes = tuple(map(int, found["size"].split("x"))) if found["size"] else None
        size = sizes[0] if sizes and len(sizes) == 1 else sizes
        return Axis(found["name"], size, bool(found["seq"]), found["label"] or "")


@dataclass(frozen=True)
class Dim:
    """One torch dimension: side ``side`` of the group ``name``, or side 0 of a plain axis."""

    name: str
    side: int
    size: int

    @property
    def key(self) -> tuple[str, int]:
        """The name and the side, without the size."""
        return self.name, self.side


def _check_name(name: object) -> None:
    """Raises ParseError for a name that a text, and so JSON, could not hold."""
    if not isinstance(name, str) or not _is_name(name):
        letters = re.sub(r"\W+", "_", str(name)[:40]).strip("_")
        fact = f"{short_repr(name)} is no name of an axis, which has letters, digits, _ and /"
        raise ParseError(fact, cure=letters or "m")


def unused_name(name: str, taken: Container[str]) -> str:
    """Returns the name, with as many ``_`` behind it as make it one that is not taken.

    >>> unused_name("flat", {"flat", "flat_"})
    'flat__'
    """
    while name in taken:
        name += "_"
    return name


@lru_cache(maxsize=4096)
def _is_name(text: str) -> bool:
    return _WHOLE_NAME.match(text) is not None


def _is_number(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and isfinite(value))


# --- Arrays and types: tuples of axes, tuples of arrays, and how they are written

MAX_DIMENSIONS = 64  # of one array; torch has no more
CACHED_TEXT_LENGTH = 200  # letters of a text whose parsed value is cached

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
            raise ParseError(f"{short_repr(text)} is no array", cure='something like "y m"')
        return _array(text) if len(text) <= CACHED_TEXT_LENGTH else _array.__wrapped__(text)

    @lazy_property
    def shape(self) -> tuple[int, ...]:
        """The sizes of all torch dimensions."""
        return tuple(size for axis in self for size in axis.shape)

    @lazy_property
    def numel(self) -> int:
        """The number of numbers that it holds."""
        return prod(self.shape)

    @lazy_property
    def has_all_sizes(self) -> bool:
        """Returns whether every axis has a size, and so has the bound of its whole numbers."""
        axes = self if self.below is None else (*self, self.below)
        return all(axis.size is not None for axis in axes)

    @lazy_property
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
    return ParseError(f"{short_repr(value)} is no axes of an array", cure='Array.parse("y m")')


NO_AXES = Array()


@lru_cache(maxsize=4096)
def _array(text: str) -> Array:
    axes, sign, bound = text.partition("#")
    words = _WORD.findall(axes)
    below = Axis.parse(bound.strip()) if sign else None
    array = Array(() if words == ["()"] else map(Axis.parse, words), below)
    check_once(array)
    if len(array) > MAX_DIMENSIONS:
        raise ParseError(f"an array has at most {MAX_DIMENSIONS} axes", cure="fewer axes")
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
    return ParseError(f"{short_repr(value)} is no arrays of a type", cure='Type.parse("y m, x m")')


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
            raise ParseError(f"{short_repr(text)} is no type", cure='something like "y m, x m"')
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
            raise ParseError(
                f"{short_repr(text)} is no signature", cure='something like "m -> k h"'
            )
        return _signature(text) if len(text) <= CACHED_TEXT_LENGTH else _signature.__wrapped__(text)

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
        raise ParseError(f"{short_repr(text)} is not a signature", cure='something like "m -> k h"')
    return Signature(Type.parse(left), Type.parse(right if right.strip() else "()"))


# --- Sizes with a kind of axis: a sequence, a spatial group, a plain axis with a label


@dataclass(frozen=True)
class SizeWithKind:
    """A size with a kind of axis; made by :func:`seq`, :func:`space` and :func:`plain`.

    ``size`` may be text: a formula of other sizes such as ``"k*h"``.
    """

    size: Size | str
    sequence: bool = False
    label: str = ""


AxisSize = int | str | SizeWithKind  # as a caller writes it


def seq(size: int | str, label: str = "") -> SizeWithKind:
    """Returns the size of a sequence axis, whose name is drawn with a bar.

    Args:
        size: How many positions there are, or a formula of other sizes.
        label: The text that is drawn in place of the name.

    Source: Notebook, figure 20.

    >>> from ncd import Axes
    >>> from ncd import Id
    >>> Axes(y=seq(20), m=8)(Id("y m"))
    Id('~y:20 m:8')
    """
    return SizeWithKind(size, sequence=True, label=label)


def space(*sizes: int, label: str = "") -> SizeWithKind:
    """Returns the sizes of a spatial group such as height × width, drawn as a double wire.

    Args:
        sizes: The number of positions along each dimension, one to eight.
        label: The text that is drawn in place of the name.

    Source: Notebook, figures 26 to 28.

    >>> from ncd import Axes
    >>> from ncd import Id
    >>> Axes(x=space(28, 28), c=3)(Id("c x"))
    Id('c:3 x:28x28')
    """
    return SizeWithKind(sizes, label=label)


def plain(size: int | str, label: str = "") -> SizeWithKind:
    """Returns the size of a plain axis that is drawn with a label of its own.

    Args:
        size: How many positions there are, or a formula of other sizes.
        label: The text that is drawn in place of the name, such as ``c_λ``.

    Source: Notebook, figure 27, whose channels are labelled ``c_{i-λ}``.

    >>> from ncd import Axes
    >>> from ncd import Id
    >>> Axes(c=plain(64, "c_λ"))(Id("c"))
    Id('c"c_λ":64')
    """
    return SizeWithKind(size, label=label)


def with_size(axis: Axis, sizes: Mapping[str, AxisSize]) -> Axis:
    """Returns the axis with the size and kind that ``sizes`` has for its name, or unchanged.

    A size that is a formula stays unknown here; the solver evaluates it.
    """
    value = sizes.get(axis.name)
    if value is None:
        return axis
    mark = value if isinstance(value, SizeWithKind) else SizeWithKind(value)
    size = axis.size if isinstance(mark.size, str) else mark.size
    return replace(axis, size=size, sequence=mark.sequence, label=mark.label or axis.label)
