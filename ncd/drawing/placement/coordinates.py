"""Coordinates: the y of every wire, the x of states and steps, and the width of an op."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import chain, pairwise
from math import inf

import numpy as np
from highspy._core import MatrixFormat, ObjSense, _Highs

from ncd.drawing.elements import style
from ncd.drawing.elements.labels import math, wrap
from ncd.drawing.elements.plan_columns import SCALAR, Plan, PlanFence, PlanItem, Port, Rows
from ncd.drawing.elements.primitives import Path, Point, line
from ncd.drawing.elements.routing import (
    Contraction,
    GlyphCanvas,
    Side,
    bend_width,
    contraction,
    contracts,
    cross_wires,
    crossing_width,
    dots,
    fall_width,
    inset,
    room,
)
from ncd.drawing.marks.marks import (
    bend_side,
    footroom,
    foreign,
    headroom,
    in_marks,
    kind,
    mark_bend,
    mark_width,
)
from ncd.drawing.placement.axis_labels import Names
from ncd.drawing.placement.repeated_parts import RepeatedPart
from ncd.drawing.placement.thumbnail_places import NOWHERE, ThumbnailPlaces
from ncd.drawing.placement.wire_order import Border, Gaps, Room, WireGroup, at_marks, mark_order
from ncd.language.cached_property import lazy_property

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
TOLERANCE = 1e-6  # drawing units


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
        if s > part.first:
            part.separate_glyphs(plan.steps[s - 1])
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
    last: dict[tuple[str, str], PlanFence] = {}
    for fence in sorted(plan.fences, key=lambda fence: fence.first_column):
        layer = fence.title, fence.parent
        old = last.get(layer)
        if (
            fence.title.strip()
            and old
            and old.last_column <= fence.first_column < fence.last_column
        ):
            found |= {fence.first_column: old.first_column, fence.last_column: fence.first_column}
        last[layer] = fence
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
        self.glyph_gaps: list[Bend] = []  # seldom needed, as the gaps of states keep most apart

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

    def separate_glyphs(self, step: Sequence[PlanItem]) -> None:
        """Adds the distances between glyphs of the last step, over both sides of each.

        In one state they are kept by what stands between the arrays.
        """
        before, after = ([*wires.items()] for wires in self.wires[-2:])  # from top to bottom
        marked = []
        for unit in [unit for unit in step if unit.glyph.marks] if len(step) > 1 else ():
            ins = [place for port, place in before if port in unit.ins]
            outs = [place for port, place in after if port in unit.outs]
            if ins or outs:
                marked.append((unit.glyph, ins or outs, outs or ins))
        for (upper, ins, outs), (lower, lower_ins, lower_outs) in pairwise(marked):
            least = style.ARRAY_GAP + footroom(upper) + headroom(lower)
            for (above, down), (below, up) in ((ins[-1], lower_outs[0]), (outs[-1], lower_ins[0])):
                self.glyph_gaps.append((above, below, least + down - up, *GAP))

    def rows(self, start: float) -> Iterator[Rows]:
        """Yields the rows of its states, the first wire of the first one at ``start``."""
        bends = [(*key, *cost) for key, cost in self.bends.items()]
        found = self.straight() or levels(self.count, (*bends, *self.gaps))
        if any(found[b] - found[a] < least - TOLERANCE for a, b, least, *_ in self.glyph_gaps):
            found = levels(self.count, (*bends, *self.gaps, *self.glyph_gaps))
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


# --- The x coordinates of states and steps, and the width of an op

# From left to right: wires change their order so that those of a mark or cap are adjacent, then
# come the marks and caps, then the wires change back.


# --- The width of an op, and its canvas


class OpRouting:
    """The routing of an op's wires between their rows before and after it."""

    def __init__(self, unit: PlanItem, ins: Sequence[float], outs: Sequence[float]) -> None:
        unit = _with_level_copy(unit, ins, outs)
        self.unit, self.glyph, self.ins, self.outs = unit, unit.glyph, ins, outs
        self.at, self.to = at_marks(unit, ins, outs)
        self.wide, self.late = mark_width(unit.glyph), late(unit)
        self.contraction = (
            contraction(unit.glyph, self.at, self.to) if contracts(unit.glyph) else None
        )
        self.ended = in_marks(unit.glyph)[0] if self.contraction else frozenset[int]()
        pairs = enumerate(zip(ins, self.at, strict=True))
        self.come = [pair for i, pair in pairs if i not in self.ended]
        self.go = list(zip(self.to, outs, strict=True))
        self.before, self.behind = crossing_width(self.come), crossing_width(self.go)

    @lazy_property
    def width(self) -> float:
        """Its width."""
        wide = (
            self._contraction_width(self.contraction)
            if self.contraction
            else self._uncontracted_width
        )
        return self.before + wide + self.behind

    @property
    def bend_start(self) -> float:
        """The distance from the left of a contraction at which passing arrays may bend."""
        assert self.contraction is not None
        return self.before + self.wide + self.contraction.end + style.CAP_CLEAR

    @property
    def _wires(self) -> list[tuple[float, float]]:
        return [(self.at[i], self.to[o]) for i, o in self.glyph.through]

    def _contraction_width(self, met: Contraction) -> float:
        wires = self._wires
        bend = max((abs(b - a) for a, b in wires), default=0.0)
        fall = max(fall_width(bend) - style.CAP_CLEAR, crossing_width(wires)) if bend else 0.0
        return self.wide + max(met.end + style.CAP_WAY, met.bend_start + fall + met.behind)

    @property
    def _uncontracted_width(self) -> float:
        glyph, ins, outs = self.glyph, self.at, self.to
        early = [split for split in glyph.splits if split[0] not in self.late]
        before, behind = inset(dots(early, 0, ins, outs)), inset(dots(glyph.joins, 1, outs, ins))
        woven = crossing_width(self._wires)
        rooms = [before + woven + behind]
        bend = mark_bend(glyph, ins, outs)
        rooms += [bend_width(bend) + style.BAR[2]] if bend else []
        rooms += [room(early, 0, ins, outs) + behind, before + room(glyph.joins, 1, outs, ins)]
        rooms[-1] += woven if glyph.joins else 0.0
        most = max(rooms) + self.later
        return self.wide + most if bend_side(glyph) else max(self.wide, most)

    @lazy_property
    def later(self) -> float:
        """The width for the copies that leave last."""
        if not self.late:
            return 0.0
        last = [split for split in self.glyph.splits if split[0] in self.late]
        goes = dict(self.glyph.through)
        at = [self.to[goes[i]] if i in goes else 0.0 for i in range(len(self.ins))]
        return room(last, 0, at, self.to)

    def canvas(
        self, role: str, x: tuple[float, float], row: float, apex: Point | None
    ) -> GlyphCanvas:
        """Returns the canvas of the op between two x."""
        glyph, unit = self.glyph, self.unit
        begin = x[0] + self.wide if self.contraction else x[0]  # marks come before caps
        start, x1 = begin + self.before, x[1] - self.behind
        lead: list[Path] = []
        if self.contraction or start > begin:
            lead = self._lead(x[0], begin, start)
        bends: Side = bend_side(glyph)
        if not (unit.inputs and unit.outputs):  # the side of it on which passing wires bend
            bends = "behind" if unit.inputs else "before"
        return GlyphCanvas(
            role=role,
            glyph=glyph,
            x0=x[0] if self.contraction else start,
            start=start,
            contraction=self.contraction,
            x1=x1,
            ins=self.at,
            outs=self.to,
            row=row,
            foreign=foreign(glyph, self.at, self.to),
            mark_width=self.wide,
            side=bends,
            incoming_cap_apex=apex,
            lead=lead,
            late=self.late,
            later=self.later,
            trail=cross_wires(self.go, x1, x[1]) if x1 < x[1] else [],
        )

    def _lead(self, x0: float, begin: float, start: float) -> list[Path]:
        """Returns the paths to the marks: level beside a contraction, then reordered."""
        woven = iter(cross_wires(self.come, begin, start) if start > begin else [])
        found: list[Path] = []
        for i, y in enumerate(self.ins):
            path = () if i in self.ended else next(woven, ())
            if self.contraction and i not in self.ended:
                path = (line(Point(x0, y), Point(begin, y)), *path)
            found.append(path)
        return found


def _with_level_copy(unit: PlanItem, ins: Sequence[float], outs: Sequence[float]) -> PlanItem:
    """Returns the unit with its level copy as the continuing one, if the current one would bend."""
    glyph = unit.glyph
    if not glyph.splits or glyph.marks:
        return unit
    goes = {i: o for i, o in glyph.through if abs(outs[o] - ins[i]) > style.LEVEL_TOLERANCE}
    level = {
        i: o for i, o in glyph.splits if i in goes and abs(outs[o] - ins[i]) < style.LEVEL_TOLERANCE
    }
    if not level:
        return unit
    through = tuple((i, level.get(i, o)) for i, o in glyph.through)
    splits = tuple((i, goes[i] if level.get(i) == o else o) for i, o in glyph.splits)
    return replace(unit, glyph=replace(glyph, through=through, splits=splits))


def late(unit: PlanItem) -> frozenset[int]:
    """Returns the wires whose copies leave last, because that gives fewer crossings."""
    glyph = unit.glyph
    if not glyph.splits or glyph.marks:
        return frozenset()
    above = {unit.ins.index(port): n for n, port in enumerate(unit.in_places) if port in unit.ins}
    below = {unit.outs.index(p): n for n, p in enumerate(unit.out_places) if p in unit.outs}
    pairs = (*glyph.through, *glyph.splits)
    ways = [(unit.ins[i][0], above[i], below[o]) for i, o in pairs]
    goes = {i: below[o] for i, o in glyph.through}
    first: Counter[str] = Counter()
    then: Counter[str] = Counter()
    for i, o in glyph.splits:
        if i in goes:
            id, at, to = unit.ins[i][0], above[i], below[o]
            low, high = sorted((goes[i], to))
            others = [way[1:] for way in ways if way[0] != id]
            first[id] += sum((a < at) != (b < to) for a, b in others)
            then[id] += sum(low < b < high for _, b in others)
    order = [below[o] for _, o in sorted((above[i], o) for i, o in glyph.through)]
    tangled = order != sorted(order) or any(then.values())
    ids = {id for id, n in then.items() if n < first[id] or (tangled and not n)}
    return frozenset(i for i, _ in glyph.splits if unit.ins[i][0] in ids)


# --- The x coordinates of states and steps, wide enough for labels, marks, bends and fences

_Zone = tuple[float, float, float]


@dataclass(frozen=True)
class ColumnPositions:
    """The left and right of each state, the middle of its labels, and op widths by id.

    ``panel`` are the sides of a fence around everything, bands and all, in a drawing with bands.
    """

    left_edges: tuple[float, ...]
    right_edges: tuple[float, ...]
    names: tuple[float, ...]
    stretches: Mapping[str, OpRouting] = field(default_factory=dict)
    panel: tuple[float, float] | None = None

    def has_model_width(self, repeat: RepeatedPart) -> bool:
        """Returns whether a repeated part is as wide as its model."""
        wide = self.left_edges[repeat.last_state] - self.right_edges[repeat.first_state]
        model = self.left_edges[repeat.last_state - repeat.back] - self.right_edges[repeat.model]
        return abs(wide - model) < 1e-6

    def sides(self, plan: Plan, fence: PlanFence) -> tuple[float, float]:
        """Returns the left and right of a fence."""
        if self.panel and plan.is_panel(fence):
            return self.panel
        return (
            self.right_edges[fence.first_column]
            - style.PAD * plan.opening[fence.id]
            + style.FENCE_EDGE,
            self.left_edges[fence.last_column]
            + style.PAD * plan.closing[fence.id]
            - style.FENCE_EDGE,
        )


def columns(
    plan: Plan,
    rows: Sequence[Rows],
    names: Sequence[Names],
    bands: bool = False,
    repeats: Sequence[RepeatedPart] = (),
    thumbnails: ThumbnailPlaces = NOWHERE,
) -> ColumnPositions:
    """Returns the x of every state; step s goes from ``right[s]`` to ``left[s + 1]``.

    ``bands`` adds room for bands around the labels, and longer wires at both ends.
    """
    back = {s: repeat.back for repeat in repeats for s in repeat.steps}
    steps: list[float] = []
    found: dict[str, OpRouting] = {}
    for s in range(len(plan.steps)):
        steps.append(steps[s - back[s]] if s in back else _step_width(plan, s, rows, found))
    zones = _zones(plan, names, 2 * style.BAND_SIDE + style.BAND_GAP if bands else style.LABEL_GAP)
    for s, (closing, label, opening) in enumerate(zones) if thumbnails else ():
        zones[s] = closing, max(label, thumbnails.width(s)), opening
    for fence in reversed(plan.fences):
        _widen_for_title(plan, fence, steps, zones, bands and plan.is_panel(fence))
    left, right, middle, x = [], [], [], 0.0
    for s, (closing, label, opening) in enumerate(zones):
        left.append(x)
        middle.append(x + closing + label / 2)
        x += closing + label + opening
        right.append(x)
        x += steps[s] if s < len(steps) else 0.0
    panel = None
    if bands:
        panel = left[0] - style.BAND_PANEL, right[-1] + style.BAND_PANEL
        left[0], right[-1] = left[0] - style.BAND_OUT, right[-1] + style.BAND_OUT
    return ColumnPositions(tuple(left), tuple(right), tuple(middle), found, panel)


def _step_width(plan: Plan, s: int, rows: Sequence[Rows], stretches: dict[str, OpRouting]) -> float:
    """Returns the width of a step, and stores the stretches of its ops."""
    wide, bends, apart, start = style.STEP, [0.0], False, 0.0
    for unit in plan.steps[s]:
        ins, outs = [rows[s][p] for p in unit.ins], [rows[s + 1][p] for p in unit.outs]
        if unit.cell is None:
            bends += [bend_width(outs[o] - ins[i]) for i, o in unit.glyph.through]
        else:
            stretch = stretches[unit.node] = OpRouting(unit, ins, outs)
            wide = max(wide, stretch.width)
            apart |= not (unit.inputs and unit.outputs)
            start = max(start, stretch.bend_start) if unit.glyph.caps else start
    bend = max(bends)
    return wide + bend if apart else max(wide, start + bend if bend else 0.0)


def _zones(plan: Plan, names: Sequence[Names], gap: float) -> list[_Zone]:
    """Returns the widths in each state for closing fences, labels, and opening fences."""
    zones = []
    for s, (here, (closing, opening)) in enumerate(zip(names, plan.borders, strict=True)):
        around = min(gap, style.LABEL_TIGHT) if closing and opening else gap
        wide = max([label.width + around for label in here.values()], default=0.0)
        least = style.END if s in (0, len(names) - 1) else 0.0
        zones.append((closing * style.PAD, max(wide, least), opening * style.PAD))
    return zones


def _widen_for_title(
    plan: Plan, fence: PlanFence, steps: list[float], zones: list[_Zone], panel: bool
) -> None:
    """Makes room for the longest word of a title, and for the counts of brackets."""
    words = wrap(fence.title, 1.0, style.TITLE)
    need = max([line.width for line in words], default=-style.TITLE_WORD) + style.TITLE_WORD
    if fence.ends:
        need = max([math(text, style.NAME).width for text in fence.ends])
    inside = range(fence.first_column, fence.last_column)
    held = zones if panel else [zones[s] for s in inside[1:]]
    have = sum([steps[s] for s in inside]) + sum(map(sum, held))
    have += style.PAD * (plan.opening[fence.id] + plan.closing[fence.id])
    if have < need:
        for s in inside:
            steps[s] += (need - have) / len(inside)
