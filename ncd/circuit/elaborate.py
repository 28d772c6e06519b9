"""Elaboration: the circuit of a term, with all sizes that follow from others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from ncd.circuit.assembly import CircuitBuilder, Surroundings, check_shared
from ncd.circuit.circuit import Circuit
from ncd.circuit.resize import circuit_of
from ncd.circuit.size_solver import (
    AxisOccurrence,
    SizeConstraint,
    SizeFormula,
    Sizes,
    solve,
    undetermined_names,
)
from ncd.errors import (
    NCDError,
    SizeError,
    UnknownNameError,
    short_repr,
    unknown_name_error,
)
from ncd.formulas.formula import parse as parse_formula
from ncd.language.arguments import check_term
from ncd.language.axes import Array, Axis, AxisSize, SizeWithKind, Type, plain, with_size
from ncd.language.blocks import Block, Equation
from ncd.language.fields import field_names
from ncd.language.loops import Scan
from ncd.language.op import Op
from ncd.language.terms import Id, Term, axes_in, map_fields, replace_fields, rewrite_axes
from ncd.words import near_name


class _SizeWriter:
    """Writes solved sizes into a term, in the order of the places of its circuit.

    A part that occurs at several places stays one object wherever it has the same sizes.
    """

    def __init__(self, sizes: Iterable[Sizes]) -> None:
        self.sizes = iter(sizes)
        self.done: dict[tuple[object, ...], Any] = {}

    def fill_sizes(self, term: Term) -> Any:
        """Returns the term with the sizes of its places."""
        match term:
            case Id() | Op():
                known = next(self.sizes)
                key = (id(term), *((name, axis.size) for name, axis in known.items()))
                return self.fill_memoised(
                    key, lambda: rewrite_axes(term, lambda axis: _sized_axis(axis, known))
                )
            case Equation():
                next(self.sizes)  # of the op that copies the inputs
            case Scan():
                return self.scan(term)
        new = {name: self.part(getattr(term, name)) for name in field_names(type(term))}
        parts = (p for value in new.values() for p in (value if _terms(value) else (value,)))
        return self.fill_memoised((id(term), *map(id, parts)), lambda: replace_fields(term, new))

    def fill_memoised(self, key: tuple[object, ...], make: Callable[[], Any]) -> Any:
        if key not in self.done:
            self.done[key] = make()
        return self.done[key]

    def part(self, value: Any) -> Any:
        if isinstance(value, Term):
            return self.fill_sizes(value)
        return tuple(map(self.fill_sizes, value)) if _terms(value) else value

    def scan(self, term: Scan) -> Scan:
        for _ in term.dom:
            next(self.sizes)
        body = self.fill_sizes(term.body)
        for _ in term.cod:
            next(self.sizes)
        known = next(self.sizes)
        along = Array(_sized_axis(axis, known) for axis in term.axis)
        return Scan(body, along, term.name, term.states)


def _terms(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], Term)


def _sized_axis(axis: Axis, known: Sizes) -> Axis:
    if axis.size is None and axis.name in known:
        return replace(axis, size=known[axis.name].size)
    return axis


def _build_circuit(term: Term, solving: bool = True) -> tuple[CircuitBuilder, Circuit]:
    builder = CircuitBuilder(solving)
    strip = builder.build(term, builder.values(term.dom), 0, Surroundings())
    return builder, strip.circuit(term, builder.fences)


SizeRules = Mapping[
    str, Axis | SizeFormula | None
]  # by names in formulas; None for an unknown size


def _solve_sizes(term: Term, rules: SizeRules = MappingProxyType({})) -> Circuit:
    """Returns the circuit with all sizes that can be solved for."""
    builder, circuit = _build_circuit(term)
    if not builder.open:
        check_shared(circuit)
        return circuit
    known: dict[AxisOccurrence, Axis] = {}
    places = [_add_term_sizes(place, rules) for place in builder.places]
    count = len(places)
    for name, rule in rules.items():
        if isinstance(rule, Axis):
            known["", name] = rule
        elif rule is not None:
            slots: dict[str, tuple[AxisOccurrence, ...]] = {
                n: (("", n),) for n in (name, *rule.names)
            }
            places.append(SizeConstraint(slots, (), rule, f"Axes({name}={str(rule.formula)!r})"))
    sizes = solve(places, known)[:count]
    written: Term = _SizeWriter(sizes).fill_sizes(term)
    if written == term:
        return circuit
    builder, circuit = _build_circuit(written, solving=False)
    if not builder.open:
        check_shared(circuit)
    return circuit


def _add_term_sizes(place: SizeConstraint, rules: SizeRules) -> SizeConstraint:
    """Returns the place with one slot of the whole term for each name in a formula."""
    names = [name for name in place.slots if name in rules and name not in place.local]
    if not names:
        return place
    more: dict[str, tuple[AxisOccurrence, ...]] = {n: (*place.slots[n], ("", n)) for n in names}
    return replace(place, slots={**place.slots, **more})


def elaborate(term: Term) -> Circuit:
    """Returns the circuit of a term; equal terms give the same circuit, with the same ids.

    Args:
        term: The term; its axes need not have sizes.

    Returns:
        The circuit, whose ``term`` has all sizes that follow from others.

    Raises:
        SizeError: For sizes that do not fit.
        MismatchError: For layers of one name that differ.

    Source: the design of pyncd and DisCoPy: structure is resolved once, for all views.

    >>> from ncd import Id
    >>> [value.id for value in elaborate(Id("y m, x m")).outputs]
    ['v0', 'v1']
    """
    check_term(term, "elaborate")
    known = term.__dict__.get("_circuit")
    made: Circuit | None = known and known()
    return _cached_circuit(term) if made is None else made


def needed_sizes(term: Term, sizes: Mapping[str, Axis], first: Iterable[str]) -> set[str]:
    """Returns the names of a term without sizes whose sizes do not follow from others.

    >>> from ncd import Id
    >>> sorted(needed_sizes(Id("y m"), {"y": Axis("y", 3), "m": Axis("m", 4)}, ["m"]))
    ['m', 'y']

    Raises SizeError or MismatchError where two sizes do not fit.
    """
    builder, _ = _build_circuit(term)
    return undetermined_names([*builder.places], sizes, first)


_cached_circuit = lru_cache(maxsize=256)(_solve_sizes)


class Axes:
    """Sizes for the axes of a term: ``Axes(y=seq(20), m=128)(term)`` returns the sized term.

    Sizes that are not given are solved for, forwards and backwards through the whole term.

    Args:
        sizes: For each name a number, a formula such as ``"k*h"``, or what :func:`ncd.seq`,
            :func:`ncd.space` or :func:`ncd.plain` return.

    Raises:
        SizeError: When it is called, for an axis without a size or sizes that do not fit. The error
            holds the unsized term, which can still be drawn, and the op that failed.
        UnknownNameError: When it is called, for a name that nearly is one of the term, or if the
            term has none of the names.

    Source: Notebook, section 3.2: sizes by the letters of the paper.

    >>> from ncd import seq
    >>> str(Axes(y=seq(20), m=128)(Id("y m")).dom.spec)
    '~y:20 m:128'
    >>> str(Axes(m=128, d="4*m")(Id("m d")).dom.spec)
    'm:128 d:512'
    """

    def __init__(self, /, **sizes: AxisSize) -> None:
        self.sizes: Mapping[str, AxisSize] = sizes

    def __repr__(self) -> str:
        return f"Axes({', '.join(f'{name}={size!r}' for name, size in self.sizes.items())})"

    def __call__(self, sketch: Term) -> Term:
        check_term(sketch, "Axes")
        try:
            self._check_names(sketch)
            return circuit_of(sketch, self.sizes, lambda: self._sized_circuit(sketch)).term
        except NCDError as error:
            error.sketch = error.sketch or sketch
            raise

    def _check_names(self, sketch: Term) -> None:
        """Raises UnknownNameError for a slip, as a table may serve terms that lack some names.

        A name is one if it nearly is a name that has no size here, or if a term with axes has none
        of them.
        """
        names = _axis_names(sketch)
        unknown = self._unused_names(names)
        if not unknown or not names:
            return
        others = sorted(names - self.sizes.keys())
        near = (n for n in unknown if len(n) > 2 and n.isalpha() and near_name(n, others))
        slip = min(near, default=None if names & self.sizes.keys() else min(unknown, default=None))
        if slip is not None:
            raise unknown_name_error("axis", slip, others, where="Axes")

    def check_used(self, sketch: Term) -> None:
        """Raises UnknownNameError for a size that no axis of a term takes, as in a text for it.

        >>> Axes(m=4, zz=5).check_used(Id("m"))
        Traceback (most recent call last):
        ncd.errors.UnknownNameError: Axes: there is no axis 'zz', only m. Try it without zz.
        """
        names = _axis_names(sketch)
        for name in sorted(self._unused_names(names)):
            others = f"only {', '.join(sorted(names))}" if names else "as there is none"
            fact = f"there is no axis {short_repr(name)}, {others}"
            raise UnknownNameError(fact, cure=f"it without {name}", where="Axes")

    def _unused_names(self, names: frozenset[str]) -> set[str]:
        """Returns the names that neither an axis has nor a formula of these sizes."""
        formulas = (rule for rule in self._rules().values() if isinstance(rule, SizeFormula))
        unused = self.sizes.keys() - names
        return unused and unused - {name for formula in formulas for name in formula.names}

    def _sized_circuit(self, sketch: Term) -> Circuit:
        term: Term = _assign_sizes(sketch, self.sizes)
        rules = self._rules()
        circuit = _solve_sizes(term, rules) if rules else elaborate(term)
        require_sizes(circuit, self.sizes)
        return circuit

    def _rules(self) -> SizeRules:
        """Returns the formulas, and what is known of the names in them."""
        marks = {n: v if isinstance(v, SizeWithKind) else plain(v) for n, v in self.sizes.items()}
        formulas = {
            name: SizeFormula(name, parse_formula(mark.size))
            for name, mark in marks.items()
            if isinstance(mark.size, str)
        }
        known: dict[str, Axis | SizeFormula | None] = {}
        for name in (name for rule in formulas.values() for name in rule.names):
            size = marks[name].size if name in marks else None
            known[name] = None if size is None or isinstance(size, str) else Axis(name, size)
        return {**known, **formulas}


@lru_cache(maxsize=256)
def _axis_names(term: Term) -> frozenset[str]:
    """Returns the names of all axes of a term."""
    return frozenset(axis.name for axis in axes_in(term))


def _assign_sizes(value: Any, sizes: Mapping[str, AxisSize]) -> Any:
    """Returns a term with these sizes; local names of a block keep theirs."""
    if isinstance(value, Block) and value.local:
        own = {axis.name for axis in value.dom.axes}
        sizes = {name: size for name, size in sizes.items() if name not in own}
    if isinstance(value, Term) and value.children:
        return map_fields(value, lambda part: _assign_sizes(part, sizes))
    if _terms(value):
        return tuple(_assign_sizes(part, sizes) for part in value)
    return rewrite_axes(value, lambda axis: with_size(axis, sizes))


def require_sizes(circuit: Circuit, known: Iterable[str] = ()) -> None:
    """Raises SizeError, with the op, for an axis without a size; ``known`` are names with one."""
    for cell in circuit.cells:
        axes = (*cell.site.axes, *cell.site.reads)
        _require(axes, cell.op.display_name, known, cell.op)
    for value in circuit.inputs:
        _require(Type((value.array,)).axes, f"Input ({value.array})", known, None)


def _require(axes: tuple[Axis, ...], where: str, known: Iterable[str], op: Op | None) -> None:
    for axis in axes:
        if axis.size is None:
            others = f", or a name among {', '.join(known)}" if known else ""
            raise SizeError(
                f"axis {axis.name} has no size",
                cure=f"Axes({axis.identifier}=…){others}",
                axis=axis.name,
            ).with_context(where=where, bound=axes, op=op)
