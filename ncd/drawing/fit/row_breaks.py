"""Row breaks: where a long diagram is split into rows, each a plan of its own.

Breaks are cheap where few wires and fences cross them, and rows of similar length are preferred:
dynamic programming finds the breaks with the least total cost.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import ceil, inf

from ncd.drawing.base.plan_types import Frame, Plan, Unit
from ncd.drawing.fit.size_estimate import Estimate
from ncd.drawing.marks import names_its_array, takes_cap
from ncd.lang.glyph import Glyph

# Costs of a break; the squared relative deviation of a row's length is added.
WIRE_COST, ARRAY_COST = 0.02, 0.06  # for each wire and each array that it cuts
RENAMED_COST = 0.05  # right before axes are renamed
FENCE_COST, TORN_COST = 0.15, 1.0  # for each fence that it cuts: a long one, and another
SHORT = 1.3  # the length of a fence, in rows, up to which it should not be cut
ROW_COST = 0.25  # for each row
MORE = 2  # rows beyond the fewest possible that are tried


def breaks(plan: Plan, sizes: Estimate, width: float) -> list[int]:
    """Returns the states where rows begin and end, no wider than ``width`` if possible."""
    last = len(plan.states) - 1
    total = sizes.wide(0, last)
    if total <= width or not last:
        return [0, last]
    costs = _costs(plan, sizes, width)
    return _cheapest(sizes, costs, width, ceil(total / width)) or _greedy(sizes, costs, width)


def _cheapest(
    sizes: Estimate, costs: Sequence[float], width: float, fewest: int
) -> list[int] | None:
    """Returns the cheapest breaks into ``fewest`` rows or a few more, or None."""
    last = len(costs) - 1
    share = sizes.wide(0, last) / fewest
    places = [s for s, cost in enumerate(costs) if cost < inf]
    best: list[dict[int, tuple[float, int]]] = [{0: (0.0, -1)}]
    for left in range(fewest + MORE, 0, -1):
        here: dict[int, tuple[float, int]] = {}
        for a, (cost, _) in best[-1].items():
            if sizes.wide(a, last) > left * width:  # the rows that are left cannot hold the rest
                continue
            for b in places[bisect_right(places, a) :]:
                wide = sizes.wide(a, b)
                if wide > width:
                    break
                new = cost + (wide / share - 1) ** 2 + costs[b]
                if b not in here or new < here[b][0]:
                    here[b] = (new, a)
        best.append(here)
    ends = [(at[last][0] + ROW_COST * n, n) for n, at in enumerate(best) if last in at]
    if not ends:
        return None
    way = [last]
    for at in reversed(best[1 : min(ends)[1] + 1]):
        way.append(at[way[-1]][1])
    return way[::-1]


def _greedy(sizes: Estimate, costs: Sequence[float], width: float) -> list[int]:
    """Returns rows as long as possible, for plans with a step wider than a row."""
    way, last = [0], len(costs) - 1
    allowed = [b for b in range(1, last + 1) if costs[b] < inf or b == last]
    for b, after in zip(allowed, [*allowed[1:], last], strict=True):
        if b == last or sizes.wide(way[-1], after) > width:
            way.append(b)
    return way


def _costs(plan: Plan, sizes: Estimate, width: float) -> list[float]:
    """Returns the cost of a break at each state; the ends cost nothing."""
    costs = [
        sum(ARRAY_COST + WIRE_COST * len(value.array) for value in state) for state in plan.states
    ]
    for frame in plan.frames:
        cost = TORN_COST if sizes.wide(frame.first, frame.last) <= SHORT * width else FENCE_COST
        for s in range(frame.first + 1, frame.last):
            costs[s] += cost
    for s, step in enumerate(plan.steps):
        named = any(takes_cap(unit.glyph) or names_its_array(unit.glyph) for unit in step)
        if named or all(unit.passes or _draws_nothing(unit) for unit in step):
            costs[s] = inf  # a row does not begin with a name, a bracket, or names of another loop
        elif any(_renames(unit) for unit in step):
            costs[s] += RENAMED_COST
    costs[0] = costs[-1] = 0.0
    return costs


def _renames(unit: Unit) -> bool:
    """Returns whether a unit only renames an array."""
    wires = tuple((n, n) for n in range(len(unit.outs)))
    return unit.cell is not None and unit.glyph == Glyph(through=wires)


def _draws_nothing(unit: Unit) -> bool:
    """Returns whether a unit is the end of a loop, or only renames an array."""
    return unit.cell is None or _renames(unit)


def torn(plan: Plan, sizes: Estimate, at: Sequence[int], width: float) -> set[str]:
    """Returns the fences that contain a break though they are hardly longer than a row."""
    inner = at[1:-1]
    return {
        frame.id
        for frame in plan.frames
        if any(frame.first < s < frame.last for s in inner)
        and sizes.wide(frame.first, frame.last) <= SHORT * width
    }


def rows_of(plan: Plan, at: Sequence[int]) -> list[Plan]:
    """Returns the rows between breaks."""
    return [_row(plan, a, b) for a, b in pairwise(at)]


def _row(plan: Plan, a: int, b: int) -> Plan:
    if (a, b) == (0, len(plan.states) - 1):
        return plan
    frames = [
        _clipped(frame, a, b)
        for frame in plan.frames
        if frame.first < b and a < frame.last  # it holds a step of the row
    ]
    known = {frame.id for frame in frames}
    parents = {frame.id: frame.parent for frame in plan.frames}
    for n, frame in enumerate(frames):
        parent = frame.parent
        while parent and parent not in known:
            parent = parents.get(parent, "")
        frames[n] = replace(frame, parent=parent)
    return replace(plan, states=plan.states[a : b + 1], steps=plan.steps[a:b], frames=tuple(frames))


def _clipped(frame: Frame, a: int, b: int) -> Frame:
    first, last = max(frame.first, a), min(frame.last, b)
    holds = frame.holds[first - frame.first : last - frame.first + 1]
    over = (frame.first < a, b < frame.last)
    return replace(frame, first=first - a, last=last - a, holds=holds, goes_on=over)
