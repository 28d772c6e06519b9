"""Resizing: the circuit of a term at other sizes, from its circuit without sizes.

If every axis is given a size, the structure does not depend on the sizes. So a term is placed once;
for other sizes its axes are replaced and every op checks its site again. Terms that are not so
simple are solved from the start, and so are sizes that do not fit, for a complete error message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from operator import is_
from threading import Lock
from typing import Any
from weakref import ref

from cachetools import LRUCache

from ncd.lang.circuits.assembly import Around, Builder
from ncd.lang.circuits.circuit import Cell, Circuit, Fence, Loop, State, Value
from ncd.lang.circuits.shared_layers import check_shared
from ncd.lang.circuits.size_solver import Rule
from ncd.lang.errors import MismatchError, NCDError, SizeError
from ncd.lang.formulas.formula import parse
from ncd.lang.once import Key
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.chain_typing import Flow
from ncd.lang.terms.field_spelling import field_names
from ncd.lang.terms.op import Op, Site
from ncd.lang.terms.rewrite import rewrite
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array, Axis, Signature, Size, Type
from ncd.lang.types.axis_kinds import Marked, sized
from ncd.lang.types.pattern_binding import Binding

Given = Mapping[str, int | str | Marked]
Sizes = Mapping[str, Marked]

_CIRCUITS: LRUCache[Any, Circuit] = LRUCache(256)  # by the sketch and its sizes
_PLACED: LRUCache[Term, Circuit | None] = LRUCache(64)
_LOCK = Lock()


def forget() -> None:
    """Empties the caches, so that the next circuit is placed from the start."""
    with _LOCK:
        _CIRCUITS.clear()
        _PLACED.clear()


def circuit_of(sketch: Term, given: Given, solve: Callable[[], Circuit]) -> Circuit:
    """Returns the circuit of a term at these sizes, from ``solve`` where resizing cannot do it."""
    found = _read(given)
    if found is None:
        return solve()
    sizes, formulas = found
    key = Key(sketch, *sizes.items(), *formulas.items())
    with _LOCK:
        known = _CIRCUITS.get(key)
    if known is not None:
        return known
    before = _placed(sketch)
    circuit = before and _resized(before, sizes, formulas)
    circuit = circuit or solve()
    with _LOCK:
        _CIRCUITS[key] = circuit
    return circuit


def _placed(sketch: Term) -> Circuit | None:
    """Returns the circuit of an unsized term; None if its structure may depend on sizes."""
    with _LOCK:
        if sketch in _PLACED:
            return _PLACED[sketch]
    found: Circuit | None = None
    with suppress(NCDError):
        builder = Builder(solving=False)
        strip = builder.place(sketch, builder.values(sketch.dom), 0, Around())
        circuit = strip.circuit(sketch, builder.fences)
        found = circuit if _regular(circuit) else None
    with _LOCK:
        _PLACED[sketch] = found
    return found


def _read(given: Given) -> tuple[dict[str, Marked], dict[str, str]] | None:
    """Returns all sizes as numbers, and the formulas; None if a size cannot be computed."""
    marks = {n: v if isinstance(v, Marked) else Marked(v) for n, v in given.items()}
    formulas = {name: mark.size for name, mark in marks.items() if isinstance(mark.size, str)}
    plain = (mark.size for name, mark in marks.items() if name not in formulas)
    sides = (s for size in plain for s in (size if isinstance(size, tuple) else (size,)))
    if not all(isinstance(side, int) and not isinstance(side, bool) for side in sides):
        return None  # the solver reports it
    try:
        sizes = Binding(
            {n: Axis(n, m.size) for n, m in marks.items() if not isinstance(m.size, str)}
        )
        for name, text in formulas.items():
            Rule(name, parse(text)).solve(sizes)
        return {n: replace(m, size=_known(sizes[n])) for n, m in marks.items()}, formulas
    except (NCDError, KeyError):
        return None


def _known(axis: Axis) -> Size:
    if axis.size is None:
        raise SizeError(f"axis {axis.name} has no size")
    return axis.size


def _regular(circuit: Circuit) -> bool:
    """Returns whether each name means one axis everywhere, and no loop runs along an axis."""
    local = (isinstance(f.term, Block) and f.term.local for f in circuit.fences)
    return not any(local) and not any(loop.kind == "scan" for loop in circuit.loops)


def _resized(circuit: Circuit, sizes: Sizes, formulas: Collection[str]) -> Circuit | None:
    """Returns the circuit at these sizes; None if sizes are missing or do not fit."""
    try:
        found = _Resizer(sizes, formulas).circuit(circuit)
        check_shared(found)
    except NCDError:
        return None
    found.term.__dict__["_circuit"] = ref(found)
    found.term.__dict__["cod"] = _arrays(found.outputs)  # saves lifting all ops again
    return found


class _Resizer:
    """Replaces axes by sized ones; an object that occurs several times is replaced once."""

    def __init__(self, sizes: Sizes, formulas: Collection[str]) -> None:
        self.sizes, self.formulas = sizes, formulas
        self.axes: dict[Axis, Axis] = {}
        self.arrays: dict[Array, Array] = {}
        self.made: dict[
            int, Any
        ] = {}  # by the id of the old object, which the old circuit keeps alive

    def axis(self, axis: Axis) -> Axis:
        found = self.axes.get(axis)
        if found is None:
            found = self.axes[axis] = sized(axis, self.sizes)
            if found.size is None or (axis.size is not None and axis.name in self.formulas):
                raise SizeError(f"the size of {axis.name} must be solved for")
        return found

    def array(self, array: Array) -> Array:
        found: Array | None = self.made.get(id(array))
        if found is None:
            found = self.arrays.get(array)
            if found is None:
                found = rewrite(array, self.axis)
                found = self.arrays[array] = array if found == array else found
            self.made[id(array)] = found
        return found

    def type(self, arrays: Type) -> Type:
        return Type([self.array(array) for array in arrays])

    def term(self, term: Term) -> Any:
        found = self.made.get(id(term))
        if found is None:
            found = self.made[id(term)] = self._term(term)
        return found

    def _term(self, term: Term) -> Any:
        kept = term.__dict__
        new = {name: self.field(kept[name]) for name in field_names(type(term))}
        if all(map(is_, new.values(), map(kept.get, new))):
            return term
        found = object.__new__(type(term))  # skips the checks, which do not depend on sizes
        if not term.children:  # an op or an Id
            found.__dict__.update(new)
            return found
        for name in ("dom", "cod"):
            if name in kept:
                new[name] = self.type(kept[name])
        if "flow" in kept:
            dom, cod, origins = kept["flow"]
            new["flow"] = Flow(self.type(dom), self.type(cod), origins)
        found.__dict__.update(new, depth=term.depth, count=term.count)
        return found

    def field(self, value: Any) -> Any:
        if isinstance(value, Term):
            return self.term(value)
        resize = _RESIZERS.get(type(value))  # numbers and text have no axes
        return value if resize is None else resize(self, value)

    def parts(self, value: Any) -> Any:
        new = tuple(map(self.field, value))
        return value if all(map(is_, new, value)) else type(value)(new)

    def signature(self, value: Signature) -> Signature:
        dom, cod = self.parts(value.dom), self.parts(value.cod)
        same = dom is value.dom and cod is value.cod
        return value if same else Signature(dom, cod)

    def state(self, state: State) -> State:
        return tuple([self.value(value) for value in state])

    def value(self, value: Value) -> Value:
        found = self.made.get(id(value))
        if found is None:
            found = self.made[id(value)] = Value(value.id, self.array(value.array))
        return found

    def circuit(self, circuit: Circuit) -> Circuit:
        term = self.term(circuit.term)
        states = tuple(map(self.state, circuit.states))
        steps = tuple(tuple(map(self.unit, step)) for step in circuit.steps)
        return Circuit(term, states, steps, tuple(map(self.fence, circuit.own_fences)))

    def unit(self, unit: Cell | Loop) -> Cell | Loop:
        return self.loop(unit) if isinstance(unit, Loop) else self.cell(unit)

    def cell(self, cell: Cell) -> Cell:
        op: Op = self.term(cell.op)
        inputs, outputs = self.state(cell.inputs), self.state(cell.outputs)
        if type(op).solve is Op.solve:  # it makes no new sizes
            site = self.site(cell.site)
            if type(op).check is not Op.check:
                own = (*site.dom.axes, *site.cod.axes, *site.reads)
                op.check(Binding({axis.name: axis for axis in own}))
            op.admit(site)
        else:
            site = op.site(_arrays(inputs))
        if site.outs != _arrays(outputs):
            raise MismatchError(f"{op.label} gives ({site.outs})")
        return Cell(
            cell.id, op, site, inputs, outputs, cell.name, cell.fences, cell.scope, cell.times
        )

    def site(self, site: Site) -> Site:
        dom, cod, ins, outs = map(self.type, (site.dom, site.cod, site.ins, site.outs))
        return Site(dom, cod, ins, outs, self.array(site.reads))

    def loop(self, loop: Loop) -> Loop:
        return replace(
            loop,
            term=self.term(loop.term),
            inputs=self.state(loop.inputs),
            outputs=self.state(loop.outputs),
            bodies=tuple(map(self.circuit, loop.bodies)),
        )

    def fence(self, fence: Fence) -> Fence:
        term = fence.term and self.term(fence.term)
        return Fence(
            fence.id, fence.title, fence.role, fence.first, tuple(map(self.state, fence.states)),
            fence.parent, fence.repeats, term, fence.scope,
        )  # fmt: skip


_RESIZERS: Mapping[type, Callable[[_Resizer, Any], Any]] = {
    Array: _Resizer.array,
    Type: _Resizer.parts,
    tuple: _Resizer.parts,
    Signature: _Resizer.signature,
}


def _arrays(state: State) -> Type:
    return Type([value.array for value in state])
