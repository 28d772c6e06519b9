"""Axes: the wires of a diagram, each one dimension of a tensor or a spatial group of them.

As text an axis is a name and perhaps a size, ``m:128``; ``~y:20`` is a sequence axis (drawn with a
bar) and ``x:16x16`` a spatial group (drawn bold, as a double wire; two dimensions in torch). A name
that is a number is its size (``"3"``). A label in quotes after the name is drawn in its place
(``c"c_{5-λ}":64``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite, prod

from ncd.lang.errors import ParseError, SizeError, printable, shown
from ncd.lang.once import once

Size = int | tuple[int, ...]
LARGEST = 10**12  # positions along one dimension; torch counts all numbers of an array to 2**63
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
            raise ParseError(f"{shown(self.label)} is no label", cure='a short text such as "3 3"')

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

    @once
    def numel(self) -> int:
        """The number of positions."""
        return prod(self.shape)

    @once
    def size_text(self) -> str:
        """The size as people write it: ``20``, or ``16×16``."""
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
        """The name with the size, such as ``m 128``."""
        if self.size is None or self.name == self.size_text:
            return self.name
        return f"{self.name} {self.size_text}"

    @once
    def identifier(self) -> str:
        """The name as a Python identifier; two names may share one.

        >>> Axis("x/s").identifier, Axis("2c").identifier
        ('x_s', 'n2c')
        """
        name = re.sub(r"\W", "_", self.name)
        return f"n{name}" if name[0].isdigit() else name

    @once
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
                f"{shown(text)} is not an axis", cure="a name such as m, m:128, ~y:20 or x:16x16"
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
        fact = f"{shown(name)} is no name of an axis, which has letters, digits, _ and /"
        raise ParseError(fact, cure=letters or "m")


@lru_cache(maxsize=4096)
def _is_name(text: str) -> bool:
    return _WHOLE_NAME.match(text) is not None


def _is_number(value: object) -> bool:
    return isinstance(value, int) or (isinstance(value, float) and isfinite(value))
