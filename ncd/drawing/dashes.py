"""The dashed lines between arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from ncd.drawing import style
from ncd.drawing.columns import Columns
from ncd.drawing.data import Curve, Dash, Path, Point, ease, line
from ncd.drawing.isotonic import Rows
from ncd.drawing.plan import Plan, Unit
from ncd.drawing.rows import room_below, rooms_above
from ncd.lang.circuit import Value

_Pair = tuple[str, str]


def dashes(
    plan: Plan, rows: Sequence[Rows], at: Columns, titles: Mapping[str, float]
) -> tuple[Dash, ...]:
    """A line between every two neighbouring arrays, continuous through the steps that keep them."""
    open_lines: dict[_Pair, list[Curve]] = {}
    done: list[Path] = []
    for s, state in enumerate(plan.states):
        rooms = rooms_above(plan, s, titles)
        here: dict[_Pair, list[Curve]] = {}
        for a, b in pairwise(state):
            y = _under(plan, rows, s, a, b, rooms[b.id])
            pieces = open_lines.get((a.id, b.id))
            if pieces is None:
                pieces = _begin(at, s, y) if s else []
            else:
                pieces.append(ease(pieces[-1].d, Point(at.left[s], y)))
            pieces.append(line(Point(at.left[s], y), Point(at.right[s], y)))
            here[a.id, b.id] = pieces
        open_lines = {}
        for pair, pieces in here.items():
            after = _after(plan, s, pair)
            if after:
                open_lines[after] = pieces
            else:
                done.append((*pieces, *_end(plan, at, s, pair, pieces[-1].d)))
    return tuple(Dash(tuple(c for c in path if c.a != c.d)) for path in done)


def _after(plan: Plan, s: int, pair: _Pair) -> _Pair | None:
    """The neighbours between which the line goes on, if it does."""
    if s == len(plan.steps):
        return None
    above, below = (plan.takers[s][id] for id in pair)
    if above is below or not above.outputs or not below.outputs:
        return None
    a, b = above.outputs[-1].id, below.outputs[0].id
    ids = [value.id for value in plan.states[s + 1]]
    return (a, b) if ids[ids.index(a) + 1 : ids.index(a) + 2] == [b] else None


def _begin(at: Columns, s: int, y: float) -> list[Curve]:
    width = at.left[s] - at.right[s - 1]
    return [line(Point(at.left[s] - 0.4 * width, y), Point(at.left[s], y))]


def _end(plan: Plan, at: Columns, s: int, pair: _Pair, start: Point) -> list[Curve]:
    """How far a line goes into the op that takes both arrays, or ends one."""
    if s == len(plan.steps) or plan.takers[s][pair[0]].cell is None:
        return []
    reach = min(style.DASH_REACH, 0.5 * (at.left[s + 1] - at.right[s]))
    return [line(start, Point(start.x + reach, start.y))]


def _under(
    plan: Plan, rows: Sequence[Rows], s: int, above: Value, below: Value, room: float
) -> float:
    ends, starts = _around(plan, rows, s, above), _around(plan, rows, s, below)
    clear = style.DASH_TITLE if room else style.DASH_ABOVE
    under = style.DASH_BELOW + room_below(plan, s, above, below)
    top, bottom = max(ends) + under, min(starts) - clear
    if top > bottom - room:  # no room beside the marks: then between the wires of this state
        top = max(rows[s][port] for port in plan.places(above)) + under
        bottom = min(rows[s][port] for port in plan.places(below)) - clear
    return (top + bottom - room) / 2


def _around(plan: Plan, rows: Sequence[Rows], s: int, value: Value) -> list[float]:
    """The rows of an array's wires, and of what the op before or behind makes of them."""
    found = [rows[s][port] for port in plan.places(value)]
    for units, other in ((plan.takers[s : s + 1], s + 1), (plan.makers[s - 1 : s], s - 1)):
        unit: Unit | None = units[0].get(value.id) if units else None
        if unit is None or unit.cell is None:
            continue
        own, far = unit.inputs, unit.out_places
        if other < s:
            own, far = unit.outputs, unit.in_places
        if len(own) == 1:
            found += [rows[other][port] for port in far]
    return found
