"""Usual sizes for the axes of a text that gives none."""

from __future__ import annotations

from dataclasses import replace

from ncd.lang.circuits.elaborate import Axes
from ncd.lang.errors import SizeError
from ncd.lang.terms.rewrite import axes_in, rewrite
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Axis
from ncd.lang.types.axis_kinds import Marked

USUAL, LONG = 16, 12  # the default sizes of an axis and of a sequence axis
UNSIZED = 50  # the greatest number of axes that are given a default size
SOLVED = 10_000  # ops of a text, times the axes of it that are given one: some seconds


def with_usual_sizes(term: Term) -> tuple[Term, dict[str, Marked], dict[str, Marked]]:
    """Returns a term without sizes, its sizes, and usual ones for axes that cannot be solved for.

    >>> from ncd.text import parse
    >>> _, known, usual = with_usual_sizes(parse('Id("y m:8") >> Linear("m -> k", "W")'))
    >>> [*known], [*usual]
    (['m'], ['y', 'k'])

    Raises SizeError for a term whose sizes do not meet.
    """
    known, usual = _marks(term), dict[str, Marked]()
    bare: Term = rewrite(term, lambda axis: _bare(axis) if axis.name in known else axis)
    for _ in range(min(UNSIZED, 1 + SOLVED // max(1, term.count))):
        try:
            Axes(**known, **usual)(bare)
        except SizeError as error:
            name = error.axis
            found = name in known or name in usual
            if not name.isidentifier() or found or "has no size" not in error.fact:
                raise
            usual[name] = _usual(name, bare)
        else:
            break
    return bare, known, usual


def _marks(term: Term) -> dict[str, Marked]:
    """Returns the size of each axis; names with two different sizes are left out."""
    found: dict[str, Marked] = {}
    twice: set[str] = set()

    for axis in axes_in(term):
        if axis.size is not None and axis.name.isidentifier():
            mark = Marked(axis.size, axis.sequence, axis.label)
            if found.setdefault(axis.name, mark) != mark:
                twice.add(axis.name)
    return {name: mark for name, mark in found.items() if name not in twice}


def _bare(axis: Axis) -> Axis:
    return replace(axis, size=None, sequence=False, label="")


def _usual(name: str, term: Term) -> Marked:
    """Returns a default size for an axis without one."""
    sequences = {axis.name for axis in axes_in(term) if axis.sequence}
    return Marked(LONG, True) if name in sequences else Marked(USUAL)
