"""The rebuilding of a circuit with other sizes, part by part.

A name means one axis in its scope: the whole term, or a block with local names. An object that
occurs several times in one scope is rebuilt once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import replace
from operator import is_
from typing import Any

from ncd.lang.circuits.circuit import Cell, Circuit, Fence, Loop, State, Value
from ncd.lang.circuits.name_scopes import Arrays, Local, Scope, Sizes, Solved, Whole
from ncd.lang.errors import MismatchError, SizeError
from ncd.lang.terms.blocks import Block
from ncd.lang.terms.chain_typing import Flow
from ncd.lang.terms.field_spelling import field_names
from ncd.lang.terms.loops import Repeat, Scan
from ncd.lang.terms.op import Op, Site
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array, Axis, Type
from ncd.lang.types.pattern_binding import Binding


class Resizer:
    """Rebuilds the circuit of a term without sizes.

    Args:
        sizes: The size and kind of each name.
        formulas: The names whose sizes follow from others by a formula.
        solved: What follows from those for other names.

    Raises:
        NCDError: For sizes that do not fit, or that must be solved for.
    """

    def __init__(self, sizes: Sizes, formulas: Collection[str], solved: Solved) -> None:
        self.whole, self.solved = Whole(sizes, formulas, solved), solved
        self.scopes: dict[str, Scope] = {"": self.whole}  # inside each fence, by its id
        self.inner: dict[Any, Local] = {}  # by the scope around it and the names
        self.within: dict[int, Scope] = {}  # the scope of a value, by its id as an object
        self.local: dict[int, bool] = {}  # whether a term has blocks with local names
        self.built: dict[str, Any] = {}  # the terms of fences that have, by their ids
        self.parted: dict[Any, Any] = {}  # the same by their parts
        self.waiting: Iterator[Fence] = iter(())

    def circuit(self, circuit: Circuit) -> Circuit:
        """Returns the circuit with all of its sizes."""
        for fence in circuit.fences:
            self._enter(fence)
        given = type_of(circuit.inputs).axes
        if not (any(map(self.whole.is_open, given)) or any(map(self._is_open, circuit.cells))):
            scopes: list[Scope] = [self.whole, *self.inner.values()]
            for scope in scopes:  # all follows by itself, and nothing is written
                scope.written = scope.stated
        self.waiting = iter([f for f in circuit.fences if f.term and self._has_local(f.term)])
        return self._circuit(circuit, self._term(circuit.term, self.whole), self.whole, 1)

    # --- scopes ----------------------------------------------------------------------------------

    def _enter(self, fence: Fence) -> None:
        outer = inner = self.scopes[fence.parent]
        if _is_local(fence.term):
            assert isinstance(fence.term, Block)
            _, own = fence.term.inside(type_of(fence.states[0]))
            names = {axis.name: axis for axis in fence.term.dom.axes} | own
            for value in fence.states[-1]:
                if value.array.below and value.array.below.name in names:
                    raise SizeError(f"{value.array.below.name} is local, and its numbers leave")
            key = id(outer), tuple(names.items())
            inner = self.inner.setdefault(key, Local(outer, names))
        self.scopes[fence.id] = inner
        if inner is self.whole:
            return
        last = len(fence.states) - 1
        for n, state in enumerate(fence.states):
            scope = inner if 0 < n < last else outer
            self.within.update((id(value), scope) for value in state)

    def _is_open(self, cell: Cell) -> bool:
        """Returns whether an op has a size that does not follow from those of its inputs."""
        scope = self._scope(cell)
        if scope is self.whole and self.whole.written is self.whole.placed:
            return False
        known = {axis.name for axis in type_of(cell.inputs).axes}
        made = [axis for axis in type_of(cell.outputs).axes if axis.name not in known]
        if not any(map(scope.is_open, (*cell.op.reads, *made))):
            return False
        if type(cell.op).solve is Op.solve or any(map(scope.is_open, cell.op.reads)):
            return True
        op: Op = self._with(cell.op, self._fields(cell.op, scope, scope.stated), scope)
        return not all(array.sized for array in op.lift(type_of(self._state(cell.inputs, scope))))

    def _scope(self, unit: Cell | Loop) -> Scope:
        return self.scopes[unit.fences[-1] if unit.fences else ""]

    def _has_local(self, term: Term) -> bool:
        found = self.local.get(id(term))
        if found is None:
            found = _is_local(term) or any(map(self._has_local, term.children))
            self.local[id(term)] = found
        return found

    # --- terms -----------------------------------------------------------------------------------

    def _term(self, term: Term, scope: Scope) -> Any:
        if self._has_local(term):
            return self._parted(term, scope)
        found = scope.made.get(id(term))
        if found is None:
            found = scope.made[id(term)] = self._with(term, self._fields(term, scope), scope)
        return found

    def _parted(self, term: Term, scope: Scope) -> Any:
        """Returns a term with local names inside, which may differ from place to place."""
        fence = next(self.waiting) if isinstance(term, Block | Repeat | Scan) else None
        if fence is not None and fence.term is not term:
            raise MismatchError("the blocks of a term are not in the order of its fences")
        inner = scope if fence is None else self.scopes[fence.id]
        new = self._fields(term, inner)
        parts = (p for value in new.values() for p in (value if type(value) is tuple else (value,)))
        key = id(term), id(inner), *(id(part) for part in parts if isinstance(part, Term))
        found = self.parted.get(key)
        if found is None:
            found = self.parted[key] = self._with(term, new, inner)
        if fence is not None:
            self.built[fence.id] = found
        return found

    def _fields(self, term: Term, scope: Scope, arrays: Arrays | None = None) -> dict[str, Any]:
        def field(name: str, value: Any) -> Any:
            if isinstance(value, Term):
                return self._term(value, scope)
            if type(value) is tuple and value and isinstance(value[0], Term):
                new = tuple([self._term(part, scope) for part in value])
                return value if all(map(is_, new, value)) else new
            stated = isinstance(term, Block) and name == "type"
            return (scope.stated if stated else arrays or scope.written).field(value)

        return {name: field(name, term.__dict__[name]) for name in field_names(type(term))}

    def _with(self, term: Term, new: dict[str, Any], scope: Scope) -> Any:
        kept, arrays = term.__dict__, scope.written
        if all(map(is_, new.values(), map(kept.get, new))):
            return term
        found = object.__new__(type(term))  # skips the checks, which do not depend on sizes
        if not term.children:  # an op or an Id
            found.__dict__.update(new)
            return found
        if arrays is scope.placed and not self._has_local(term):  # saves lifting its parts again
            new |= {name: arrays.type(kept[name]) for name in ("dom", "cod") if name in kept}
            if "flow" in kept:
                dom, cod, origins = kept["flow"]
                new["flow"] = Flow(arrays.type(dom), arrays.type(cod), origins)
        found.__dict__.update(new, depth=term.depth, count=term.count, nodes=term.nodes)
        return found

    def _fenced(self, id: str, scope: Scope, term: Term) -> Any:
        return self.built[id] if id in self.built else self._term(term, scope)

    # --- circuits --------------------------------------------------------------------------------

    def _state(self, state: State, scope: Scope) -> State:
        return tuple([self._value(value, scope) for value in state])

    def _value(self, value: Value, scope: Scope) -> Value:
        found: Value | None = scope.made.get(id(value))
        if found is None:
            array = value.array
            new = self._by_slot(value, scope) if self._varies(array) else scope.placed.array(array)
            found = scope.made[id(value)] = Value(value.id, new)
        return found

    def _varies(self, array: Array) -> bool:
        """Returns whether an array has a name that has other sizes elsewhere."""
        several = self.solved.several
        return bool(several) and any(axis.name in several for axis in Type((array,)).axes)

    def _by_slot(self, value: Value, scope: Scope) -> Array:
        def axis(old: Axis, place: object) -> Axis:
            if old.name not in self.solved.several:
                return scope.placed.axis(old)
            found = self.solved.slots[value.id, place]
            return replace(old, size=found.size, sequence=old.sequence or found.sequence)

        axes = [axis(old, place) for place, old in enumerate(value.array)]
        return Array(axes, value.array.below and axis(value.array.below, "#"))

    def _column(self, state: State, base: Scope) -> State:
        """Returns the arrays of a column, of which some may be inside a block with local names."""
        return tuple([self._value(v, self.within.get(id(v), base)) for v in state])

    def _circuit(self, circuit: Circuit, term: Term, base: Scope, times: int) -> Circuit:
        states = tuple([self._column(state, base) for state in circuit.states])
        steps = tuple([tuple([self._unit(unit, times) for unit in s]) for s in circuit.steps])
        fences = tuple([self._fence(fence, base) for fence in circuit.own_fences])
        return Circuit(term, states, steps, fences)

    def _unit(self, unit: Cell | Loop, times: int) -> Cell | Loop:
        return self._loop(unit, times) if isinstance(unit, Loop) else self._cell(unit, times)

    def _cell(self, cell: Cell, times: int) -> Cell:
        scope = self._scope(cell)
        inputs, outputs = self._state(cell.inputs, scope), self._state(cell.outputs, scope)
        if self.solved.several:
            op, site = self._sited(cell, inputs, outputs, scope)
        else:  # equal layers share their ops and their sites
            key = id(cell.op), id(cell.site)
            if key not in scope.sited:
                scope.sited[key] = self._sited(cell, inputs, outputs, scope)
            op, site = scope.sited[key]
        return Cell(cell.id, op, site, inputs, outputs, cell.name, cell.fences, cell.scope, times)

    def _sited(self, cell: Cell, inputs: State, outputs: State, scope: Scope) -> tuple[Op, Site]:
        """Returns the op and its site with their sizes."""
        op: Op = self._term(cell.op, scope)
        self._check_kinds(cell, outputs, scope)
        labels = any(a.label for value in cell.inputs for a in value.array)
        varies = any(self._varies(value.array) for value in (*cell.inputs, *cell.outputs))
        if type(op).solve is Op.solve and not labels and not varies:  # it makes no new axes
            site = _site(cell.site, scope.placed)
            if type(op).check is not Op.check:
                own = (*site.dom.axes, *site.cod.axes, *site.reads)
                op.check(Binding({axis.name: axis for axis in own}))
            op.admit(site)
        else:
            site = op.site(type_of(inputs))
        op.check_numbers(site)
        if site.outs != type_of(outputs):
            raise MismatchError(f"{op.label} gives ({site.outs})")
        return op, site

    def _check_kinds(self, cell: Cell, outputs: State, scope: Scope) -> None:
        """Raises SizeError for an op that makes an axis whose size, but not kind, is another's."""
        if type(cell.op).solve is not Op.solve:
            return
        known = {axis.name for axis in type_of(cell.inputs).axes}
        local = scope.names if isinstance(scope, Local) else ()
        free = {*self.solved.axes, *local}
        for axis in type_of(outputs).axes:
            if axis.sequence and axis.name in free and axis.name not in known:
                raise SizeError(f"the kind of {axis.name} must be solved for")

    def _loop(self, loop: Loop, times: int) -> Loop:
        scope = self._scope(loop)
        term = self._fenced(loop.id, scope, loop.term)
        bodies = term.bodies if isinstance(term, Repeat) else (term.body,)
        if loop.kind == "scan":
            along = loop.inputs[loop.states].array
            times *= scope.placed.axis(along[along.names.index(loop.axis)]).numel
        pairs = zip(loop.bodies, bodies, strict=True)
        return replace(
            loop,
            term=term,
            inputs=self._state(loop.inputs, scope),
            outputs=self._state(loop.outputs, scope),
            bodies=tuple([self._circuit(old, new, scope, times) for old, new in pairs]),
        )

    def _fence(self, fence: Fence, base: Scope) -> Fence:
        term = fence.term and self._fenced(fence.id, self.scopes[fence.parent], fence.term)
        return Fence(
            fence.id, fence.title, fence.role, fence.first,
            tuple([self._column(state, base) for state in fence.states]),
            fence.parent, fence.repeats, term, fence.scope,
        )  # fmt: skip


def _is_local(term: Term | None) -> bool:
    return isinstance(term, Block) and term.local


def _site(site: Site, arrays: Arrays) -> Site:
    dom, cod, ins, outs = map(arrays.type, (site.dom, site.cod, site.ins, site.outs))
    return Site(dom, cod, ins, outs, arrays.array(site.reads))


def type_of(state: State) -> Type:
    """Returns the arrays of a state, without their ids."""
    return Type([value.array for value in state])
