"""Errors that say what went wrong, where, which sizes are known, and what would work."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from typing import Any, Protocol

from ncd.words import nearest_name

WORD, CUT = 60, 39  # letters of the longest word in a message, and how many a longer one keeps
MAX_SIZES = 20  # sizes in one message


class SizedAxis(Protocol):
    """An axis as an error message shows it."""

    @property
    def size(self) -> Any: ...

    @property
    def sized_words(self) -> str: ...


def short_repr(value: object) -> str:
    """A value as a message shows it: its repr, cut short where it is long.

    >>> short_repr("m" * 99), short_repr(10**5000)
    ("'mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm…", 'a number of thousands of digits')
    """
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write such a number out
        return "a number of thousands of digits"
    return text if len(text) <= WORD else f"{text[:CUT]}…"


_DIGITS = re.compile(r"Exceeds the limit .*?value has (\d+) digits.*", re.DOTALL)


def plain_message(message: str) -> str:
    """Returns the message of Python or torch, in words for its reader where they are internal.

    >>> import json
    >>> long = "[" + "9" * 5000 + "]"
    >>> try:
    ...     json.loads(long)
    ... except ValueError as error:
    ...     plain_message(str(error))
    'a whole number has 5,000 digits'
    """
    if "null bytes" in message:
        return "a letter of it is NUL, which no text has"
    if "Cannot convert symbols to int" in message:
        return "its numbers must fit as well, and they are not known here"
    return _DIGITS.sub(lambda found: f"a whole number has {int(found[1]):,} digits", message)


def printable(text: str) -> bool:
    r"""Returns whether a name or title can be shown: it prints, or is of letters for private use.

    A page writes sizes that are still to come as letters for private use.

    >>> printable("a b"), printable("a\nb"), printable("a \ue000")
    (True, False, True)
    """
    return all(c.isprintable() or "\ue000" <= c <= "\uf8ff" for c in text)


def printable_line(text: str, most: int) -> str:
    r"""Returns the text as one line that can be printed, of at most ``most`` letters.

    What cannot be printed (a line break, a terminal's escape, a mark that turns the direction of
    writing, half a letter) is written as Python's repr writes it; long words are cut.

    >>> print(printable_line("a\nb \u202ec " + "m" * 99, 100))
    a\nb \u202ec mmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmmm…
    """
    if not text.isprintable():
        text = "".join(c if c.isprintable() else _escape(c) for c in text[: 2 * most])
    if len(text) > WORD:
        text = re.sub(rf"\S{{{WORD + 1},}}", lambda word: f"{word[0][:CUT]}…", text)
    return text if len(text) <= most else f"{text[: most - 2].rpartition(' ')[0]} …"


def _escape(letter: str) -> str:
    return letter.encode("unicode_escape").decode("ascii")


class _BoundedLine:
    """A part of a message, which is kept as a readable line of bounded length."""

    def __init__(self, most: int) -> None:
        self.most = most

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = f"_{name}"

    def __get__(self, error: NCDError, owner: type) -> str:
        text: str = getattr(error, self.name)
        return text

    def __set__(self, error: NCDError, text: str) -> None:
        setattr(error, self.name, printable_line(text, self.most))


class NCDError(ValueError):
    """The base of all errors for bad input, with a message of one line of bounded length.

    Inner code states the fact and the cure; callers that know the op and the axes add them with
    :meth:`at`.

    Args:
        fact: The fault, without a full stop.
        cure: An input that would work, shown after "Try".
        where: The op or field at fault, shown first.
        bound: The axes whose sizes are known.
        axis: The name of the axis (or the field) at fault.
        nearest: The nearest value that would work.

    Source: the errors of einops, which add the pattern and the shapes at the entry point.

    >>> print(NCDError("axis h has size 0", cure="h = 1").with_context(where="Linear Q"))
    Linear Q: axis h has size 0. Try h = 1.
    """

    fact, cure, where, sizes = (
        _BoundedLine(400),
        _BoundedLine(900),
        _BoundedLine(120),
        _BoundedLine(400),
    )

    def __init__(
        self,
        fact: str,
        *,
        cure: str = "",
        where: str = "",
        bound: Iterable[SizedAxis] = (),
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

    def with_context(
        self, *, where: str = "", bound: Iterable[SizedAxis] = (), op: Any = None
    ) -> NCDError:
        """Adds what the caller knows, unless code closer to the fault has set it.

        Args:
            where: The op or field at fault.
            bound: The axes whose sizes are known.
            op: The term at fault.

        Returns:
            The error itself.
        """
        self.where = self.where or where
        self.bound = self.bound or tuple(bound)
        self.op = self.op or op
        return self

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        sizes = list(dict.fromkeys(a.sized_words for a in self.bound if a.size is not None))
        self.sizes = ", ".join([*sizes[:MAX_SIZES], "…"] if len(sizes) > MAX_SIZES else sizes)
        bound = f" Bound so far: {self.sizes}." if sizes else ""
        cure = f" Try {self.cure}." if self.cure else ""
        fact = self.fact.rstrip(".")  # one that torch has written may end with a full stop
        return f"{where}{fact}.{bound}{cure}"


class ParseError(NCDError):
    """Text that cannot be read as a type, signature, formula, field or term.

    >>> from ncd import Axis
    >>> Axis.parse("y m")
    Traceback (most recent call last):
    ncd.errors.ParseError: 'y m' is not an axis. Try a name such as m, m:128, ~y:20 or x:16x16.
    """


class MismatchError(NCDError):
    """Two types that do not fit together.

    >>> from ncd import Equation
    >>> from ncd import Id
    >>> Equation(Id("a"), Id("b"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ncd.errors.MismatchError: Equation: it takes (b), but its type says (a). Try ...
    """


class SizeError(NCDError):
    """A size that is missing, is not a positive whole number, or does not divide or fit.

    >>> from ncd import Axis
    >>> Axis("h").shape
    Traceback (most recent call last):
    ncd.errors.SizeError: axis h has no size. Try Axes(h=…) around the term.
    """


class LookAheadError(NCDError):
    """A term whose positions depend on later ones, so that it cannot be run one by one.

    Args:
        fact: The fault, without a full stop.
        op: The id of the op that looks ahead, in the circuit of the term; empty if it is none.
        wire: The id of the array along which it looks.
        cure: A term that would work.
        where: The name of the op.

    >>> from ncd import decode
    >>> from ncd.ops import Softmax
    >>> try:
    ...     decode(Softmax("t:3"), "t")
    ... except LookAheadError as error:
    ...     error.op_id, error.wire
    ('n0', 'v0')
    """

    def __init__(self, fact: str, *, op: str, wire: str, cure: str = "", where: str = "") -> None:
        super().__init__(fact, cure=cure, where=where)
        self.op_id, self.wire = op, wire


class UnknownNameError(NCDError):
    """A name that is in no catalogue; the message gives the nearest one that is.

    >>> from ncd.language.blocks import check_role
    >>> check_role("linaer", "Block")
    Traceback (most recent call last):
    ncd.errors.UnknownNameError: Block: there is no role 'linaer'. Try linear.
    """


def unknown_name_error(
    what: str, name: object, known: Collection[str], where: str = "", otherwise: str | None = None
) -> UnknownNameError:
    """Returns the error for a name that is not among the known ones.

    ``otherwise`` is the cure where no name is near, and there are too many to list.
    """
    cure = nearest_name(name, known, otherwise) if known else f"no {what}, as there is none"
    return UnknownNameError(f"there is no {what} {short_repr(name)}", cure=cure, where=where)


class LimitError(NCDError):
    """A run, term or text over a limit; the message names the limit, the need and what would fit.

    >>> str(LimitError("the term has more than 50,000 ops", cure="fewer"))
    'the term has more than 50,000 ops. Try fewer.'
    """

    need = limit = 0  # as numbers, where they were counted
