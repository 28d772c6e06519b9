"""One family of errors: what went wrong, where, what is bound so far, and what would work."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol


class Sized(Protocol):
    """What an error tells of an axis."""

    @property
    def size(self) -> Any: ...

    @property
    def sized_words(self) -> str: ...


def shown(value: object) -> str:
    """A value as a message shows it: its repr, cut short where it is long.

    >>> shown("m" * 99), shown(10**5000)
    ("'mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm…", 'a number of thousands of digits')
    """
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write such a number out
        return "a number of thousands of digits"
    return text if len(text) <= 60 else f"{text[:39]}…"


class NCDError(ValueError):
    """A clear refusal.

    Inner code states the fact and the cure; whoever knows the op and the axes adds them with
    :meth:`at`. The message is always one line, so that a page and a terminal can both show it.

    >>> print(NCDError("axis h has size 0", cure="h = 1").at(where="Linear Q"))
    Linear Q: axis h has size 0. Try h = 1.
    """

    def __init__(
        self,
        fact: str,
        *,
        cure: str = "",
        where: str = "",
        bound: Iterable[Sized] = (),
        axis: str = "",
        nearest: int | None = None,
    ) -> None:
        super().__init__(fact)
        self.fact = fact
        self.cure = cure
        self.where = where
        self.bound = tuple(bound)
        self.axis, self.nearest = axis, nearest
        self.op: Any = None  # the term at which it failed
        self.sketch: Any = None  # the whole term, which can still be drawn

    def at(self, *, where: str = "", bound: Iterable[Sized] = (), op: Any = None) -> NCDError:
        """Adds what the caller knows; what is there already stays, being closer to the fault."""
        self.where = self.where or where
        self.bound = self.bound or tuple(bound)
        self.op = self.op or op
        return self

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        sizes = dict.fromkeys(axis.sized_words for axis in self.bound if axis.size is not None)
        bound = f" Bound so far: {', '.join(sizes)}." if sizes else ""
        cure = f" Try {self.cure}." if self.cure else ""
        return f"{where}{self.fact}.{bound}{cure}"


class ParseError(NCDError):
    """Text that is not a type, a signature or a term."""


class MismatchError(NCDError):
    """Two types that do not meet."""


class SizeError(NCDError):
    """A size that is missing, not a positive whole number, or does not divide or fit."""


class UnknownNameError(NCDError):
    """A name that is in no catalogue, with the names that are."""


class LimitError(NCDError):
    """A run over the limit; it names the limit, the need, and the nearest setting that fits."""

    need = limit = 0  # in numbers, where they were counted
