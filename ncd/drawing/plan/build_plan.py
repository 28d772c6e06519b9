"""Builds the plan of a circuit: its columns, with the first body of each loop in place of the loop.

Arrays keep their ids. Where a loop begins and ends, joining units connect its arrays with those of
the body. Arrays that only later bodies take end at the left bracket, and arrays that only later
bodies make begin at the right one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from ncd.drawing.base.plan_types import Frame, Plan, Unit
from ncd.drawing.plan.delay_inputs import late
from ncd.drawing.plan.frames import Fences, Strip, ids_of
from ncd.drawing.plan.junctions import settled
from ncd.lang.circuits.circuit import Cell, Circuit, Loop, State, Value
from ncd.lang.glyph import Glyph


def plan(circuit: Circuit) -> Plan:
    """Returns the plan of a circuit."""
    cells = tuple(first_bodies(circuit))
    values = (*circuit.inputs, *(v for cell in cells for v in (*cell.inputs, *cell.outputs)))
    upward = any(axis.spatial for value in values for axis in value.array)
    strip = _Folder(upward).circuit(circuit)
    frames = _outer_first(strip.frames)
    steps = tuple(map(tuple, strip.steps))
    return late(Plan(circuit, tuple(strip.states), steps, tuple(frames), upward))


def _outer_first(frames: Sequence[Frame]) -> Sequence[Frame]:
    """Returns the frames in the order of their ids, each after the one around it."""
    by_id = {frame.id: frame for frame in frames}
    depth: dict[str, int] = {}

    def of(id: str) -> int:
        if id not in depth:
            depth[id] = 1 + of(by_id[id].parent) if id in by_id else 0
        return depth[id]

    return sorted(frames, key=lambda frame: (of(frame.id), int(frame.id[1:])))


def first_bodies(circuit: Circuit) -> Iterator[Cell]:
    """Yields the cells of a circuit, without those of later bodies of its loops."""
    for unit in circuit.units:
        if isinstance(unit, Loop):
            yield from first_bodies(unit.bodies[0])
        else:
            yield unit


class _Folder:
    """Builds strips for circuits whose arrays are drawn in one direction."""

    def __init__(self, upward: bool) -> None:
        self.upward = upward
        self.known: dict[int, Unit] = {}  # the units of passing arrays, by id() of the value

    def circuit(self, circuit: Circuit) -> Strip:
        whole = Strip([circuit.states[0]])
        fences = Fences(circuit)
        for s, state in enumerate(circuit.states):
            for _ in range(fences.reached(s)):  # empty blocks need a column to be visible
                whole.steps.append(self.passing(state))
                whole.states.append(state)
            if s < len(circuit.steps):
                parts = self.parts(state, circuit.steps[s], circuit.states[s + 1])
                fences.crossed(s, parts)
                _append(whole, parts)
                whole.states[-1] = circuit.states[s + 1]
        whole.frames += fences.frames()
        return whole

    # One step ------------------------------------------------------------------------------------

    def parts(self, before: State, step: Sequence[Cell | Loop], after: State) -> list[Strip]:
        """Returns the strips of one step from top to bottom, of equal length.

        Units without inputs get a column before the others, and units without outputs one after
        them, so that wires do not bend beside them.
        """
        ordered = _ordered(before, step, after)
        own = [unit for unit in ordered if not isinstance(unit, Value)]
        first = any(not unit.inputs for unit in own) and any(unit.inputs for unit in own)
        last = any(not unit.outputs for unit in own) and any(
            unit.inputs and unit.outputs for unit in own
        )
        strips = [self.part(unit) for unit in ordered]
        for unit, strip in zip(ordered, strips, strict=True):
            if not isinstance(unit, Value) and unit.inputs:
                self.lead(strip, int(first))
        length = max([len(s.steps) for s in strips], default=0) + last
        for unit, strip in zip(ordered, strips, strict=True):
            if not isinstance(unit, Value) and not unit.outputs:
                self.lead(strip, length - len(strip.steps))
            strip.length = len(strip.steps)
            self.trail(strip, length)
        return strips

    def part(self, unit: Cell | Loop | Value) -> Strip:
        if isinstance(unit, Value):
            return Strip([(unit,)])
        if isinstance(unit, Loop):
            strip = self.loop(unit)
        else:
            strip = Strip([unit.inputs, unit.outputs], [[self.cell(unit)]])
        strip.fences = frozenset(unit.fences)
        return strip

    def cell(self, cell: Cell) -> Unit:
        ins, outs = (
            tuple([len(v.array) for v in arrays]) for arrays in (cell.inputs, cell.outputs)
        )
        glyph = settled(cell.glyph, ins, outs, self.upward)
        return Unit(cell.inputs, cell.outputs, glyph, self.upward, cell, cell.id)

    def passing(self, state: State) -> list[Unit]:
        return [self.known.get(id(value)) or self.passes(value) for value in state]

    def passes(self, value: Value) -> Unit:
        """Returns the unit of an array that passes on, the same for all steps it passes through."""
        found = self.known[id(value)] = self.join(value, value, "")
        return found

    def lead(self, strip: Strip, count: int) -> None:
        """Inserts columns at the front of a strip through which its arrays pass."""
        state = strip.states[0]
        strip.states[:0] = [state] * count
        strip.steps[:0] = [self.passing(state) for _ in range(count)]
        strip.frames[:] = [_moved(frame, count) for frame in strip.frames]

    def trail(self, strip: Strip, length: int) -> None:
        """Appends columns to a strip through which its arrays pass."""
        state = strip.states[-1]
        while len(strip.steps) < length:
            strip.states.append(state)
            strip.steps.append(self.passing(state))

    # Loops ---------------------------------------------------------------------------------------

    def loop(self, loop: Loop) -> Strip:
        """Returns the first body of a loop between its brackets."""
        body = loop.bodies[0]
        taken, given = ids_of(body.inputs), ids_of(loop.outputs)
        waiting = tuple(v for v in loop.inputs if v.id not in taken and v.id in given)
        strip = self.circuit(body)
        if loop.kind == "scan":
            waiting = ()
        strip.states = [(*state, *waiting) for state in strip.states]
        strip.steps = [[*step, *self.passing(waiting)] for step in strip.steps]
        self.enter(loop, strip)
        self.leave(loop, strip)
        self.trail(strip, 1)
        holds = tuple(map(ids_of, strip.states))
        ends, words = _counted(loop)
        parent = loop.fences[-1] if loop.fences else ""
        frame = Frame(loop.id, "", "repeat", words, 0, len(strip.steps), holds, parent, ends)
        strip.frames.append(frame)
        return strip

    def enter(self, loop: Loop, strip: Strip) -> None:
        inside = strip.states[0]
        if [v.id for v in inside] == [v.id for v in loop.inputs]:
            strip.states[0] = loop.inputs
            return
        if loop.kind == "scan":
            pairs: list[_Pair] = list(zip(loop.inputs, inside, strict=True))
        else:
            by_id = {v.id: v for v in inside}
            pairs = [(v, by_id.get(v.id)) for v in loop.inputs]
        strip.states.insert(0, loop.inputs)
        strip.steps.insert(0, self.joined(pairs, loop.id))
        strip.frames[:] = [_moved(frame, 1) for frame in strip.frames]

    def leave(self, loop: Loop, strip: Strip) -> None:
        inside = strip.states[-1]
        if [v.id for v in inside] == [v.id for v in loop.outputs]:
            strip.states[-1] = loop.outputs
            return
        strip.steps.append(self.joined(_paired(inside, loop.outputs), loop.id))
        strip.states.append(loop.outputs)

    def joined(self, pairs: Iterable[_Pair], node: str) -> list[Unit]:
        return [self.join(a, b, node) for a, b in pairs]

    def join(self, before: Value | None, after: Value | None, node: str) -> Unit:
        """Maps each array to the one that continues it in the next column, or begins or ends it."""
        if before is None or after is None:
            ends = [(v,) if v else () for v in (before, after)]
            return Unit(ends[0], ends[1], Glyph(), self.upward, None, node)
        same = before.id == after.id
        glyph = Glyph(through=_continued(before, after))
        return Unit((before,), (after,), glyph, self.upward, None, "" if same else node)


_Pair = tuple[Value | None, Value | None]


def _paired(inside: State, outside: State) -> Iterator[_Pair]:
    """Yields the arrays of a body with those of its loop.

    An array of the loop continues as itself; between two such, arrays are paired in order.
    """
    given = ids_of(outside)
    kept = [v.id for v in inside if v.id in given]
    left, right = list(inside), list(outside)
    for id in (*kept, None):
        ours = _until(left, id)
        theirs = _until(right, id)
        for i in range(max(len(ours), len(theirs))):
            yield (
                ours[i] if i < len(ours) else None,
                theirs[i] if i < len(theirs) else None,
            )
        if id is not None:
            yield left.pop(0), right.pop(0)


def _until(values: list[Value], id: str | None) -> list[Value]:
    """Removes and returns the values before the one with this id."""
    end = next((i for i, v in enumerate(values) if v.id == id), len(values))
    found, values[:] = values[:end], values[end:]
    return found


def _continued(before: Value, after: Value) -> tuple[tuple[int, int], ...]:
    """Returns the wires that continue: by place if there are equally many, else by name."""
    a, b = before.array, after.array
    if len(a) == len(b):
        return tuple((i, i) for i in range(len(a)))
    return tuple((i, b.names.index(n)) for i, n in enumerate(a.names) if n in b.names)


def _moved(frame: Frame, by: int) -> Frame:
    return replace(frame, first=frame.first + by, last=frame.last + by)


def _append(whole: Strip, parts: list[Strip]) -> None:
    """Appends parts of equal length, stacked from top to bottom, to a strip."""
    start = len(whole.steps)
    length = max([len(part.steps) for part in parts], default=0)
    for n in range(length):
        whole.steps.append([unit for part in parts for unit in part.steps[n]])
        whole.states.append(tuple([v for part in parts for v in part.states[n + 1]]))
    whole.frames += [_moved(frame, start) for part in parts for frame in part.frames]


def _ordered(before: State, step: Sequence[Cell | Loop], after: State) -> list[Cell | Loop | Value]:
    """Returns the contents of a step from top to bottom, in the order of their arrays."""
    taker = {v.id: unit for unit in step for v in unit.inputs}
    maker = {v.id: unit for unit in step for v in unit.outputs}
    taking = _once(taker.get(v.id, v) for v in before)
    giving = _once(maker.get(v.id, v) for v in after)
    known = {unit.id for unit in taking}
    found: list[Cell | Loop | Value] = []
    rest = iter(giving)
    there = {unit.id for unit in giving}
    for unit in taking:
        if unit.id in there:
            for other in rest:
                if other.id == unit.id:
                    break
                found.append(other)
        found.append(unit)
    found += rest
    seen = known | there
    return [*found, *(unit for unit in step if unit.id not in seen)]


def _once(units: Iterable[Cell | Loop | Value]) -> list[Cell | Loop | Value]:
    return list({unit.id: unit for unit in units}.values())


def _counted(loop: Loop) -> tuple[tuple[str, str], str]:
    """Returns the texts at a loop's brackets: foot and head of the left one, head of the right."""
    if loop.kind == "scan":
        arrays = (value.array for value in loop.inputs[loop.states :])
        axis = next(axis for array in arrays for axis in array if axis.name == loop.axis)
        name, end = axis.label or axis.name, "…" if axis.size is None else axis.size_text
        return (f"{name}=1", f"{name}={end}"), f"one step for each position of {axis.name}"
    n = len(loop.bodies)
    weights = "with the same weights" if loop.shared else "each with its own weights"
    return ("λ=1", f"λ={n}"), f"repeated {n} times, {weights}"
