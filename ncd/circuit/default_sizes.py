"""Usual sizes for the axes of a term that gives none."""

from __future__ import annotations

from dataclasses import replace

from ncd.circuit.elaborate import Axes
from ncd.errors import SizeError
from ncd.language.axes import Axis, SizeWithKind
from ncd.language.terms import Term, axes_in, rewrite_axes

USUAL, LONG = 16, 12  # the default sizes of an axis and of a sequence axis
MAX_DEFAULT_SIZES = 50  # the greatest number of axes that are given a default size
SOLVING_BUDGET = 10_000  # ops of a text, times the axes of it that are given one: some seconds


def with_usual_sizes(term: Term) -> tuple[Term, dict[str, SizeWithKind], dict[str, SizeWithKind]]:
    """Returns a term without sizes, its sizes, and usual ones for axes that cannot be solved for.

    >>> from ncd import parse
    >>> _, known, usual = with_usual_sizes(parse('Id("y m:8") >> Linear("m -> k", "W")'))
    >>> [*known], [*usual]
    (['m'], ['y', 'k'])

    Raises SizeError for a term whose sizes do not meet.
    """
    known, usual = _marks(term), dict[str, SizeWithKind]()
    bare: Term = rewrite_axes(
        term, lambda axis: _unsized_axis(axis) if axis.name in known else axis
    )
    for _ in range(min(MAX_DEFAULT_SIZES, 1 + SOLVING_BUDGET // max(1, term.count))):
        try:
            Axes(**known, **usual)(bare)
        except SizeError as error:
            name = error.axis
            found = name in known or name in usual
            if not name.isidentifier() or found or "has no size" not in error.fact:
                raise
            usual[name] = _default_size(name, bare)
        else:
            break
    return bare, known, usual


def _marks(term: Term) -> dict[str, SizeWithKind]:
    """Returns the size of each axis; names with two different sizes are left out."""
    found: dict[str, SizeWithKind] = {}
    twice: set[str] = set()

    for axis in axes_in(term):
        if axis.size is not None and axis.name.isidentifier():
            mark = SizeWithKind(axis.size, axis.sequence, axis.label)
            if found.setdefault(axis.name, mark) != mark:
                twice.add(axis.name)
    return {name: mark for name, mark in found.items() if name not in twice}


def _unsized_axis(axis: Axis) -> Axis:
    return replace(axis, size=None, sequence=False, label="")


def _default_size(name: str, term: Term) -> SizeWithKind:
    """Returns a default size for an axis without one."""
    sequences = {axis.name for axis in axes_in(term) if axis.sequence}
    return SizeWithKind(LONG, True) if name in sequences else SizeWithKind(USUAL)
