"""Builds the plan of a circuit: columns, fences, late inputs, dots where wires join.

Otherwise it would run below everything before, as a decoder's memory below its self-attention.

Arrays keep their ids. Where a loop begins and ends, joining units connect its arrays with those of
the body. Arrays that only later bodies take end at the left bracket, and arrays that only later
bodies make begin at the right one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache

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
from ncd.drawing.elements.plan_columns import Plan, PlanFence, PlanItem
from ncd.language.op import Glyph
from ncd.words import plain_text

# --- Delays inputs: one that is not taken for long begins shortly before it is needed

WAITS = 4  # steps that an input may pass before it is delayed


def delay_inputs(plan: Plan) -> Plan:
    """Returns the plan with each input beginning where it is needed.

    >>> from ncd.drawing.plan.build_plan import plan
    >>> from ncd import elaborate
    >>> from ncd import Id, Then
    >>> from ncd.ops import Add, Softmax
    >>> term = Id("a:2, a:2") >> Then(*[Softmax("a")] * 5) >> Add()
    >>> [len(state) for state in plan(elaborate(term)).states]
    [1, 1, 1, 1, 1, 2, 1]
    """
    starts = {v.id: _start(plan, v.id) for v in plan.states[0][1:]}
    starts = {id: s for id, s in starts.items() if s > WAITS}
    if not starts:
        return plan
    states = tuple(
        tuple(value for value in state if s >= starts.get(value.id, 0))
        for s, state in enumerate(plan.states)
    )
    steps = tuple(
        tuple(unit for unit in step if not (unit.passes and s < starts.get(unit.inputs[0].id, 0)))
        for s, step in enumerate(plan.steps)
    )
    fences = tuple(_trim_fence(fence, starts) for fence in plan.fences)
    return replace(plan, states=states, steps=steps, fences=fences)


def _start(plan: Plan, id: str) -> int:
    """Returns the state before the step that takes an input."""
    for s, takers in enumerate(plan.consumers):
        if not takers[id].passes:
            return s
    return 0


def _trim_fence(fence: PlanFence, starts: Mapping[str, int]) -> PlanFence:
    holds = tuple(
        frozenset(id for id in ids if s >= starts.get(id, 0))
        for s, ids in enumerate(fence.holds, start=fence.first_column)
    )
    return replace(fence, holds=holds)


# --- The fences of a circuit, in the columns of its plan


@dataclass
class PlanBuffer:
    """A part of a plan under construction: n steps between n + 1 states."""

    states: list[Boundary]
    steps: list[list[PlanItem]] = field(default_factory=list)
    fences: list[PlanFence] = field(default_factory=list)
    fence_ids: frozenset[str] | None = None  # the fences around it; None for a passing array
    length: int = 0  # its number of steps before columns were appended


def ids_of(state: Boundary) -> frozenset[str]:
    """Returns the ids of the arrays of a state."""
    return frozenset([value.id for value in state])


class FenceTracker:
    """The fences of one circuit, except loops, while its columns are counted."""

    def __init__(self, circuit: Circuit) -> None:
        self.circuit = circuit
        loops = {unit.id for unit in circuit.units if isinstance(unit, Loop)}
        self.fences = {f.id: f for f in circuit.own_fences if f.id not in loops}
        self.first: dict[str, int] = {}
        self.last: dict[str, int] = {}
        self.inside: dict[str, dict[int, frozenset[str]]] = {id: {} for id in self.fences}
        self.states: list[int] = []  # the circuit's state at each column; -1 inside a loop
        self.bare: dict[int, list[str]] = {}  # the innermost empty blocks, by state
        self.closes: dict[int, list[str]] = {}
        empty = {
            id: fence for id, fence in self.fences.items() if fence.first_state == fence.last_state
        }
        outer = {fence.parent for fence in empty.values()}
        for id, fence in self.fences.items():
            if id in empty and id not in outer:
                self.bare.setdefault(fence.first_state, []).append(id)
            elif id not in empty:
                self.closes.setdefault(fence.last_state, []).append(id)

    def begin_state(self, s: int) -> int:
        """Starts a state, at which fences end; returns the columns for blocks around no step."""
        column = len(self.states)
        for id in self.closes.get(s, ()):
            self.last.setdefault(id, column)
        bare = self.bare.get(s, [])
        for n, id in enumerate(bare):
            self.first[id], self.last[id] = column + n, column + n + 1
            self.stretch(id, s)
        self.states += [s] * (len(bare) + 1)
        return len(bare)

    def stretch(self, inner: str, s: int) -> None:
        """Extends the fences around an empty block that begin or end with it over its column."""
        outer = self.fences.get(self.fences[inner].parent)
        while outer is not None:
            if outer.first_state == s:
                self.first.setdefault(outer.id, self.first[inner])
            if outer.last_state == s:
                self.last[outer.id] = self.last[inner]
            outer = self.fences.get(outer.parent)

    def record_step(self, s: int, parts: list[PlanBuffer]) -> None:
        """Records, for the columns of a step, the contents of each fence, and where fences end."""
        column = len(self.states) - 1
        for part in parts:
            around = self.holding(s, part) if part.fence_ids is None else part.fence_ids
            for id in around & self.inside.keys():
                if self.fences[id].last_state == s + 1:
                    end = column + max(part.length, 1)
                    self.last[id] = max(end, self.last.get(id, end))
                for n, state in enumerate(part.states[1:-1], start=1):
                    held = self.inside[id].get(column + n, frozenset())
                    self.inside[id][column + n] = held | ids_of(state)
        self.states += [-1] * (max([len(part.steps) for part in parts]) - 1 if parts else 0)

    def holding(self, s: int, part: PlanBuffer) -> frozenset[str]:
        """Returns the fences around an array that passes through a step of several columns."""
        if len(part.steps) < 2:
            return frozenset()
        ids = ids_of(part.states[0])
        return frozenset(
            id
            for id, fence in self.fences.items()
            if fence.first_state <= s < fence.last_state
            and ids <= ids_of(fence.states[s - fence.first_state])
            and ids <= ids_of(fence.states[s + 1 - fence.first_state])
        )

    def plan_fences(self) -> Iterator[PlanFence]:
        begins: dict[int, int] = {}
        for column, s in enumerate(self.states):
            begins[s] = column  # the last column of a state wins
        for id, fence in self.fences.items():
            first = self.first.get(id, begins[fence.first_state])
            last = self.last[id]
            holds = tuple([self.ids_inside(fence, column) for column in range(first, last + 1)])
            title = fence.title.strip()
            words = plain_text(title) or f"{fence.role} part"
            yield PlanFence(id, title, fence.role, words, first, last, holds, fence.parent)

    def ids_inside(self, fence: Fence, column: int) -> frozenset[str]:
        s = self.states[column]
        if s < 0:
            return self.inside[fence.id].get(column, frozenset())
        return ids_of(fence.states[s - fence.first_state])


# --- Chooses which of the wires that join at a dot continues; the others bend onto it


@lru_cache(maxsize=2048)
def choose_continuing_wires(
    glyph: Glyph, ins: tuple[int, ...], outs: tuple[int, ...], upward: bool
) -> Glyph:
    """Returns the glyph in which, at each join, the wire with the fewest crossings continues.

    ``ins`` and ``outs`` are the numbers of wires of its arrays, drawn from the last axis up if
    ``upward``. The glyph of a sum is not changed.
    """
    if not glyph.joins or any(mark.outs for mark in glyph.marks):
        return glyph
    before, behind = _places(ins, upward), _places(outs, upward)
    joined: dict[int, list[int]] = {}
    for i, o in glyph.joins:
        joined.setdefault(o, []).append(i)
    alone = [(before[i], behind[o]) for i, o in glyph.through if o not in joined]

    def crossed(port: int, o: int, met: Sequence[int]) -> int:
        at, to = before[port], behind[o]
        count = sum((at < a) != (to < b) for a, b in alone)
        return count + sum(
            min(at, before[i]) < a < max(at, before[i]) for i in met for a, _ in alone
        )

    through, joins = {o: i for i, o in glyph.through}, []
    for o, others in joined.items():
        met = [through[o], *reversed(others)]
        on = min(met, key=lambda port: crossed(port, o, met))
        joins += [(i, o) for i in sorted(met) if i != on]
        through[o] = on
    kept = tuple((through[o], o) for _, o in glyph.through)
    return replace(glyph, through=kept, joins=tuple(joins))


def _places(arrays: Sequence[int], upward: bool) -> list[int]:
    """Returns the index of each wire from the top."""
    found: list[int] = []
    for count in arrays:
        start = len(found)
        own = range(start, start + count)
        found += reversed(own) if upward else own
    return found


# --- Builds the plan of a circuit: its columns, with the first body of each loop in place of the
#     loop


def plan(circuit: Circuit) -> Plan:
    """Returns the plan of a circuit."""
    cells = tuple(first_bodies(circuit))
    values = (*circuit.inputs, *(v for cell in cells for v in (*cell.inputs, *cell.outputs)))
    upward = any(axis.spatial for value in values for axis in value.array)
    strip = _PlanBuilder(upward).circuit(circuit)
    fences = _outer_first(strip.fences)
    steps = tuple(map(tuple, strip.steps))
    return delay_inputs(Plan(circuit, tuple(strip.states), steps, tuple(fences), upward))


def _outer_first(fences: Sequence[PlanFence]) -> Sequence[PlanFence]:
    """Returns the fences in the order of their ids, each after the one around it."""
    by_id = {fence.id: fence for fence in fences}
    depth: dict[str, int] = {}

    def of(id: str) -> int:
        if id not in depth:
            depth[id] = 1 + of(by_id[id].parent) if id in by_id else 0
        return depth[id]

    return sorted(fences, key=lambda fence: (of(fence.id), int(fence.id[1:])))


def first_bodies(circuit: Circuit) -> Iterator[Cell]:
    """Yields the cells of a circuit, without those of later bodies of its loops."""
    for unit in circuit.units:
        if isinstance(unit, Loop):
            yield from first_bodies(unit.bodies[0])
        else:
            yield unit


class _PlanBuilder:
    """Builds strips for circuits whose arrays are drawn in one direction."""

    def __init__(self, upward: bool) -> None:
        self.upward = upward
        self.known: dict[int, PlanItem] = {}  # the units of passing arrays, by id() of the value

    def circuit(self, circuit: Circuit) -> PlanBuffer:
        whole = PlanBuffer([circuit.states[0]])
        fences = FenceTracker(circuit)
        for s, state in enumerate(circuit.states):
            for _ in range(fences.begin_state(s)):  # empty blocks need a column to be visible
                whole.steps.append(self.passing(state))
                whole.states.append(state)
            if s < len(circuit.columns):
                parts = self.parts(state, circuit.columns[s], circuit.states[s + 1])
                fences.record_step(s, parts)
                _append(whole, parts)
                whole.states[-1] = circuit.states[s + 1]
        whole.fences += fences.plan_fences()
        return whole

    # One step ------------------------------------------------------------------------------------

    def parts(self, before: Boundary, step: Sequence[Unit], after: Boundary) -> list[PlanBuffer]:
        """Returns the strips of one step from top to bottom, of equal length.

        Units without inputs get a column before the others, and units without outputs one after
        them, so that wires do not bend beside them.
        """
        ordered = _ordered_contents(before, step, after)
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

    def part(self, unit: Unit | Value) -> PlanBuffer:
        if isinstance(unit, Value):
            return PlanBuffer([(unit,)])
        if isinstance(unit, Loop):
            strip = self.loop(unit)
        else:
            strip = PlanBuffer([unit.inputs, unit.outputs], [[self.cell(unit)]])
        strip.fence_ids = frozenset(unit.fences)
        return strip

    def cell(self, cell: Cell) -> PlanItem:
        ins, outs = (
            tuple([len(v.array) for v in arrays]) for arrays in (cell.inputs, cell.outputs)
        )
        glyph = choose_continuing_wires(cell.glyph, ins, outs, self.upward)
        return PlanItem(cell.inputs, cell.outputs, glyph, self.upward, cell, cell.id)

    def passing(self, state: Boundary) -> list[PlanItem]:
        return [self.known.get(id(value)) or self.passes(value) for value in state]

    def passes(self, value: Value) -> PlanItem:
        """Returns the unit of an array that passes on, the same for all steps it passes through."""
        found = self.known[id(value)] = self.join(value, value, "")
        return found

    def lead(self, strip: PlanBuffer, count: int) -> None:
        """Inserts columns at the front of a strip through which its arrays pass."""
        state = strip.states[0]
        strip.states[:0] = [state] * count
        strip.steps[:0] = [self.passing(state) for _ in range(count)]
        strip.fences[:] = [_shift_fence(fence, count) for fence in strip.fences]

    def trail(self, strip: PlanBuffer, length: int) -> None:
        """Appends columns to a strip through which its arrays pass."""
        state = strip.states[-1]
        while len(strip.steps) < length:
            strip.states.append(state)
            strip.steps.append(self.passing(state))

    # Loops ---------------------------------------------------------------------------------------

    def loop(self, loop: Loop) -> PlanBuffer:
        """Returns the first body of a loop between its brackets."""
        body = loop.bodies[0]
        taken, given = ids_of(body.inputs), ids_of(loop.outputs)
        waiting = tuple(v for v in loop.inputs if v.id not in taken and v.id in given)
        strip = self.circuit(body)
        if isinstance(loop, ScanLoop):
            waiting = ()
        strip.states = [(*state, *waiting) for state in strip.states]
        strip.steps = [[*step, *self.passing(waiting)] for step in strip.steps]
        self.enter(loop, strip)
        self.leave(loop, strip)
        self.trail(strip, 1)
        holds = tuple(map(ids_of, strip.states))
        ends, words = _bracket_texts(loop)
        parent = loop.fences[-1] if loop.fences else ""
        fence = PlanFence(loop.id, "", "repeat", words, 0, len(strip.steps), holds, parent, ends)
        strip.fences.append(fence)
        return strip

    def enter(self, loop: Loop, strip: PlanBuffer) -> None:
        inside = strip.states[0]
        if [v.id for v in inside] == [v.id for v in loop.inputs]:
            strip.states[0] = loop.inputs
            return
        if isinstance(loop, ScanLoop):
            pairs: list[_Pair] = list(zip(loop.inputs, inside, strict=True))
        else:
            by_id = {v.id: v for v in inside}
            pairs = [(v, by_id.get(v.id)) for v in loop.inputs]
        strip.states.insert(0, loop.inputs)
        strip.steps.insert(0, self.join_pairs(pairs, loop.id))
        strip.fences[:] = [_shift_fence(fence, 1) for fence in strip.fences]

    def leave(self, loop: Loop, strip: PlanBuffer) -> None:
        inside = strip.states[-1]
        if [v.id for v in inside] == [v.id for v in loop.outputs]:
            strip.states[-1] = loop.outputs
            return
        strip.steps.append(self.join_pairs(_array_pairs(inside, loop.outputs), loop.id))
        strip.states.append(loop.outputs)

    def join_pairs(self, pairs: Iterable[_Pair], node: str) -> list[PlanItem]:
        return [self.join(a, b, node) for a, b in pairs]

    def join(self, before: Value | None, after: Value | None, node: str) -> PlanItem:
        """Maps each array to the one that continues it in the next column, or begins or ends it."""
        if before is None or after is None:
            ends = [(v,) if v else () for v in (before, after)]
            return PlanItem(ends[0], ends[1], Glyph(), self.upward, None, node)
        same = before.id == after.id
        glyph = Glyph(through=_continuing_wires(before, after))
        return PlanItem((before,), (after,), glyph, self.upward, None, "" if same else node)


_Pair = tuple[Value | None, Value | None]


def _array_pairs(inside: Boundary, outside: Boundary) -> Iterator[_Pair]:
    """Yields the arrays of a body with those of its loop.

    An array of the loop continues as itself; between two such, arrays are paired in order.
    """
    given = ids_of(outside)
    kept = [v.id for v in inside if v.id in given]
    left, right = list(inside), list(outside)
    for id in (*kept, None):
        ours = _take_until(left, id)
        theirs = _take_until(right, id)
        for i in range(max(len(ours), len(theirs))):
            yield (
                ours[i] if i < len(ours) else None,
                theirs[i] if i < len(theirs) else None,
            )
        if id is not None:
            yield left.pop(0), right.pop(0)


def _take_until(values: list[Value], id: str | None) -> list[Value]:
    """Removes and returns the values before the one with this id."""
    end = next((i for i, v in enumerate(values) if v.id == id), len(values))
    found, values[:] = values[:end], values[end:]
    return found


def _continuing_wires(before: Value, after: Value) -> tuple[tuple[int, int], ...]:
    """Returns the wires that continue: by place if there are equally many, else by name."""
    a, b = before.array, after.array
    if len(a) == len(b):
        return tuple((i, i) for i in range(len(a)))
    return tuple((i, b.names.index(n)) for i, n in enumerate(a.names) if n in b.names)


def _shift_fence(fence: PlanFence, by: int) -> PlanFence:
    return replace(fence, first_column=fence.first_column + by, last_column=fence.last_column + by)


def _append(whole: PlanBuffer, parts: list[PlanBuffer]) -> None:
    """Appends parts of equal length, stacked from top to bottom, to a strip."""
    start = len(whole.steps)
    length = max([len(part.steps) for part in parts], default=0)
    for n in range(length):
        whole.steps.append([unit for part in parts for unit in part.steps[n]])
        whole.states.append(tuple([v for part in parts for v in part.states[n + 1]]))
    whole.fences += [_shift_fence(fence, start) for part in parts for fence in part.fences]


def _ordered_contents(
    before: Boundary, step: Sequence[Unit], after: Boundary
) -> list[Unit | Value]:
    """Returns the contents of a step from top to bottom, in the order of their arrays."""
    taker = {v.id: unit for unit in step for v in unit.inputs}
    maker = {v.id: unit for unit in step for v in unit.outputs}
    taking = _once(taker.get(v.id, v) for v in before)
    giving = _once(maker.get(v.id, v) for v in after)
    known = {unit.id for unit in taking}
    found: list[Unit | Value] = []
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


def _once(units: Iterable[Unit | Value]) -> list[Unit | Value]:
    return list({unit.id: unit for unit in units}.values())


def _bracket_texts(loop: Loop) -> tuple[tuple[str, str], str]:
    """Returns the texts at a loop's brackets: foot and head of the left one, head of the right."""
    if isinstance(loop, ScanLoop):
        arrays = (value.array for value in loop.inputs[loop.states :])
        axis = next(axis for array in arrays for axis in array if axis.name == loop.axis)
        name, end = axis.label or axis.name, "…" if axis.size is None else axis.size_text
        return (f"{name}=1", f"{name}={end}"), f"one step for each position of {axis.name}"
    n = len(loop.bodies)
    weights = (
        "with the same weights"
        if isinstance(loop, RepeatLoop) and loop.shared
        else "each with its own weights"
    )
    return ("λ=1", f"λ={n}"), f"repeated {n} times, {weights}"
