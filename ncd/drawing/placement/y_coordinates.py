"""The y coordinate of every wire in every state.

Wires should be straight, and no two closer than the minimum gaps. Both form one linear program
(:mod:`ncd.drawing.placement.y_solver`). A state with a single array separates independent parts;
each part is solved alone, and equal parts once.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from ncd.drawing.base import style
from ncd.drawing.base.plan_types import SCALAR, Frame, Plan, Port, Rows, Unit
from ncd.drawing.marks import kind
from ncd.drawing.placement.port_adjacency import gathered
from ncd.drawing.placement.repeated_parts import RepeatedPart
from ncd.drawing.placement.separation import Border, Gaps, Item, Room
from ncd.drawing.placement.y_solver import GAP, Bend, levels

# Costs of a bend by one drawing unit.
PASSES = 4.0  # of a wire beside the ops
THROUGH = 3.0  # of a wire through an op
LOWERED = 1.0  # of a wire after a contraction
MARK = 2.0  # between the wires that a mark takes and those that it makes
ALIKE = 3.5  # the same where the mark takes as many as it makes
COPY = 0.03  # between a wire and its copies, or the wires that join it
STATE = 0.06  # of each unit of a state's height
HEIGHT = 1.5  # of each unit of the drawing's height
STAIR = 4.0  # between the first and the last array of a part
AGAIN = 5.0  # between a layer and the equal layer before it, for each wire
DOWN = 0.99  # bends down cost less than bends up, as in the published figures

_Want = tuple[Port, Port, float, float]  # wires before and after, their ideal distance, its cost


def rows(plan: Plan, gaps: Gaps, repeats: Sequence[RepeatedPart] = ()) -> list[Rows]:
    """Returns the y of every wire, by state; repeated parts (``repeats``) copy their model."""
    spread, rooms = gaps.spread, gaps.rooms
    wholes, alike = {*gaps.cuts}, {repeat.first: repeat for repeat in repeats}
    found: list[Rows] = [{}]
    part, before, s = _Part(0), _again(plan), 0
    while s < len(plan.states):
        stack = gaps.items(s)
        part.state(stack, rooms[s])
        for unit in plan.steps[s - 1] if s else ():
            part.step(unit, spread[s])
        if before.get(s, -1) >= part.first:
            part.level(plan, before[s], s)
        if s in wholes or s == len(plan.states) - 1:
            if s in wholes and s > part.first and len(stack) == part.begin == 1:
                part.level(plan, part.first, s, STAIR)
            found[-1:] = part.rows(min(found[-1].values(), default=0.0))
            while s in alike:
                found += _like(plan, alike[s], found)
                s = alike[s].last
            part = _Part(s)
            part.state(gaps.items(s), rooms[s])
        s += 1
    return found


def _like(plan: Plan, repeat: RepeatedPart, found: Sequence[Rows]) -> Iterator[Rows]:
    """Yields the rows of a repeated part, except those of its first state, which are known."""
    down = min(found[repeat.first].values()) - min(found[repeat.model].values())
    for s in range(repeat.first + 1, repeat.last + 1):
        model = found[s - repeat.back]
        ports = [port for value in plan.states[s] for port in plan.places(value)]
        yield {port: model[repeat.ids[port[0]], port[1]] + down for port in ports}


def _again(plan: Plan) -> Mapping[int, int]:
    """Returns the states around a layer that equals the one before, and where that one began."""
    found: dict[int, int] = {}
    last: dict[tuple[str, str], Frame] = {}
    for frame in sorted(plan.frames, key=lambda frame: frame.first):
        layer = frame.title, frame.parent
        old = last.get(layer)
        if frame.title.strip() and old and old.last <= frame.first < frame.last:
            found |= {frame.first: old.first, frame.last: frame.first}
        last[layer] = frame
    return found


class _Part:
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

    def state(self, stack: Sequence[Item], rooms: Sequence[Room]) -> None:
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

    def level(self, plan: Plan, a: int, b: int, cost: float = 0.0) -> None:
        """Asks for two states with equal axes to be level.

        It weighs more than all their bends, or as much for each array.
        """
        ends = plan.states[a], plan.states[b]
        if [v.array.names for v in ends[0]] != [v.array.names for v in ends[1]]:
            return
        for old, new in zip(*ends, strict=True):
            one, two = plan.places(old), plan.places(new)
            key = self.wires[a - self.first][one[0]][0], self.wires[b - self.first][two[0]][0], 0.0
            more = cost or AGAIN * len(one)
            lower, higher = self.bends.get(key, (0.0, 0.0))
            self.bends[key] = (lower + more, higher + more)

    def step(self, unit: Unit, spread: Collection[str]) -> None:
        """Adds the wishes of a unit between the last two states."""
        before, after = self.wires[-2:]
        for old, new, apart, cost in wants(unit, spread):
            (a, down), (b, up) = before[old], after[new]
            key = (a, b, apart + down - up)
            lower, higher = self.bends.get(key, (0.0, 0.0))
            self.bends[key] = (lower + cost * DOWN, higher + cost)

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


def wants(unit: Unit, spread: Collection[str]) -> Iterator[_Want]:
    """Yields the distances that the wires of a unit want between before and after, with weights."""
    glyph, ins, outs = unit.glyph, unit.ins, unit.outs
    if unit.cell is None:
        cost = THROUGH if unit.node else PASSES
        for i, o in glyph.through:
            yield ins[i], outs[o], 0.0, cost
        return
    falls = glyph.caps and unit.outputs[0].id not in spread
    through, (before, behind) = LOWERED if falls else THROUGH, gathered(unit)
    for i, o in glyph.through:
        yield before.get(ins[i], ins[i]), behind.get(outs[o], outs[o]), 0.0, through
    for mark in glyph.marks:
        if kind(mark).leads and mark.ins and mark.outs:
            one, two = ins[mark.ins[0]], outs[mark.outs[0]]
            yield before.get(one, one), behind.get(two, two), 0.0, 2 * THROUGH
    for i, o in () if glyph.caps else (*glyph.splits, *glyph.joins):
        yield ins[i], outs[o], 0.0, COPY
    for a, b, apart, cost in _marked(unit):
        yield before.get(a, a), behind.get(b, b), apart, cost
    for port in unit.out_places if unit.inputs else ():
        if port[1] == SCALAR:
            yield unit.in_places[len(unit.in_places) // 2], port, 0.0, through


def _marked(unit: Unit) -> Iterator[_Want]:
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


def _slots(unit: Unit, old: set[Port], new: set[Port]) -> Iterator[_Want]:
    before = [port for port in unit.in_places if port in old]
    behind = [port for port in unit.out_places if port in new]
    if len(before) == len(behind):
        for a, b in zip(before, behind, strict=True):
            yield a, b, 0.0, ALIKE
    else:
        for n, port in enumerate(behind):
            yield before[0], port, n * style.AXIS_GAP, MARK
