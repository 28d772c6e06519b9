"""Elaboration: a term becomes its circuit, with the size of every axis that follows from others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from types import MappingProxyType
from typing import Any

from ncd.lang.circuits.assembly import Around, Builder
from ncd.lang.circuits.circuit import Circuit
from ncd.lang.circuits.resize import circuit_of
from ncd.lang.circuits.shared_layers import check_shared
from ncd.lang.circuits.size_solver import Place, Rule, Sizes, Slot, solve
from ncd.lang.errors import NCDError, SizeError
from ncd.lang.formulas.formula import parse as parse_formula
from ncd.lang.terms.blocks import Block, Equation
from ncd.lang.terms.field_spelling import field_names
from ncd.lang.terms.loops import Scan
from ncd.lang.terms.op import Op
from ncd.lang.terms.rewrite import rebuilt, remade, rewrite
from ncd.lang.terms.terms import Id, Term
from ncd.lang.types.axes import Array, Axis, Type
from ncd.lang.types.axis_kinds import Marked, plain, sized


class _Writing:
    """Writes sizes into a term, in the order in which its places were placed.

    A part that stands at several places stays one wherever it has the same sizes.
    """

    def __init__(self, sizes: Iterable[Sizes]) -> None:
        self.sizes = iter(sizes)
        self.done: dict[tuple[object, ...], Any] = {}

    def written(self, term: Term) -> Any:
        """The term with the sizes of its places."""
        match term:
            case Id() | Op():
                known = next(self.sizes)
                key = (id(term), *((name, axis.size) for name, axis in known.items()))
                return self.once(key, lambda: rewrite(term, lambda axis: _filled(axis, known)))
            case Equation():
                next(self.sizes)  # of the copy
            case Scan():
                return self.scan(term)
        new = {name: self.part(getattr(term, name)) for name in field_names(type(term))}
        parts = (p for value in new.values() for p in (value if _terms(value) else (value,)))
        return self.once((id(term), *map(id, parts)), lambda: remade(term, new))

    def once(self, key: tuple[object, ...], make: Callable[[], Any]) -> Any:
        if key not in self.done:
            self.done[key] = make()
        return self.done[key]

    def part(self, value: Any) -> Any:
        if isinstance(value, Term):
            return self.written(value)
        return tuple(map(self.written, value)) if _terms(value) else value

    def scan(self, term: Scan) -> Scan:
        for _ in term.dom:
            next(self.sizes)
        body = self.written(term.body)
        for _ in term.cod:
            next(self.sizes)
        known = next(self.sizes)
        along = Array(_filled(axis, known) for axis in term.axis)
        return Scan(body, along, term.name, term.states)


def _terms(value: Any) -> bool:
    return isinstance(value, tuple) and bool(value) and isinstance(value[0], Term)


def _filled(axis: Axis, known: Sizes) -> Axis:
    if axis.size is None and axis.name in known:
        return replace(axis, size=known[axis.name].size)
    return axis


def _placed(term: Term, solving: bool = True) -> tuple[Builder, Circuit]:
    builder = Builder(solving)
    strip = builder.place(term, builder.values(term.dom), 0, Around())
    return builder, strip.circuit(term, builder.fences)


Rules = Mapping[str, Axis | Rule | None]  # what Axes says of names that formulas speak of


def _solved(term: Term, rules: Rules = MappingProxyType({})) -> Circuit:
    """The circuit, every axis with its size as far as it follows."""
    builder, circuit = _placed(term)
    if not builder.open:
        check_shared(circuit)
        return circuit
    known: dict[Slot, Axis] = {}
    places = [_global(place, rules) for place in builder.places]
    count = len(places)
    for name, rule in rules.items():
        if isinstance(rule, Axis):
            known["", name] = rule
        elif rule is not None:
            slots: dict[str, tuple[Slot, ...]] = {n: (("", n),) for n in (name, *rule.names)}
            places.append(Place(slots, (), rule, f"Axes({name}={str(rule.formula)!r})"))
    sizes = solve(places, known)[:count]
    written: Term = _Writing(sizes).written(term)
    if written == term:
        return circuit
    builder, circuit = _placed(written, solving=False)
    if not builder.open:
        check_shared(circuit)
    return circuit


def _global(place: Place, rules: Rules) -> Place:
    """The place with the names that a formula speaks of bound to one slot for the whole term."""
    names = [name for name in place.slots if name in rules and name not in place.local]
    if not names:
        return place
    more: dict[str, tuple[Slot, ...]] = {n: (*place.slots[n], ("", n)) for n in names}
    return replace(place, slots={**place.slots, **more})


def elaborate(term: Term) -> Circuit:
    """The circuit of a term; the same term gives the same circuit, with the same ids.

    ``elaborate(term).term`` is the term with the sizes that follow from others written out.

    >>> from ncd.lang.terms.terms import Id
    >>> [value.id for value in elaborate(Id("y m, x m")).outputs]
    ['v0', 'v1']
    """
    known = term.__dict__.get("_circuit")
    made: Circuit | None = known and known()
    return _elaborated(term) if made is None else made


_elaborated = lru_cache(maxsize=256)(_solved)


class Axes:
    """Sizes for the names of a sketch: ``Axes(y=seq(20), m=128)(term)`` gives the typed term.

    A size may be a formula of others, ``Axes(k=16, h=4, d="k*h")``. What is not given is solved
    for, both ways through the whole term.

    >>> from ncd.lang.types.axis_kinds import seq
    >>> str(Axes(y=seq(20), m=128)(Id("y m")).dom.spec)
    '~y:20 m:128'
    >>> str(Axes(m=128, d="4*m")(Id("m d")).dom.spec)
    'm:128 d:512'

    Raises SizeError for an axis without a size, or with one that cannot be; the error carries the
    sketch, so that it can still be drawn, and the op at which it failed.
    """

    def __init__(self, **sizes: int | str | Marked) -> None:
        self.sizes: Mapping[str, int | str | Marked] = sizes

    def __call__(self, sketch: Term) -> Term:
        try:
            return circuit_of(sketch, self.sizes, lambda: self._solved(sketch)).term
        except NCDError as error:
            error.sketch = error.sketch or sketch
            raise

    def _solved(self, sketch: Term) -> Circuit:
        term: Term = _given(sketch, self.sizes)
        rules = self._rules()
        circuit = _solved(term, rules) if rules else elaborate(term)
        require_sizes(circuit, self.sizes)
        return circuit

    def _rules(self) -> Rules:
        """The formulas, and the names that they speak of."""
        marks = {n: v if isinstance(v, Marked) else plain(v) for n, v in self.sizes.items()}
        formulas = {
            name: Rule(name, parse_formula(mark.size))
            for name, mark in marks.items()
            if isinstance(mark.size, str)
        }
        known: dict[str, Axis | Rule | None] = {}
        for name in (name for rule in formulas.values() for name in rule.names):
            size = marks[name].size if name in marks else None
            known[name] = None if size is None or isinstance(size, str) else Axis(name, size)
        return {**known, **formulas}


def _given(value: Any, sizes: Mapping[str, int | str | Marked]) -> Any:
    """A term with these sizes; names that stand for others around a block have those of these."""
    if isinstance(value, Block) and value.local:
        own = {axis.name for axis in value.dom.axes}
        sizes = {name: size for name, size in sizes.items() if name not in own}
    if isinstance(value, Term) and value.children:
        return rebuilt(value, lambda part: _given(part, sizes))
    if _terms(value):
        return tuple(_given(part, sizes) for part in value)
    return rewrite(value, lambda axis: sized(axis, sizes))


def require_sizes(circuit: Circuit, known: Iterable[str] = ()) -> None:
    """Raises SizeError, naming the op, if some axis has no size; ``known`` are names that have."""
    for cell in circuit.cells:
        axes = (*cell.site.axes, *cell.site.reads)
        _require(axes, cell.op.label, known, cell.op)
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
            ).at(where=where, bound=axes, op=op)
