"""The y coordinate of every wire, with the fewest bends.

This is the coordinate assignment of layered drawing: the least weighted sum of all bends while all
gaps are kept (Gansner, Koutsofios, North and Vo, A technique for drawing directed graphs, 1993,
section 4.2). The dual is solved, a minimum-cost flow: one equation for each item, one unknown for
each bend and each gap. A very large program is not solved: everything is as high as its gaps allow.

Wires should be straight, and no two closer than the minimum gaps. Both form one linear program.
A state with a single array separates independent parts; each part is solved alone, and equal
parts once.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from math import inf

import numpy as np
from highspy._core import MatrixFormat, ObjSense, _Highs

from ncd.drawing.elements import style
from ncd.drawing.elements.plan_columns import SCALAR, Plan, PlanItem, Port, Region, Rows
from ncd.drawing.marks.marks import kind
from ncd.drawing.placement.repeated_parts import RepeatedPart
from ncd.drawing.placement.wire_order import Border, Gaps, Room, WireGroup, mark_order

# --- Solves for the levels at which wires bend least, as a linear program

DIGITS = 6  # decimals of the results
MAX_BENDS = 5_000  # bends and gaps that are solved; the largest system of the catalogue has 850
COLUMNS, LEAST = int(MatrixFormat.kColwise), int(ObjSense.kMinimize)
PRIMAL = 4  # HiGHS' number for the primal simplex, which needs fewer steps here than the dual
_IDLE: deque[_Highs] = deque(maxlen=4)  # solvers take longer to make than to run


# Variables ``a`` and ``b``, the ideal distance of ``b`` below ``a``, and the cost of each unit that
# ``b`` is lower or higher. A gap is a bend that costs nothing lower, and is forbidden higher.
Bend = tuple[int, int, float, float, float]
GAP = 0.0, inf


@lru_cache(maxsize=2048)
def levels(count: int, bends: tuple[Bend, ...]) -> tuple[float, ...]:
    """Returns the level of each of ``count`` items, the first being 0; levels grow downwards.

    Raises ValueError if the gaps contradict each other.

    >>> levels(3, ((0, 1, 0, 1, 1), (1, 2, 0, 1, 1), (0, 1, 20, *GAP)))
    (0.0, 20.0, 20.0)
    """
    if len(bends) > MAX_BENDS:
        return _highest(count, bends)
    found = _solved_levels(count, bends)
    return tuple([round(found[0] - level, DIGITS) for level in found])


def _highest(count: int, bends: tuple[Bend, ...]) -> tuple[float, ...]:
    """Returns the least levels that keep all gaps: the longest paths from above."""
    gaps = np.array([bend[:3] for bend in bends if bend[3:] == GAP])
    above, below = gaps[:, :2].T.astype(np.int32)
    found = np.zeros(count)
    for _ in range(count + 1):
        before = found.copy()
        np.maximum.at(found, below, found[above] + gaps[:, 2])
        if np.array_equal(found, before):
            return tuple((found - found[0]).round(DIGITS).tolist())
    raise ValueError("the gaps contradict each other")


def _solved_levels(count: int, bends: tuple[Bend, ...]) -> list[float]:
    """Returns the levels, growing upwards: the dual values of the flow's equations."""
    arcs = np.fromiter(chain.from_iterable(bends), float).reshape(-1, 5)
    apart, lower, higher = arcs.T[2:]
    starts, signs, real, none = _frame(count, len(bends))
    try:
        solver = _IDLE.pop()
    except IndexError:
        solver = _solver()
    solver.passModel(  # replaces the model before
        len(bends), count, 2 * len(bends), COLUMNS, LEAST, 0.0,
        -apart, -lower, higher, none, none, starts,
        arcs[:, :2].astype(np.int32).ravel(), signs, real,
    )  # fmt: skip
    solver.run()
    duals: list[float] = list(solver.getSolution().row_dual)
    _IDLE.append(solver)
    return duals


@lru_cache(maxsize=256)
def _frame(count: int, arcs: int) -> tuple[np.ndarray, ...]:
    """Returns the parts of a flow's matrix that depend only on its number of arcs."""
    starts = np.arange(0, 2 * arcs + 1, 2, dtype=np.int32)
    return starts, np.tile([-1.0, 1.0], arcs), np.zeros(arcs, np.int32), np.zeros(count)


def _solver() -> _Highs:
    solver = _Highs()  # Highs itself sets callbacks first, and greets on stdout when they are set
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("presolve", "off")
    solver.setOptionValue("simplex_strategy", PRIMAL)
    solver.setOptionValue("threads", 1)
    return solver


# --- The y coordinate of every wire in every state

# Costs of a bend by one drawing unit.
PASSES = 4.0  # of a wire beside the ops
THROUGH = 3.0  # of a wire through an op
LOWERED_COST = 1.0  # of a wire after a contraction
MARK = 2.0  # between the wires that a mark takes and those that it makes
ALIKE = 3.5  # the same where the mark takes as many as it makes
COPY = 0.03  # between a wire and its copies, or the wires that join it
STATE = 0.06  # of each unit of a state's height
HEIGHT = 1.5  # of each unit of the drawing's height
STAIR = 4.0  # between the first and the last array of a part
REPEAT_COST = 5.0  # between a layer and the equal layer before it, for each wire
DOWN_FACTOR = 0.99  # bends down cost less than bends up, as in the published figures

_Want = tuple[Port, Port, float, float]  # wires before and after, their ideal distance, its cost


def rows(plan: Plan, gaps: Gaps, repeats: Sequence[RepeatedPart] = ()) -> list[Rows]:
    """Returns the y of every wire, by state; repeated parts (``repeats``) copy their model."""
    spread, rooms = gaps.spread, gaps.rooms
    wholes, alike = {*gaps.cuts}, {repeat.first_state: repeat for repeat in repeats}
    found: list[Rows] = [{}]
    part, before, s = _LevelProblem(0), _repeated_states(plan), 0
    while s < len(plan.states):
        stack = gaps.items(s)
        part.state(stack, rooms[s])
        for unit in plan.steps[s - 1] if s else ():
            part.step(unit, spread[s])
        if before.get(s, -1) >= part.first:
            part.want_level(plan, before[s], s)
        if s in wholes or s == len(plan.states) - 1:
            if s in wholes and s > part.first and len(stack) == part.begin == 1:
                part.want_level(plan, part.first, s, STAIR)
            found[-1:] = part.rows(min(found[-1].values(), default=0.0))
            while s in alike:
                found += _like(plan, alike[s], found)
                s = alike[s].last_state
            part = _LevelProblem(s)
            part.state(gaps.items(s), rooms[s])
        s += 1
    return found


def _like(plan: Plan, repeat: RepeatedPart, found: Sequence[Rows]) -> Iterator[Rows]:
    """Yields the rows of a repeated part, except those of its first state, which are known."""
    down = min(found[repeat.first_state].values()) - min(found[repeat.model].values())
    for s in range(repeat.first_state + 1, repeat.last_state + 1):
        model = found[s - repeat.back]
        ports = [port for value in plan.states[s] for port in plan.places(value)]
        yield {port: model[repeat.ids[port[0]], port[1]] + down for port in ports}


def _repeated_states(plan: Plan) -> Mapping[int, int]:
    """Returns the states around a layer that equals the one before, and where that one began."""
    found: dict[int, int] = {}
    last: dict[tuple[str, str], Region] = {}
    for frame in sorted(plan.frames, key=lambda frame: frame.first_column):
        layer = frame.title, frame.parent
        old = last.get(layer)
        if (
            frame.title.strip()
            and old
            and old.last_column <= frame.first_column < frame.last_column
        ):
            found |= {frame.first_column: old.first_column, frame.last_column: frame.first_column}
        last[layer] = frame
    return found


class _LevelProblem:
    """States that are solved together; everything with a level has an index."""

    def __init__(self, first: int) -> None:
        self.first = first
        self.begin = 0  # the number of items in its first state
        self.depths: list[float] = []  # the heights of its states
        self.alone = True
        self.count = 2  # variables 0 and 1 are the top and the bottom of the part
        self.wires: list[dict[Port, tuple[int, float]]] = []
        self.known: dict[
            Port | Border, tuple[int, float]
        ] = {}  # of the latest state, and of borders
        self.bends = {(0, 1, 0.0): (HEIGHT, HEIGHT)}
        self.gaps: list[Bend] = []

    def state(self, stack: Sequence[WireGroup], rooms: Sequence[Room]) -> None:
        if not self.wires:
            self.begin = len(stack)
        here: dict[Port, tuple[int, float]] = {}
        n, depth, gaps = self.count, 0.0, self.gaps
        for wires, offsets, above in stack:
            if n > self.count:
                gaps.append((n - 1, n, depth + above, *GAP))
            for wire, depth in zip(wires, offsets, strict=True):
                here[wire] = self.known[wire] = n, depth
            n += 1
        if stack:
            gaps += (0, self.count, 0.0, *GAP), (n - 1, 1, depth, *GAP)
            if len(stack) > 1:
                self.bends[self.count, n - 1, 0.0] = (STATE, STATE)
        self.count = n
        self.wires.append(here)
        self.depths.append(depth)
        self.alone = self.alone and len(stack) == 1 and not rooms
        for a, b, least in rooms:
            (above, down), (below, up) = self.number(a), self.number(b)
            gaps.append((above, below, least + down - up, *GAP))

    def number(self, end: Port | Border) -> tuple[int, float]:
        """Returns the index of the item that a wire or a border belongs to, and its offset."""
        if end not in self.known:
            self.known[end] = (self.count, 0.0)
            self.count += 1
        return self.known[end]

    def want_level(self, plan: Plan, a: int, b: int, cost: float = 0.0) -> None:
        """Asks for two states with equal axes to be level.

        It weighs more than all their bends, or as much for each array.
        """
        ends = plan.states[a], plan.states[b]
        if [v.array.names for v in ends[0]] != [v.array.names for v in ends[1]]:
            return
        for old, new in zip(*ends, strict=True):
            one, two = plan.places(old), plan.places(new)
            key = self.wires[a - self.first][one[0]][0], self.wires[b - self.first][two[0]][0], 0.0
            more = cost or REPEAT_COST * len(one)
            lower, higher = self.bends.get(key, (0.0, 0.0))
            self.bends[key] = (lower + more, higher + more)

    def step(self, unit: PlanItem, spread: Collection[str]) -> None:
        """Adds the wishes of a unit between the last two states."""
        before, after = self.wires[-2:]
        for old, new, apart, cost in wants(unit, spread):
            (a, down), (b, up) = before[old], after[new]
            key = (a, b, apart + down - up)
            lower, higher = self.bends.get(key, (0.0, 0.0))
            self.bends[key] = (lower + cost * DOWN_FACTOR, higher + cost)

    def rows(self, start: float) -> Iterator[Rows]:
        """Yields the rows of its states, the first wire of the first one at ``start``."""
        bends = [(*key, *cost) for key, cost in self.bends.items()]
        found = self.straight() or levels(self.count, (*bends, *self.gaps))
        start -= found[2] if len(found) > 2 else 0.0
        for wires in self.wires:
            yield {wire: start + found[n] + y for wire, (n, y) in wires.items()}

    def straight(self) -> tuple[float, ...]:
        """Returns the levels of single arrays if none has to bend, and the total height stays."""
        if not self.alone:
            return ()
        found = [0.0, max(self.depths), 0.0]
        wishes = sorted(key for key in self.bends if key[0] > 1)
        for a, b, apart in wishes:
            if b == len(found) == a + 1:
                found.append(found[a] + apart)
            elif b >= len(found) or found[b] != found[a] + apart:
                return ()
        ends = [y + depth for y, depth in zip(found[2:], self.depths, strict=False)]
        fits = len(found) == self.count and max(ends) - min(found[2:]) <= found[1]
        return tuple(found) if fits else ()


# --- bends in a unit -----------------------------------------------------------------------------


def wants(unit: PlanItem, spread: Collection[str]) -> Iterator[_Want]:
    """Yields the distances that the wires of a unit want between before and after, with weights."""
    glyph, ins, outs = unit.glyph, unit.ins, unit.outs
    if unit.cell is None:
        cost = THROUGH if unit.node else PASSES
        for i, o in glyph.through:
            yield ins[i], outs[o], 0.0, cost
        return
    falls = glyph.caps and unit.outputs[0].id not in spread
    through, (before, behind) = LOWERED_COST if falls else THROUGH, mark_order(unit)
    for i, o in glyph.through:
        yield before.get(ins[i], ins[i]), behind.get(outs[o], outs[o]), 0.0, through
    for mark in glyph.marks:
        if kind(mark).continues_first_wire and mark.ins and mark.outs:
            one, two = ins[mark.ins[0]], outs[mark.outs[0]]
            yield before.get(one, one), behind.get(two, two), 0.0, 2 * THROUGH
    for i, o in () if glyph.caps else (*glyph.splits, *glyph.joins):
        yield ins[i], outs[o], 0.0, COPY
    for a, b, apart, cost in _mark_wants(unit):
        yield before.get(a, a), behind.get(b, b), apart, cost
    for port in unit.out_places if unit.inputs else ():
        if port[1] == SCALAR:
            yield unit.in_places[len(unit.in_places) // 2], port, 0.0, through


def _mark_wants(unit: PlanItem) -> Iterator[_Want]:
    """Yields wishes for outputs of a mark to be near its inputs, as in the figures."""
    glyph = unit.glyph
    came, went = {i for i, _ in glyph.through}, {o for _, o in glyph.through}
    for mark in glyph.marks:
        ins = {unit.ins[i] for i in mark.ins}
        new = {unit.outs[o] for o in mark.outs if o not in went}
        old = {unit.ins[i] for i in mark.ins if i not in came}
        if new and (ins or (unit.ins and not came)):
            yield from _slots(unit, ins or {*unit.ins}, new)
        elif old and mark.outs and not glyph.caps:
            yield from _slots(unit, old, {unit.outs[o] for o in mark.outs})


def _slots(unit: PlanItem, old: set[Port], new: set[Port]) -> Iterator[_Want]:
    before = [port for port in unit.in_places if port in old]
    behind = [port for port in unit.out_places if port in new]
    if len(before) == len(behind):
        for a, b in zip(before, behind, strict=True):
            yield a, b, 0.0, ALIKE
    else:
        for n, port in enumerate(behind):
            yield before[0], port, n * style.AXIS_GAP, MARK
