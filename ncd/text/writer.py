"""Writes a term as text over several lines, which :func:`ncd.parse` reads back."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from ncd.lang.errors import NCDError, unknown
from ncd.lang.terms.arguments import check_term
from ncd.lang.terms.rewrite import axes_in, rewrite
from ncd.lang.terms.terms import Beside, Term, Then
from ncd.lang.types.axes import Axis
from ncd.text.line_writer import bare, definition
from ncd.text.reader import parse
from ncd.text.term_fields import arguments

WIDTH = 88  # letters of a line
STEP = "    "


NOTATIONS = ("pipes", "lines")


def spell(term: Term, notation: str = "pipes") -> str:
    """Returns a term as readable text, its sizes in front.

    ``ncd.parse(ncd.spell(term)) == term``. With ``"lines"`` each array has a name, as in
    :func:`ncd.define`; read back, the term has the same ops on the same arrays, and wires of its
    own.

    Args:
        term: The term.
        notation: ``"pipes"``, with ``>>`` and ``@``, or ``"lines"``.

    Raises:
        ParseError: For something that is no term.
        UnknownNameError: For another notation.

    Source: this project's own notation.

    >>> from ncd.ops import Linear
    >>> print(spell(Linear("~y:20 m:128 -> ~y:20 k:16", "Q")))
    Axes(y=seq(20), m=128, k=16)(
        Linear('y m -> y k', 'Q')
    )
    """
    check_term(term, "spell")
    if notation not in NOTATIONS:
        raise unknown("notation", notation, NOTATIONS)
    if notation == "lines":
        return definition(term, _sizes(term))
    sizes = _sizes(term)
    if sizes is not None:
        names = ", ".join(f"{name}={size}" for name, size in sizes.items())
        inner = rewrite(term, lambda axis: bare(axis, sizes))
        if _same(f"Axes({names})({inner!r})", term):
            return f"Axes({names})(\n{STEP}{_text(inner, 1)}\n)"
    text = _text(term, 0)
    return (
        f"(\n{STEP}{_text(term, 1)}\n)"
        if isinstance(term, Then | Beside) and "\n" in text
        else text
    )


def _sizes(term: Term) -> dict[str, str] | None:
    """Returns the size of each axis as text; None if that is ambiguous or not a Python name."""
    found: dict[str, Axis] = {}
    for axis in axes_in(term):
        if axis.size is None or axis.name.isdecimal():
            continue
        if not axis.name.isidentifier() or found.setdefault(axis.name, axis) != axis:
            return None
    return {name: _size(axis) for name, axis in found.items()} or None


def _size(axis: Axis) -> str:
    """Returns a size as an argument of ``Axes``."""
    label = f", {axis.label!r}" if axis.label else ""
    if isinstance(axis.size, tuple):
        label = label.replace(", ", ", label=", 1)
        return f"space({', '.join(map(str, axis.size))}{label})"
    if axis.sequence:
        return f"seq({axis.size}{label})"
    return f"plain({axis.size}{label})" if label else str(axis.size)


def _same(text: str, term: Term) -> bool:
    """Returns whether a text is read as this term."""
    try:
        return parse(text) == term
    except NCDError:
        return False


def _text(term: Term, depth: int) -> str:
    """Returns a term as text, over several lines if it is long; the first is not indented."""
    line = repr(term)
    if len(line) + len(STEP) * depth <= WIDTH:
        return line
    pad = "\n" + STEP * depth
    if isinstance(term, Then):
        return f"{pad}>> ".join(_part(step, depth, Beside) for step in term.steps)
    if isinstance(term, Beside):
        return f"{pad}@ ".join(_part(part, depth, Then) for part in term.parts)
    words = list(_words(term, depth + 1))
    if not any("\n" in word for word in words) and not term.children:
        return line
    return f"{type(term).__name__}({''.join(f'{pad}{STEP}{word},' for word in words)}{pad})"


def _part(term: Term, depth: int, loose: type[Term]) -> str:
    """Returns a part of a chain, in brackets where they are needed."""
    if not isinstance(term, loose) or loose is Beside:
        return _text(term, depth)
    inner = STEP * (depth + 1)
    return f"(\n{inner}{_text(term, depth + 1)}\n{STEP * depth})"


def _words(term: Term, depth: int) -> Iterator[str]:
    """Yields the arguments of a term as text."""
    return arguments(term, partial(_text, depth=depth), partial(_several, depth=depth))


def _several(terms: tuple[Term, ...], depth: int) -> str:
    """Returns several terms as a tuple; equal ones are written once."""
    times = f" * {len(terms)}" if len(terms) > 1 and len(set(terms)) == 1 else ""
    shown = terms[:1] if times else terms
    parts = "".join(f"\n{STEP * (depth + 1)}{_text(one, depth + 1)}," for one in shown)
    return f"({parts}\n{STEP * depth}){times}"
