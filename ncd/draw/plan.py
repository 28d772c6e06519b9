"""What is to be drawn, before it has a place: states of wires, and the units between them.

A repetition is folded to its first body here, which then gives what the last body gives. Where a
system has a spatial axis its arrays are drawn from the last axis up, as the published figures draw
them (height × width on top, then channels, then the batch), whatever torch's order is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from ncd.circuit import Cell, Circuit, Fence, State, Value
from ncd.ops.spec import Glyph

Wire = tuple[str, int]  # an array's id, and the number of the axis in it


@dataclass(frozen=True)
class Unit:
    """A cell, or an array that passes on beside the cells."""

    cell: Cell | None
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    upward: bool = False

    def drawn(self, value: Value) -> tuple[Wire, ...]:
        """The wires of an array from top to bottom."""
        return _drawn(value, self.upward)

    @cached_property
    def glyph(self) -> Glyph:
        if self.cell is None:
            n = len(self.inputs[0].array)
            return Glyph(through=tuple((i, i) for i in range(n)))
        return self.cell.op.glyph(self.cell.site)

    @cached_property
    def ins(self) -> tuple[Wire, ...]:
        """The wire at each input port."""
        return tuple((v.id, i) for v in self.inputs for i in range(len(v.array)))

    @cached_property
    def outs(self) -> tuple[Wire, ...]:
        return tuple((v.id, i) for v in self.outputs for i in range(len(v.array)))


@dataclass(frozen=True)
class Plan:
    """States and, between two of them, units from top to bottom."""

    circuit: Circuit
    states: tuple[State, ...]
    steps: tuple[tuple[Unit, ...], ...]
    fences: tuple[Fence, ...]
    upward: bool

    def drawn(self, value: Value) -> tuple[Wire, ...]:
        """The wires of an array from top to bottom."""
        return _drawn(value, self.upward)

    @property
    def values(self) -> dict[str, Value]:
        return {value.id: value for state in self.states for value in state}


def _drawn(value: Value, upward: bool) -> tuple[Wire, ...]:
    order = range(len(value.array))
    return tuple((value.id, i) for i in (reversed(order) if upward else order))


def plan(circuit: Circuit) -> Plan:
    """The plan of a circuit."""
    states, cells, fences = _fold(circuit)
    upward = any(axis.spatial for value in circuit.values.values() for axis in value.array)
    steps = tuple(
        tuple(_units(state, own, upward)) for state, own in zip(states, cells, strict=False)
    )
    return Plan(circuit, tuple(states), steps, fences, upward)


def _units(state: State, cells: tuple[Cell, ...], upward: bool) -> list[Unit]:
    takers = {value.id: cell for cell in cells for value in cell.inputs}
    units: list[Unit] = []
    seen: set[str] = set()
    for value in state:
        cell = takers.get(value.id)
        if cell is None:
            units.append(Unit(None, (value,), (value,), upward))
        elif cell.id not in seen:
            seen.add(cell.id)
            units.append(Unit(cell, cell.inputs, cell.outputs, upward))
    return units


def _fold(
    circuit: Circuit,
) -> tuple[list[State], list[tuple[Cell, ...]], tuple[Fence, ...]]:
    """Leaves out every body of a repetition but the first."""
    states, fences = list(circuit.states), list(circuit.fences)
    cells = [list(step) for step in circuit.steps]
    for fence in [f for f in circuit.fences if f.repeats > 1]:
        inside = {c.id for step in cells for c in step if fence.id in c.fences}
        depth = _depth(circuit, fence)
        first = {c.id for step in cells for c in step if c.id in inside and c.scope[depth][1] == 0}
        end = max(s for s, step in enumerate(cells) for c in step if c.id in first) + 1
        last = fence.states[-1]
        body = fence.states[end - fence.first]
        swap = {old.id: new for old, new in zip(body, last, strict=True)}
        dropped = inside - first
        for s, step in enumerate(cells):
            cells[s] = [_renamed(c, swap) for c in step if c.id not in dropped]
        for s in range(end, fence.last + 1):
            states[s] = _replaced(states[s], fence.states[s - fence.first], last)
    keep = [s for s, step in enumerate(cells) if step or s == 0 or not _folded(circuit, s)]
    kept_states = [states[0]] + [states[s + 1] for s in keep]
    live = {c.id for step in cells for c in step}
    held = {f for step in cells for c in step for f in c.fences if c.id in live}
    index = {s: i for i, s in enumerate(keep)}
    kept = tuple(_narrowed(f, index, kept_states) for f in fences if f.id in held or not f.repeats)
    kept = tuple(f for f in kept if f.id in held)
    return kept_states, [tuple(cells[s]) for s in keep], kept


def _depth(circuit: Circuit, fence: Fence) -> int:
    """How many repetitions stand around this one."""
    by_id, depth, parent = {f.id: f for f in circuit.fences}, 0, fence.parent
    while parent:
        depth += by_id[parent].repeats > 0
        parent = by_id[parent].parent
    return depth


def _folded(circuit: Circuit, step: int) -> bool:
    return any(f.repeats > 1 and f.first <= step < f.last for f in circuit.fences)


def _renamed(cell: Cell, swap: dict[str, Value]) -> Cell:
    return replace(cell, outputs=tuple(swap.get(v.id, v) for v in cell.outputs))


def _replaced(state: State, old: State, new: State) -> State:
    ids = [value.id for value in old]
    start = next((i for i, v in enumerate(state) if ids and v.id == ids[0]), None)
    if start is None:
        return state
    return (*state[:start], *new, *state[start + len(old) :])


def _narrowed(fence: Fence, index: dict[int, int], states: list[State]) -> Fence:
    """The fence in the columns that are left."""
    columns = [index[s] for s in range(fence.first, fence.last) if s in index]
    first = columns[0] if columns else 0
    held = {v.id for state in fence.states for v in state}
    spans = range(first, first + len(columns) + 1)
    return replace(
        fence,
        first=first,
        states=tuple(tuple(v for v in states[s] if v.id in held) for s in spans),
    )
