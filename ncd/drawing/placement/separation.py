"""The minimum distances between the wires of a state, given what stands between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, product
from typing import NamedTuple

from ncd.drawing.base import style
from ncd.drawing.base.plan_types import Frame, Plan, Port, Unit
from ncd.drawing.marks import footroom, headroom
from ncd.lang.circuits.circuit import Value
from ncd.lang.once import once

SIDES = ("top", "bottom")
Border = tuple[str, str]  # a frame's id, and "top" or "bottom": its first or last wire
Room = tuple[
    Port | Border, Port | Border, float
]  # the least distance of the second below the first
_Edge = tuple[Sequence[Frame], Sequence[Frame]]


class Item(NamedTuple):
    """Wires that move together: a whole array, or one wire of an array that may be spread."""

    wires: tuple[Port, ...]
    offsets: tuple[float, ...]
    above: float  # the least distance from the last wire of the item above


class Gaps:
    """The contents between the arrays of a plan; ``titles`` are the heights of titles."""

    def __init__(self, plan: Plan, titles: Mapping[str, float]) -> None:
        self.plan, self.titles = plan, titles
        self.edges = [_edges(plan, s) for s in range(len(plan.states))]
        self.over: list[dict[str, float]] = [{} for _ in plan.states]
        self.under: list[dict[str, float]] = [{} for _ in plan.states]
        for s, step in enumerate(plan.steps):
            for unit in step:
                if unit.glyph.marks:
                    self._stand(s, unit)

    def _stand(self, s: int, unit: Unit) -> None:
        """Reserves room for marks above the first array and below the last, on both sides."""
        high, low = headroom(unit.glyph), footroom(unit.glyph)
        for at, state in ((s, unit.inputs), (s + 1, unit.outputs)):
            if state:
                head, foot = state[0].id, state[-1].id
                over, under = self.over[at], self.under[at]
                over[head] = max(over.get(head, 0.0), high)
                under[foot] = max(under.get(foot, 0.0), low)

    @once
    def spread(self) -> list[set[str]]:
        """For each state, the arrays whose wires may stand apart."""
        return spreads(self.plan)

    def count(self, s: int) -> int:
        """Returns the number of items in a state."""
        spread = self.spread[s]
        state = self.plan.states[s]
        return sum([len(self.plan.places(v)) if v.id in spread else 1 for v in state])

    def items(self, s: int) -> list[Item]:
        """Returns the items of a state from top to bottom."""
        found: list[Item] = []
        spread = self.spread[s]
        for n, value in enumerate(self.plan.states[s]):
            gap = style.ARRAY_GAP + self._between(s, n) + self.above(s, n) if n else 0.0
            wires = self.plan.places(value)
            steps = _offsets(value, wires)
            if value.id in spread:
                own = [steps[i] - steps[i - 1] if i else gap for i in range(len(wires))]
                found += [Item((w,), (0.0,), g) for w, g in zip(wires, own, strict=True)]
            else:
                found.append(Item(wires, tuple(steps), gap))
        return found

    def _between(self, s: int, n: int) -> float:
        """Returns the height of the fence borders above the nth array."""
        opens, closes = self.edges[s][n]
        need = style.PAD * max(0, len(opens) - 1) + style.PAD * max(0, len(closes) - 1)
        need += style.BETWEEN if opens and closes else 0.0
        return need + self.below(s, n - 1)

    def below(self, s: int, n: int) -> float:
        """Returns the height right below the nth array: marks, and counts of closing brackets."""
        room = self.under[s].get(self.plan.states[s][n].id, 0.0)
        return room + sum([style.BRACKET_ROOM for frame in self.closes(s, n) if frame.ends])

    def above(self, s: int, n: int) -> float:
        """Returns the height right above the nth array: titles of opening fences, and marks."""
        room = self.over[s].get(self.plan.states[s][n].id, 0.0)
        return room + sum([self._head(frame) for frame in self.edges[s][n][0]])

    def closes(self, s: int, n: int) -> Sequence[Frame]:
        """Returns the frames that end below the nth array."""
        return self.edges[s][n + 1][1]

    def _head(self, frame: Frame) -> float:
        """Returns the height above the wires in a frame."""
        return self.titles.get(frame.id, 0.0) + style.BRACKET_ROOM * bool(frame.ends)

    # Fences are rectangles -----------------------------------------------------------------------

    @once
    def rooms(self) -> list[list[Room]]:
        """Returns for each state the distances that must be kept from frames.

        A fence is as high as in its highest state, even where the array above it comes down.
        """
        found = [list(self._borders(s)) for s in range(len(self.plan.states))]
        met = {b for state in found for _, b, _ in state if b[1] == "top"}
        met |= {a for state in found for a, _, _ in state if a[1] == "bottom"}
        ends = (end for state in found for room in state for end in room[:2])
        idle = {end for end in ends if end[1] in SIDES} - met
        return [[r for r in state if r[0] not in idle and r[1] not in idle] for state in found]

    @once
    def cuts(self) -> list[int]:
        """Returns the states at which the parts before and after may be moved independently."""
        first: dict[str, int] = {}
        last: dict[str, int] = {}
        for s, state in enumerate(self.rooms):
            for border in (end for room in state for end in room[:2] if end[1] in SIDES):
                first.setdefault(border[0], s)
                last[border[0]] = s
        joined = {s for id, begin in first.items() for s in range(begin + 1, last[id])}
        return [s for s in range(len(self.rooms)) if s not in joined and self.count(s) < 2]

    def _borders(self, s: int) -> Iterator[Room]:
        state = self.plan.states[s]
        for n, (opens, closes) in enumerate(self.edges[s]):
            if not opens and not closes:
                continue
            if n:
                yield from self._under(s, state[n - 1], opens, closes)
            if n < len(state):
                yield from self._over(self.plan.places(state[n])[0], opens, closes)
            for frame, other in product(opens, closes):
                if min(frame.last, other.last) > max(frame.first, other.first):
                    apart = _foot(other) + style.LETTERS + style.BETWEEN + self._head(frame)
                    yield (other.id, "bottom"), (frame.id, "top"), apart

    def _under(
        self, s: int, value: Value, opens: Sequence[Frame], closes: Sequence[Frame]
    ) -> Iterator[Room]:
        """Yields the distances below an array in frames that end there."""
        last, room = self.plan.places(value)[-1], 0.0
        for frame in reversed(closes):
            yield last, (frame.id, "bottom"), room
            room += _foot(frame) + style.INNER
        clear = style.SKY + style.GROUND + self.under[s].get(value.id, 0.0) + style.BETWEEN
        for frame in opens:
            yield last, (frame.id, "top"), clear + self._head(frame)

    def _over(self, wire: Port, opens: Sequence[Frame], closes: Sequence[Frame]) -> Iterator[Room]:
        """Yields the distances above a wire in frames that begin there."""
        room = 0.0
        for frame in reversed(opens):
            yield (frame.id, "top"), wire, room
            room += self._head(frame) + style.INNER
        for frame in closes:
            yield (frame.id, "bottom"), wire, _foot(frame) + style.BELOW


def _edges(plan: Plan, s: int) -> list[_Edge]:
    """Returns the frames that begin and end above each array of a state and below the last."""
    around = plan.around[s]
    inside = [(), *(around.get(value.id, ()) for value in plan.states[s]), ()]
    return [_edge(above, below) for above, below in pairwise(inside)]


def _edge(above: Sequence[Frame], below: Sequence[Frame]) -> _Edge:
    if above == below:
        return (), ()
    over, under = {frame.id for frame in above}, {frame.id for frame in below}
    return [f for f in below if f.id not in over], [f for f in above if f.id not in under]


def _foot(frame: Frame) -> float:
    """Returns the height below the wires in a frame."""
    return style.GROUND + style.BRACKET_ROOM * bool(frame.ends)


def _offsets(value: Value, wires: Sequence[Port]) -> list[float]:
    """Returns the rows of an array's wires relative to its first."""
    array, found = value.array, [0.0]
    for _, (_, i) in pairwise(wires):
        wide = array[i].spatial  # its name stands higher over both its lines
        found.append(found[-1] + style.AXIS_GAP + (style.DOUBLE if wide else 0.0))
    return found


# --- arrays that may be spread -------------------------------------------------------------------


def spreads(plan: Plan) -> list[set[str]]:
    """Returns for each state the arrays that may be spread: straight until a contraction."""
    found: list[set[str]] = [set()]
    for step in reversed(plan.steps):
        found.append({v.id for unit in step for v in unit.inputs if _spread(unit, found[-1])})
    return found[::-1]


def _spread(unit: Unit, behind: set[str]) -> bool:
    if not unit.passes and len(unit.inputs) > 1 and unit.glyph.caps:
        return True
    alone = len(unit.inputs) == len(unit.outputs) == 1
    return alone and unit.outputs[0].id in behind
