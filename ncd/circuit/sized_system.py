"""A term as a function of its sizes, at numbers or at sizes that stay open."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from ncd.circuit.circuit import Circuit
from ncd.circuit.elaborate import elaborate
from ncd.circuit.knob import Knob
from ncd.errors import NCDError
from ncd.formulas.traced_sizes import SizeTrace
from ncd.language.axes import Axis, Size
from ncd.language.terms import Term, rewrite_axes

# --- A term as a function of its sizes, which can be moved

AXES = 24  # a term with more sizes is not asked which of them follow from others


@dataclass(frozen=True)
class ParametricTerm:
    """The sizes of a term, their values, and the function from values to the term.

    ``fixed_names`` are the names of the settings that stay as they are, such as an index;
    ``renamed_axes`` are names that axes had in older links, with those that they have now.
    """

    sizes: tuple[Knob, ...]
    settings: Mapping[str, int]
    build: Callable[[Mapping[str, int]], Term]
    fixed_names: tuple[str, ...] = ()
    renamed_axes: Mapping[str, str] = field(default_factory=dict)

    @property
    def traceable(self) -> tuple[str, ...]:
        """The names of the sizes that formulas may contain."""
        return tuple(size.name for size in self.sizes if size.name not in self.fixed_names)


def parametric_term(term: Term, circuit: Circuit) -> ParametricTerm:
    """Returns a term with all its axes' sizes as settings, without those that follow from others.

    >>> from ncd.ops import Linear
    >>> from ncd import elaborate
    >>> term = Linear("m:8 -> k:4", "Q")
    >>> found = parametric_term(term, elaborate(term))
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
            term = _with_sizes(term, {name: None})
            del settings[name]
    ranges = tuple(Knob(name, 1, max(16, 2 * now), now) for name, now in settings.items())
    return ParametricTerm(ranges, settings, lambda given: _with_sizes(term, given))


def _follows(term: Term, name: str, size: int) -> bool:
    """Returns whether the size of an axis is solved from those of the others."""
    try:
        circuit = elaborate(_with_sizes(term, {name: None}))
    except NCDError:
        return False
    return all(axis.size == size for axis in circuit.axes if axis.name == name)


def _with_sizes(term: Term, given: Mapping[str, int | None]) -> Term:
    def sized(axis: Axis) -> Axis:
        if axis.size is None or axis.name not in given:
            return axis
        return replace(axis, size=given[axis.name])

    found: Term = rewrite_axes(term, sized)
    return found


# --- The circuit of a term at sizes that stay open (:mod:`ncd.formulas.traced_sizes`)


def traced_circuit(
    build: Callable[[Mapping[str, int]], Term],
    settings: Mapping[str, int],
    sizes: Collection[str],
) -> tuple[SizeTrace, Circuit] | None:
    """Returns the circuit at traced sizes; None if it cannot be built so.

    Sizes that are part of names stay plain numbers.
    """
    names = set(sizes)
    while names:
        trace = SizeTrace()
        given = {n: trace.size(n, v) if n in names else v for n, v in settings.items()}
        try:
            return trace, elaborate(build(given))
        except NCDError as error:
            wrong = named_in(trace, error)
            if not wrong:
                return None
            names -= wrong
    return None


def named_in(trace: SizeTrace, error: NCDError) -> set[str]:
    """Returns the names of the sizes in the text of an error."""
    text = str(error).encode("unicode_escape").decode()
    said = [n for (n, _), own in trace.written.items() if f"\\u{ord(own):x}" in text]
    return {name for number in said for name in trace.read(number.total)}
