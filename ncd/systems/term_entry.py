"""A term of the user's own as an entry, with a knob for each of its sizes."""

from __future__ import annotations

import re
from dataclasses import replace
from math import prod

from ncd.circuit.default_sizes import with_usual_sizes
from ncd.circuit.elaborate import Axes, elaborate, needed_sizes
from ncd.circuit.knob import Knob
from ncd.errors import NCDError
from ncd.language.axes import Axis, SizeWithKind
from ncd.language.terms import Term
from ncd.systems.catalogue_entry import Entry

MAX_SLIDER_SIZE = 10**6  # larger sizes get no slider


def visitor_system_name(title: str) -> str:
    """Returns the name of an own system, as in addresses; the catalogue has none like it.

    >>> visitor_system_name("Small Net_2")
    'own-small-net-2'
    """
    return f"own-{re.sub('[^a-z0-9]+', '-', title.lower())}".strip("-")


def term_entry(
    term: Term,
    name: str,
    title: str,
    source: str,
    text: str = "",
    *,
    independent_only: bool = False,
) -> Entry:
    """Returns the entry of a term, with a knob for each size that a slider can move.

    Args:
        term: The system.
        name: Its name, as in addresses.
        title: Its title.
        source: Where it comes from, such as a file.
        text: The text that it was read from.
        independent_only: Whether sizes that follow from others get no knob, as of a module.

    Raises:
        SizeError: If sizes of the term do not meet.

    Source: this project.

    >>> from ncd import parse
    >>> term = parse("Id('~y:5 m:8') >> Linear('m -> k', 'W')")
    >>> entry = term_entry(term, "net", "Net", "net.ncd")
    >>> [(knob.name, knob.default) for knob in entry.knobs], str(entry.build(m=3).dom.spec)
    ([('y', 5), ('m', 8), ('k', 16)], '~y:5 m:3')
    """
    bare, known, usual = with_usual_sizes(term)
    marks = known | usual
    if independent_only:
        marks = _independent_sizes(bare, marks, {axis.name for axis in term.dom.axes})
    sides = {name: _side(mark) for name, mark in marks.items()}
    knobs = tuple(
        _knob(name, marks[name]) for name, n in sides.items() if n and n <= MAX_SLIDER_SIZE
    )

    def system(**sizes: int) -> Term:
        own = {name: _resized_mark(mark, sizes.get(name)) for name, mark in marks.items()}
        return Axes(**own)(bare) if own else bare

    return Entry(name, title, source, knobs, system, section="Yours", text=text)


def _independent_sizes(
    bare: Term, marks: dict[str, SizeWithKind], inputs: set[str]
) -> dict[str, SizeWithKind]:
    """Returns the independent sizes, and those of the inputs."""
    order = sorted(marks, key=lambda name: _count(marks[name]))
    sizes = {name: Axis(name, _size_value(marks[name])) for name in order}
    first = [name for name in marks if name in inputs]
    try:
        names = needed_sizes(bare, sizes, first).union(first)
        known = {name: mark for name, mark in marks.items() if name in names}
        return known if _shapes(Axes(**known)(bare)) == _shapes(Axes(**marks)(bare)) else marks
    except NCDError:
        return marks


def _count(mark: SizeWithKind) -> int:
    """Returns a size as one number, for sorting: small sizes become knobs before large ones."""
    return prod(mark.size) if isinstance(mark.size, tuple) else int(mark.size)


def _size_value(mark: SizeWithKind) -> int | tuple[int, ...]:
    return mark.size if isinstance(mark.size, tuple) else int(mark.size)


def _shapes(term: Term) -> list[tuple[int, ...]]:
    """Returns the shape of every array; raises SizeError where one is not known."""
    return [value.array.shape for value in elaborate(term).values.values()]


def _side(mark: SizeWithKind) -> int | None:
    """Returns the size as one number; None for a group whose sides differ."""
    if isinstance(mark.size, tuple):
        return mark.size[0] if len(set(mark.size)) == 1 else None
    return mark.size if isinstance(mark.size, int) else None


def _resized_mark(mark: SizeWithKind, size: int | None) -> SizeWithKind:
    """Returns the mark with another size."""
    if size is None:
        return mark
    new = (size,) * len(mark.size) if isinstance(mark.size, tuple) else size
    return replace(mark, size=new)


def _knob(name: str, mark: SizeWithKind) -> Knob:
    size = _side(mark)
    assert size is not None
    what = "each side" if isinstance(mark.size, tuple) else "size"
    what = "positions" if mark.sequence else what
    return Knob(name, 1, max(64, 4 * size), size, help=what, least=1)
