"""A term as a function of its sizes, which can be moved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from ncd.lang.circuits.circuit import Circuit
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.errors import NCDError
from ncd.lang.terms.rewrite import rewrite
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Axis, Size

LARGEST = 10**9
AXES = 24  # a term with more sizes is not asked which of them follow from others


@dataclass(frozen=True)
class SizeRange:
    """The name and the values of a size: those of its slider, and the legal ones.

    ``limits`` are the legal values in words; a ``switch`` is 0 or 1.
    """

    name: str
    min: int
    max: int
    step: int = 1
    help: str = ""
    least: int = 1
    most: int = LARGEST
    multiple: int = 1
    limits: str = "1 or more"
    switch: bool = False
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class SizedSystem:
    """The sizes of a term, their values, and the function from values to the term.

    ``plain`` are the names of the settings that stay as they are, such as an index; ``renamed``
    are names that axes had in older links, with those that they have now.
    """

    sizes: tuple[SizeRange, ...]
    settings: Mapping[str, int]
    build: Callable[[Mapping[str, int]], Term]
    plain: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict)

    @property
    def traceable(self) -> tuple[str, ...]:
        """The names of the sizes that formulas may contain."""
        return tuple(size.name for size in self.sizes if size.name not in self.plain)


def of_term(term: Term, circuit: Circuit) -> SizedSystem:
    """Returns a term with all its axes' sizes as settings, without those that follow from others.

    >>> from ncd.ops import Linear
    >>> from ncd.lang.circuits.elaborate import elaborate
    >>> term = Linear("m:8 -> k:4", "Q")
    >>> found = of_term(term, elaborate(term))
    >>> dict(found.settings), str(found.build({"m": 8, "k": 5}).cod)
    ({'m': 8, 'k': 4}, 'k')
    """
    found: dict[str, set[Size | None]] = defaultdict(set)
    for axis in circuit.axes:
        found[axis.name].add(axis.size)
    sizes = {name: next(iter(own)) for name, own in found.items() if len(own) == 1}
    settings = {name: size for name, size in sizes.items() if isinstance(size, int)}
    for name in list(settings) if len(settings) <= AXES else ():
        if _follows(term, name, settings[name]):
            term = _at(term, {name: None})
            del settings[name]
    ranges = tuple(SizeRange(name, 1, max(16, 2 * now)) for name, now in settings.items())
    return SizedSystem(ranges, settings, lambda given: _at(term, given))


def _follows(term: Term, name: str, size: int) -> bool:
    """Returns whether the size of an axis is solved from those of the others."""
    try:
        circuit = elaborate(_at(term, {name: None}))
    except NCDError:
        return False
    return all(axis.size == size for axis in circuit.axes if axis.name == name)


def _at(term: Term, given: Mapping[str, int | None]) -> Term:
    def sized(axis: Axis) -> Axis:
        if axis.size is None or axis.name not in given:
            return axis
        return replace(axis, size=given[axis.name])

    found: Term = rewrite(term, sized)
    return found
