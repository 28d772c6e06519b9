"""Stacks: consecutive equal layers are drawn once, as a repetition.

Layers are equal if their ops, axis names and wiring are; ids, weights and sizes do not count. Each
copy takes what the one before it makes.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace

from ncd.circuit.circuit import Boundary, Cell, Circuit, Fence, Loop, RepeatLoop, Unit
from ncd.drawing.plan.collapse import Subcircuit, replace_subcircuits
from ncd.language.cached_property import lazy_property
from ncd.language.op import Op

WORTH = ((2, 8), (3, 3), (6, 2))  # the least copies, and ops in each, of a stack
FEWEST = min([copies * ops for copies, ops in WORTH])
MIN_REPEATED_OPS = min(
    [(copies - 1) * ops for copies, ops in WORTH]
)  # repeated ops of the smallest stack
LONGEST = 200  # the most steps of a copy
NAME = "layers"
COUNT = re.compile(r"([^\W\d]\w*?)_?(\d+)")  # a name that ends in a number
_Looks = dict[int, tuple[Unit, Hashable]]  # keys of units, by id() of the unit


def fold_repetitions(circuit: Circuit) -> Circuit:
    """Returns the circuit with its stacks as loops, also inside loops."""
    tried: set[str] = set()
    looks: _Looks = {}
    while (found := _fold_next_stack(circuit, tried, looks)) is not None:
        circuit = found
    steps = tuple([tuple([_with_folded_body(unit) for unit in step]) for step in circuit.columns])
    return circuit if steps == circuit.columns else replace(circuit, columns=steps)


def _fold_next_stack(circuit: Circuit, tried: set[str], looks: _Looks) -> Circuit | None:
    """Returns the circuit with one more stack as a loop, or None; ``tried`` blocks are skipped."""
    again = len(circuit.cells) - len({type(cell.op) for cell in circuit.cells})
    for strip in _strips(circuit) if again >= MIN_REPEATED_OPS else ():
        if strip.id not in tried:
            found = next(_stacks(circuit, strip, looks), None)
            if found is not None:
                return found
            tried.add(strip.id)
    return None


def _with_folded_body(unit: Unit) -> Unit:
    if isinstance(unit, Cell):
        return unit
    body = fold_repetitions(unit.bodies[0])
    return unit if body is unit.bodies[0] else replace(unit, bodies=(body, *unit.bodies[1:]))


@dataclass(frozen=True)
class _Segment:
    """A circuit or a block: its states, and the units in each of its steps."""

    id: str
    first_column: int
    states: tuple[Boundary, ...]
    steps: tuple[tuple[Unit, ...], ...]
    chain: tuple[str, ...]
    fences: tuple[Fence, ...]

    @lazy_property
    def inner_states(self) -> frozenset[int]:
        """The states inside of an inner fence."""
        within = [range(fence.first_state + 1, fence.last_state) for fence in self.fences]
        return frozenset(s - self.first_column for states in within for s in states)

    @lazy_property
    def begin(self) -> Mapping[int, list[Fence]]:
        """The inner fences by the state where they begin."""
        found = defaultdict(list)
        for fence in self.fences:
            found[fence.first_state - self.first_column].append(fence)
        return found


def _strips(circuit: Circuit) -> Iterator[_Segment]:
    """Yields the circuit, then its blocks, the outermost first."""
    loops = {unit.id for unit in circuit.units if isinstance(unit, Loop)}
    children: dict[str, list[Fence]] = {}
    for fence in circuit.own_fences:
        if fence.id not in loops:
            children.setdefault(fence.parent, []).append(fence)
    known = {fence.id for fence in circuit.own_fences}
    top = tuple(f for f in circuit.own_fences if f.id not in loops and f.parent not in known)
    around = top[0].parent if top else ""
    chain = tuple(id for u in circuit.units[:1] for id in u.fences if id not in known)
    yield _Segment(chain[-1] if chain else around, 0, circuit.states, circuit.columns, chain, top)
    for fence in circuit.own_fences:
        if fence.id in loops or len(fence.states) < 3:
            continue
        steps = tuple(
            tuple(unit for unit in step if fence.id in unit.fences)
            for step in circuit.columns[fence.first_state : fence.last_state]
        )
        own = next((unit.fences for step in steps for unit in step), ())
        chain = own[: own.index(fence.id) + 1] if fence.id in own else ()
        inner = tuple(children.get(fence.id, ()))
        yield _Segment(fence.id, fence.first_state, fence.states, steps, chain, inner)


def _stacks(circuit: Circuit, strip: _Segment, looks: _Looks) -> Iterator[Circuit]:
    """Yields the circuit with the first stack of a strip as a loop, if there is one."""
    if sum(map(len, strip.steps)) < FEWEST:
        return
    kinds: dict[Hashable, int] = {}
    marks = [kinds.setdefault(_look(step, looks), len(kinds)) for step in strip.steps]
    for a, period, end in _runs(marks):
        for start in _starts(strip, a, period):
            alike = _alike(strip, start, period, (end - start) // period)
            if _worth(strip, start, period, alike):
                yield _with_loop(circuit, strip, start, period, alike)
                return


def _look(step: Sequence[Unit], looks: _Looks) -> Hashable:
    """Returns a key of a step that ignores its wiring."""
    for unit in step:
        if id(unit) not in looks:
            looks[id(unit)] = unit, _kind(unit)
    return tuple([looks[id(unit)][1] for unit in step])


def _kind(unit: Unit) -> Hashable:
    arrays = tuple(str(v.array) for v in (*unit.inputs, *unit.outputs))
    if isinstance(unit, Cell):
        return _op(unit.op), arrays
    bodies = tuple(_kind(u) for u in unit.bodies[0].units)
    return unit.kind, len(unit.bodies), getattr(unit, "axis", ""), arrays, bodies


def _op(op: Op) -> Hashable:
    """Returns a key of an op without its name and sizes."""
    own = (getattr(op, f.name) for f in fields(op) if f.name != "name")  # type: ignore[arg-type]
    return type(op), tuple(map(str, own))


def _runs(marks: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yields repeated runs of a sequence as start, period and end, the longest first."""
    found = []
    n = len(marks)
    for period in range(1, min(n // 2, LONGEST) + 1):
        same = 0
        for i in range(n - period + 1):
            if i + period < n and marks[i] == marks[i + period]:
                same += 1
                continue
            if same >= period:
                found.append((same + period, period, i - same))
            same = 0
    kept: list[tuple[int, int, int]] = []
    for length, period, a in sorted(found, key=lambda run: (-run[0], run[1])):
        run = (a, period, a + length)
        if not any(period % p == 0 and x <= a and run[2] <= y for x, p, y in kept):
            kept.append(run)  # but no run whose copies are themselves runs
    yield from kept


def _starts(strip: _Segment, a: int, period: int) -> list[int]:
    """Returns possible starts of the first copy: between blocks, where the fewest arrays pass."""
    whole = [s for s in range(a, a + period) if s not in strip.inner_states]
    return sorted(whole, key=lambda s: (len(strip.states[s]), s))


def _alike(strip: _Segment, start: int, period: int, most: int) -> int:
    """Returns how many copies from here also agree in wiring and blocks."""
    count, first = 0, None
    while count < most:
        here = _wiring(strip, start + count * period, period)
        first = first or here
        if here != first or start + (count + 1) * period in strip.inner_states:
            break
        count += 1
    return count


def _wiring(strip: _Segment, a: int, period: int) -> Hashable:
    """Returns the steps of a copy with its arrays numbered in order of occurrence."""
    number: dict[str, int] = {}

    def count(state: Boundary) -> tuple[int, ...]:
        return tuple(number.setdefault(v.id, len(number)) for v in state)

    found: list[Hashable] = [count(strip.states[a])]
    for s in range(a, a + period):
        units = [(count(u.inputs), count(u.outputs), _kind(u)) for u in strip.steps[s]]
        begun = [
            (f.title, f.role, f.last_state - strip.first_column - a) for f in strip.begin.get(s, ())
        ]
        inside = [fence for fence in begun if fence[-1] <= period]
        found.append((tuple(units), count(strip.states[s + 1]), tuple(inside)))
    return tuple(found)


def _worth(strip: _Segment, start: int, period: int, copies: int) -> bool:
    ops = sum(len(step) for step in strip.steps[start : start + period])
    return any(copies >= fewest and ops >= least for fewest, least in WORTH)


def _with_loop(circuit: Circuit, strip: _Segment, start: int, period: int, copies: int) -> Circuit:
    """Returns the circuit with a loop in place of the copies."""
    end = start + period * copies
    low, high = _passing_counts(strip, start, end)
    states = [state[low : len(state) - high] for state in strip.states[start : end + 1]]
    first = next(u.id for step in strip.steps[start:end] for u in step)
    id = f"s{first[1:]}"
    bodies = tuple(
        _body(circuit, strip, start + n * period, states[n * period : (n + 1) * period + 1], id)
        for n in range(copies)
    )
    bodies = (_indexed_body(bodies), *bodies[1:])
    loop = RepeatLoop(
        id, circuit.term, states[0], states[-1], bodies, NAME, strip.chain,
    )  # fmt: skip
    begin = strip.first_column + start
    part = Subcircuit(begin, tuple(states), strip.chain[-1] if strip.chain else strip.id)
    found = replace_subcircuits(circuit, [(part, loop)])
    at = next(s for s, step in enumerate(found.columns) if loop in step)
    fence = Fence(id, "", "repeat", at, (loop.inputs, loop.outputs), part.fence, copies)
    return replace(found, own_fences=_insert_fence(found.own_fences, fence))


def _indexed_body(bodies: Sequence[Circuit]) -> Circuit:
    """Returns the first copy; its layers are named W_λ if the copies have W0 and W1."""
    named = [[getattr(cell.op, "name", "") for cell in body.cells] for body in bodies]
    labels = [_indexed_name(names) for names in zip(*named, strict=True)]
    ops = {
        cell.id: replace(cell.op, name=label)  # type: ignore[type-var]
        for cell, label in zip(bodies[0].cells, labels, strict=True)
        if label
    }

    def unit(old: Unit) -> Unit:
        return replace(old, op=ops[old.id]) if isinstance(old, Cell) and old.id in ops else old

    steps = tuple(tuple(map(unit, step)) for step in bodies[0].columns)
    return replace(bodies[0], columns=steps)


def _indexed_name(names: Sequence[str]) -> str:
    """Returns a name for layers of several names: ``W_λ`` for W0, W1, and ``λ`` for W, V.

    >>> _indexed_name(["W0", "W1"]), _indexed_name(["W0", "V0"]), _indexed_name(["W", "W"])
    ('W_λ', 'λ', '')
    """
    if len(set(names)) == 1:
        return ""
    parts = [COUNT.fullmatch(name) for name in names]
    letters = {part[1] for part in parts if part}
    counts = {part[2] for part in parts if part}
    alike = len(letters) == 1 and len(counts) == len(names)
    return f"{letters.pop()}_λ" if alike else "λ"


def _insert_fence(fences: tuple[Fence, ...], fence: Fence) -> tuple[Fence, ...]:
    """Inserts a fence right after the one around it."""
    at = next((n + 1 for n, f in enumerate(fences) if f.id == fence.parent), 0)
    return (*fences[:at], fence, *fences[at:])


def _passing_counts(strip: _Segment, start: int, end: int) -> tuple[int, int]:
    """Returns how many arrays above and below a stack only pass it."""
    units = [u for step in strip.steps[start:end] for u in step]
    used = {v.id for u in units for v in (*u.inputs, *u.outputs)}
    states = strip.states[start : end + 1]
    low = high = 0
    least = min(map(len, states))
    while low < least and states[0][low].id not in used:
        low += 1
    while high < least - low and states[0][-1 - high].id not in used:
        high += 1
    return low, high


def _body(
    circuit: Circuit, strip: _Segment, start: int, states: Sequence[Boundary], id: str
) -> Circuit:
    """Returns one copy as a circuit."""
    low = strip.first_column + start
    high = low + len(states) - 1
    steps = tuple(
        tuple(_with_stack_fence(unit, strip.chain, id) for unit in step)
        for step in strip.steps[start : start + len(states) - 1]
    )
    inner: list[Fence] = []
    known = {f.id for f in strip.fences if low <= f.first_state and f.last_state <= high}
    for fence in circuit.own_fences:
        if fence.id in known or fence.parent in known:
            known.add(fence.id)
            outer = id if fence.parent == strip.id or fence in strip.fences else fence.parent
            inner.append(replace(fence, first_state=fence.first_state - low, parent=outer))
    return Circuit(circuit.term, tuple(states), steps, tuple(inner))


def _with_stack_fence(unit: Unit, chain: tuple[str, ...], id: str) -> Unit:
    """Returns a unit with the stack among its fences."""
    n = len(chain)
    return replace(unit, fences=(*unit.fences[:n], id, *unit.fences[n:]))
