"""The circuit of a term at other sizes, made from its circuit without sizes; scopes of axis names.

A name means one axis in its scope: the whole term, or a block with local names. An object that
occurs several times in one scope is rebuilt once.

The structure of a term does not depend on its sizes. So a term is placed once; for other sizes its
axes are replaced and every op checks its site again. Sizes that do not fit are solved from the
start, for a complete error message.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from operator import is_
from threading import Lock
from types import MappingProxyType
from typing import Any, NamedTuple
from weakref import ref

from cachetools import LRUCache

from ncd.circuit.assembly import CircuitBuilder, Surroundings, check_shared
from ncd.circuit.circuit import (
    Boundary,
    Cell,
    Circuit,
    Fence,
    Loop,
    RepeatLoop,
    ScanLoop,
    Unit,
    Value,
)
from ncd.circuit.size_solver import AxisOccurrence, SizeConstraint, SizeFormula, solve
from ncd.errors import MismatchError, NCDError, SizeError
from ncd.formulas.formula import parse
from ncd.language.axes import Array, Axis, Signature, Size, SizeWithKind, Type, with_size
from ncd.language.blocks import Block
from ncd.language.cached_property import HashedKey
from ncd.language.fields import field_names
from ncd.language.loops import Repeat, Scan
from ncd.language.op import Op, Site
from ncd.language.patterns import Binding
from ncd.language.terms import ChainType, Term, Then, rewrite_axes

# --- Scopes of names: which axis a name means, in a whole term or in a block with local names

Sizes = Mapping[str, SizeWithKind]


class AxisRewriter:
    """Replaces the axes of arrays."""

    def __init__(self, change: Callable[[Axis], Axis]) -> None:
        self.change = change
        self.axes: dict[Axis, Axis] = {}
        self.arrays: dict[Array, Array] = {}
        # By the id of the old object, which the old circuit keeps alive.
        self.made: dict[int, Array] = {}

    def axis(self, axis: Axis) -> Axis:
        found = self.axes.get(axis)
        if found is None:
            found = self.axes[axis] = self.change(axis)
        return found

    def array(self, array: Array) -> Array:
        found = self.made.get(id(array))
        if found is None:
            found = self.arrays.get(array)
            if found is None:
                found = rewrite_axes(array, self.axis)
                found = self.arrays[array] = array if found == array else found
            self.made[id(array)] = found
        return found

    def type(self, arrays: Type) -> Type:
        return Type([self.array(array) for array in arrays])

    def field(self, value: Any) -> Any:
        """Returns a field of a term that is no term; numbers and text have no axes."""
        match value:
            case Array():
                return self.array(value)
            case tuple():
                new = tuple(map(self.field, value))
                return value if all(map(is_, new, value)) else type(value)(new)
            case Signature():
                dom, cod = self.field(value.dom), self.field(value.cod)
                same = dom is value.dom and cod is value.cod
                return value if same else Signature(dom, cod)
        return value


class SizeSolution(NamedTuple):
    """The axes of names whose sizes follow from those given, and the names of several sizes.

    ``slots`` are the axes of the arrays of a circuit, by their ids and the places in them.
    """

    axes: Mapping[str, Axis]
    ambiguous: Collection[str] = ()
    slots: Mapping[tuple[object, object], Axis] = MappingProxyType({})


class GlobalScope:
    """The scope of the whole term, whose names have the given sizes."""

    def __init__(self, sizes: Sizes, formulas: Collection[str], solved: SizeSolution) -> None:
        self.sizes, self.formulas, self.solved = sizes, formulas, solved.axes
        self.free = {*formulas, *solved.axes, *solved.ambiguous}
        self.made: dict[int, Any] = {}  # terms and values, by the ids of the old ones
        self.sited: dict[tuple[int, int], tuple[Op, Site]] = {}  # by the old ones' ids
        self.placed = self.written = self.stated = AxisRewriter(self._array_axis)
        if self.free:
            self.written, self.stated = (
                AxisRewriter(self._pattern_axis),
                AxisRewriter(self._block_type_axis),
            )

    def is_open(self, axis: Axis) -> bool:
        return axis.size is None and axis.name in self.free

    def _array_axis(self, axis: Axis) -> Axis:
        if axis.size is None and axis.name in self.solved:
            found = self.solved[axis.name]
            return replace(axis, size=found.size, sequence=axis.sequence or found.sequence)
        found = with_size(axis, self.sizes)
        if found.size is None or (axis.size is not None and axis.name in self.formulas):
            raise SizeError(f"the size of {axis.name} must be solved for")
        return found

    def _pattern_axis(self, axis: Axis) -> Axis:
        found = self._array_axis(axis)
        return replace(axis, size=found.size) if axis.name in self.solved else found

    def _block_type_axis(self, axis: Axis) -> Axis:
        if not self.is_open(axis):
            return self.placed.axis(axis)
        return replace(self._array_axis(axis), size=None) if axis.name in self.formulas else axis


class LocalScope:
    """The scope of a block with local names, each of which stands for an axis of the one around.

    The arrays at the places of ops have the sizes and kinds of the axes around the block, the
    ``written`` patterns of ops only the sizes, and the ``stated`` types of blocks neither.
    """

    def __init__(self, outer: GlobalScope | LocalScope, names: Mapping[str, Axis]) -> None:
        self.outer, self.names = outer, names
        self.made: dict[int, Any] = {}  # terms and values, by the ids of the old ones
        self.sited: dict[tuple[int, int], tuple[Op, Site]] = {}  # by the old ones' ids
        self.placed, self.written = AxisRewriter(self._array_axis), AxisRewriter(self._pattern_axis)
        self.stated = AxisRewriter(self._block_type_axis)

    def is_open(self, axis: Axis) -> bool:
        own = axis.name in self.names
        return axis.size is None if own else self.outer.is_open(axis)

    def _outer_axis(self, axis: Axis) -> Axis:
        """Returns the axis around the block that a local one stands for, with its size."""
        unsized = self.names[axis.name]
        found = self.outer.placed.axis(unsized)
        sequence = axis.sequence or unsized.sequence
        if axis.size not in (None, found.size) or (sequence and not found.sequence):
            raise SizeError(f"the size of {axis.name} must be solved for")
        return found

    def _array_axis(self, axis: Axis) -> Axis:
        if axis.name not in self.names:
            return self.outer.placed.axis(axis)
        around = self._outer_axis(axis)
        sequence, label = axis.sequence or around.sequence, around.label or axis.label
        return replace(axis, size=around.size, sequence=sequence, label=label)

    def _pattern_axis(self, axis: Axis) -> Axis:
        if axis.name not in self.names:
            return self.outer.written.axis(axis)
        return replace(axis, size=self._outer_axis(axis).size)

    def _block_type_axis(self, axis: Axis) -> Axis:
        if axis.name not in self.names:
            return self.outer.stated.axis(axis)
        if axis.size is not None:
            self._outer_axis(axis)
        return axis


Scope = GlobalScope | LocalScope


# --- The rebuilding of a circuit with other sizes, part by part


class Resizer:
    """Rebuilds the circuit of a term without sizes.

    Args:
        sizes: The size and kind of each name.
        formulas: The names whose sizes follow from others by a formula.
        solved: What follows from those for other names.

    Raises:
        NCDError: For sizes that do not fit, or that must be solved for.
    """

    def __init__(self, sizes: Sizes, formulas: Collection[str], solved: SizeSolution) -> None:
        self.whole, self.solved = GlobalScope(sizes, formulas, solved), solved
        self.scopes: dict[str, Scope] = {"": self.whole}  # inside each fence, by its id
        self.inner: dict[Any, LocalScope] = {}  # by the scope around it and the names
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
            _, own = fence.term.to_local(type_of(fence.states[0]))
            names = {axis.name: axis for axis in fence.term.dom.axes} | own
            for value in fence.states[-1]:
                if value.array.below and value.array.below.name in names:
                    raise SizeError(f"{value.array.below.name} is local, and its numbers leave")
            key = id(outer), tuple(names.items())
            inner = self.inner.setdefault(key, LocalScope(outer, names))
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
        op: Op = self._with_fields(cell.op, self._fields(cell.op, scope, scope.stated), scope)
        return not all(
            array.has_all_sizes
            for array in op.infer_outputs(type_of(self._state(cell.inputs, scope)))
        )

    def _scope(self, unit: Unit) -> Scope:
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
            return self._resize_with_locals(term, scope)
        found = scope.made.get(id(term))
        if found is None:
            found = scope.made[id(term)] = self._with_fields(term, self._fields(term, scope), scope)
        return found

    def _resize_with_locals(self, term: Term, scope: Scope) -> Any:
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
            found = self.parted[key] = self._with_fields(term, new, inner)
        if fence is not None:
            self.built[fence.id] = found
        return found

    def _fields(
        self, term: Term, scope: Scope, arrays: AxisRewriter | None = None
    ) -> dict[str, Any]:
        def field(name: str, value: Any) -> Any:
            if isinstance(value, Term):
                return self._term(value, scope)
            if type(value) is tuple and value and isinstance(value[0], Term):
                new = tuple([self._term(part, scope) for part in value])
                return value if all(map(is_, new, value)) else new
            stated = isinstance(term, Block) and name == "type"
            return (scope.stated if stated else arrays or scope.written).field(value)

        return {name: field(name, term.__dict__[name]) for name in field_names(type(term))}

    def _with_fields(self, term: Term, new: dict[str, Any], scope: Scope) -> Any:
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
                new["flow"] = ChainType(arrays.type(dom), arrays.type(cod), origins)
        found.__dict__.update(new, depth=term.depth, count=term.count, nodes=term.nodes)
        return found

    def _resize_fence_term(self, id: str, scope: Scope, term: Term) -> Any:
        return self.built[id] if id in self.built else self._term(term, scope)

    # --- circuits --------------------------------------------------------------------------------

    def _state(self, state: Boundary, scope: Scope) -> Boundary:
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
        several = self.solved.ambiguous
        return any(axis.name in several for axis in Type((array,)).axes) if several else False

    def _by_slot(self, value: Value, scope: Scope) -> Array:
        def axis(old: Axis, place: object) -> Axis:
            if old.name not in self.solved.ambiguous:
                return scope.placed.axis(old)
            found = self.solved.slots[value.id, place]
            return replace(old, size=found.size, sequence=old.sequence or found.sequence)

        axes = [axis(old, place) for place, old in enumerate(value.array)]
        return Array(axes, value.array.below and axis(value.array.below, "#"))

    def _column(self, state: Boundary, base: Scope) -> Boundary:
        """Returns the arrays of a column, of which some may be inside a block with local names."""
        return tuple([self._value(v, self.within.get(id(v), base)) for v in state])

    def _circuit(self, circuit: Circuit, term: Term, base: Scope, times: int) -> Circuit:
        states = tuple([self._column(state, base) for state in circuit.states])
        steps = tuple([tuple([self._unit(unit, times) for unit in s]) for s in circuit.columns])
        fences = tuple([self._fence(fence, base) for fence in circuit.own_fences])
        return Circuit(term, states, steps, fences)

    def _unit(self, unit: Unit, times: int) -> Unit:
        return self._loop(unit, times) if isinstance(unit, Loop) else self._cell(unit, times)

    def _cell(self, cell: Cell, times: int) -> Cell:
        scope = self._scope(cell)
        inputs, outputs = self._state(cell.inputs, scope), self._state(cell.outputs, scope)
        if self.solved.ambiguous:
            op, site = self._resize_site(cell, inputs, outputs, scope)
        else:  # equal layers share their ops and their sites
            key = id(cell.op), id(cell.site)
            if key not in scope.sited:
                scope.sited[key] = self._resize_site(cell, inputs, outputs, scope)
            op, site = scope.sited[key]
        return Cell(
            cell.id, op, site, inputs, outputs, cell.name, cell.fences, cell.module_path, times
        )

    def _resize_site(
        self, cell: Cell, inputs: Boundary, outputs: Boundary, scope: Scope
    ) -> tuple[Op, Site]:
        """Returns the op and its site with their sizes."""
        op: Op = self._term(cell.op, scope)
        self._check_kinds(cell, outputs, scope)
        labels = any(a.label for value in cell.inputs for a in value.array)
        varies = any(self._varies(value.array) for value in (*cell.inputs, *cell.outputs))
        if type(op).solve is Op.solve and not labels and not varies:  # it makes no new axes
            site = _site(cell.site, scope.placed)
            if type(op).check_axes is not Op.check_axes:
                own = (*site.own_inputs.axes, *site.own_outputs.axes, *site.reads)
                op.check_axes(Binding({axis.name: axis for axis in own}))
            op.check_arrays(site)
        else:
            site = op.apply_to(type_of(inputs))
        op.check_numbers(site)
        if site.outputs != type_of(outputs):
            raise MismatchError(f"{op.display_name} gives ({site.outputs})")
        return op, site

    def _check_kinds(self, cell: Cell, outputs: Boundary, scope: Scope) -> None:
        """Raises SizeError for an op that makes an axis whose size, but not kind, is another's."""
        if type(cell.op).solve is not Op.solve:
            return
        known = {axis.name for axis in type_of(cell.inputs).axes}
        local = scope.names if isinstance(scope, LocalScope) else ()
        free = {*self.solved.axes, *local}
        for axis in type_of(outputs).axes:
            if axis.sequence and axis.name in free and axis.name not in known:
                raise SizeError(f"the kind of {axis.name} must be solved for")

    def _loop(self, loop: RepeatLoop | ScanLoop, times: int) -> RepeatLoop | ScanLoop:
        scope = self._scope(loop)
        term = self._resize_fence_term(loop.id, scope, loop.term)
        bodies = term.bodies if isinstance(term, Repeat) else (term.body,)
        if isinstance(loop, ScanLoop):
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
        term = fence.term and self._resize_fence_term(
            fence.id, self.scopes[fence.parent], fence.term
        )
        return Fence(
            fence.id, fence.title, fence.role, fence.first_state,
            tuple([self._column(state, base) for state in fence.states]),
            fence.parent, fence.repeats, term, fence.scope,
        )  # fmt: skip


def _is_local(term: Term | None) -> bool:
    return isinstance(term, Block) and term.local


def _site(site: Site, arrays: AxisRewriter) -> Site:
    dom, cod, ins, outs = map(
        arrays.type, (site.own_inputs, site.own_outputs, site.inputs, site.outputs)
    )
    return Site(dom, cod, ins, outs, arrays.array(site.reads))


def type_of(state: Boundary) -> Type:
    """Returns the arrays of a state, without their ids."""
    return Type([value.array for value in state])


# --- Resizing: the circuit of a term at other sizes, from its circuit without sizes

SizeArguments = Mapping[str, int | str | SizeWithKind]


class UnsizedCircuit(NamedTuple):
    """A term without sizes as a circuit, its places, and the names of its axes in all of it.

    ``sized_names`` are the names that have a size in the term; ``has_conflicting_sizes`` tells
    whether one of them has none or another one elsewhere, or is local; ``has_nested_scopes``
    whether there are scans or local names.
    """

    circuit: Circuit
    places: tuple[SizeConstraint, ...]
    names: set[str]
    sized_names: set[str]
    has_conflicting_sizes: bool
    has_nested_scopes: bool


_CIRCUITS: LRUCache[Any, Circuit] = LRUCache(256)  # by the sketch and its sizes
_UNSIZED_CIRCUITS: LRUCache[Term, UnsizedCircuit | None] = LRUCache(64)
_LOCK = Lock()


def clear_caches() -> None:
    """Empties the caches, so that the next circuit is placed from the start."""
    with _LOCK:
        _CIRCUITS.clear()
        _UNSIZED_CIRCUITS.clear()


def circuit_of(sketch: Term, given: SizeArguments, solve: Callable[[], Circuit]) -> Circuit:
    """Returns the circuit of a term at these sizes, from ``solve`` where resizing cannot do it."""
    found = _split_arguments(given)
    if found is None:
        return solve()
    sizes, formulas = found
    key = HashedKey(sketch, *sizes.items(), *formulas.items())
    with _LOCK:
        known = _CIRCUITS.get(key)
    if known is not None:
        return known
    before = _unsized_circuit(sketch)
    circuit = before and _resize_if_fits(before, sizes, formulas)
    circuit = circuit or solve()
    with _LOCK:
        _CIRCUITS[key] = circuit
    return circuit


def _unsized_circuit(sketch: Term) -> UnsizedCircuit | None:
    """Returns the circuit of an unsized term; None if it cannot be placed without sizes."""
    with _LOCK:
        if sketch in _UNSIZED_CIRCUITS:
            return _UNSIZED_CIRCUITS[sketch]
    found: UnsizedCircuit | None = None
    with suppress(NCDError):
        builder = CircuitBuilder()
        strip = builder.build(sketch, builder.values(sketch.dom), 0, Surroundings())
        circuit = strip.circuit(sketch, builder.fences)
        found = _summarise(circuit, tuple(builder.places))
    with _LOCK:
        _UNSIZED_CIRCUITS[sketch] = found
    return found


def _summarise(circuit: Circuit, places: tuple[SizeConstraint, ...]) -> UnsizedCircuit:
    names = {name for place in places for name in place.slots.keys() - place.local}
    local = {name for place in places for name in place.local}
    sizes: dict[str, set[Size | None]] = {}
    for value in circuit.values.values():
        for axis in Type((value.array,)).axes:
            sizes.setdefault(axis.name, set()).add(axis.size)
    stated = {name for name, own in sizes.items() if own != {None}}
    mixed = any(len(sizes[name]) > 1 or name in local for name in stated)
    nested = bool(local) or bool(circuit.scans)
    known = {name for name in names if " " not in name}
    return UnsizedCircuit(circuit, places, known, stated, mixed, nested)


def _split_arguments(given: SizeArguments) -> tuple[dict[str, SizeWithKind], dict[str, str]] | None:
    """Returns all sizes as numbers, and the formulas; None if a size cannot be computed."""
    marks = {n: v if isinstance(v, SizeWithKind) else SizeWithKind(v) for n, v in given.items()}
    formulas = {name: mark.size for name, mark in marks.items() if isinstance(mark.size, str)}
    try:
        sizes = Binding(
            {n: Axis(n, m.size) for n, m in marks.items() if not isinstance(m.size, str)}
        )
        for name, text in formulas.items():
            SizeFormula(name, parse(text)).solve(sizes)
        return {n: replace(m, size=_known_size(sizes[n])) for n, m in marks.items()}, formulas
    except (NCDError, KeyError):
        return None  # the solver reports it


def _known_size(axis: Axis) -> Size:
    if axis.size is None:
        raise SizeError(f"axis {axis.name} has no size")
    return axis.size


def _size_solution(placed: UnsizedCircuit, sizes: Sizes) -> SizeSolution:
    """Returns what follows for the names that are not given."""
    if placed.names <= sizes.keys():
        return SizeSolution({})
    found: dict[str, Axis] = {}
    several: set[str] = set()
    slots: dict[AxisOccurrence, Axis] = {}
    places = [_sized_place(place, sizes) for place in placed.places]
    for place, known in zip(places, solve(places, slots), strict=True):
        for name, axis in known.items():
            if axis.size is None or name in sizes or name in place.local:
                continue
            before = found.setdefault(name, axis)
            if before.size != axis.size:
                several.add(name)
            if axis.sequence:
                found[name] = axis
    return SizeSolution({name: found[name] for name in found.keys() - several}, several, slots)


def _sized_place(place: SizeConstraint, sizes: Sizes) -> SizeConstraint:
    own = (
        axis if axis.name in place.local else with_size(axis, sizes) for axis in place.pattern_axes
    )
    return replace(place, pattern_axes=tuple(own))


def _resize_if_fits(
    placed: UnsizedCircuit, sizes: Sizes, formulas: Collection[str]
) -> Circuit | None:
    """Returns the circuit at these sizes; None if they do not fit.

    Sizes in the term may contradict what follows for other names: then it is solved.
    """
    follows = placed.has_nested_scopes or not placed.names <= sizes.keys()
    if follows and (placed.has_conflicting_sizes or placed.sized_names & sizes.keys()):
        return None
    try:
        found = Resizer(sizes, formulas, _size_solution(placed, sizes)).circuit(placed.circuit)
        check_shared(found)
    except NCDError:
        return None
    found.term.__dict__["_circuit"] = ref(found)
    own, dom, cod = found.term.__dict__, type_of(found.inputs), type_of(found.outputs)
    own |= {"dom": dom, "cod": cod}  # saves lifting all ops again
    if isinstance(found.term, Then):
        own["flow"] = ChainType(dom, cod, placed.circuit.term.origins)
    return found
