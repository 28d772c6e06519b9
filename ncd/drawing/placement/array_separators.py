"""The dashed separators between arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ncd.drawing.base import style
from ncd.drawing.base.plan_types import Plan, Rows, Unit
from ncd.drawing.base.primitives import Curve, Path, Point, ease, line, straightened
from ncd.drawing.placement.axis_labels import unseen
from ncd.drawing.placement.repeated_parts import RepeatedPart
from ncd.drawing.placement.separation import Gaps
from ncd.drawing.placement.x_coordinates import Columns
from ncd.lang.circuits.circuit import Value

_Pair = tuple[str, str]
_Level = tuple[float, float]  # the least and the greatest y


def dashes(
    plan: Plan, rows: Sequence[Rows], at: Columns, gaps: Gaps, repeats: Sequence[RepeatedPart]
) -> list[tuple[int, Path]]:
    """Returns a separator between every two adjacent arrays, continuous through several steps.

    Each comes with the state at which it ends; those in repeated parts are left out.
    """
    hidden, again = unseen(plan), {s for repeat in repeats for s in repeat.inner}
    open_lines: dict[_Pair, _Line] = {}
    done: list[tuple[int, Path]] = []
    for s, state in enumerate(plan.states):
        if s in again:
            continue
        here: dict[_Pair, _Line] = {}
        for n, (a, b) in enumerate(pairwise(state)):
            if s == 0 and hidden & {*plan.drawn(a), *plan.drawn(b)}:
                continue
            pair = a.id, b.id
            here[pair] = open_lines.get(pair) or _Line(s)
            here[pair].levels.append(_between(plan, rows, gaps, s, n))
        open_lines = {}
        for pair, drawn in here.items():
            after = _after(plan, s, pair)
            if after:
                open_lines[after] = drawn
            else:
                done.append((s, _path(plan, at, drawn, s, pair)))
    return done


@dataclass
class _Line:
    """A separator: its first state, and the range of rows in which it may lie at each state."""

    first: int
    levels: list[_Level] = field(default_factory=list)

    def rows(self) -> list[float]:
        """Returns its row at each state, level as far as possible."""
        found: list[float] = []
        while len(found) < len(self.levels):
            top, bottom = self.levels[len(found)]
            count = 1
            for upper, lower in self.levels[len(found) + 1 :]:
                if max(top, upper) > min(bottom, lower):
                    break
                top, bottom, count = max(top, upper), min(bottom, lower), count + 1
            found += [(top + bottom) / 2] * count
        return found


def _path(plan: Plan, at: Columns, drawn: _Line, last: int, pair: _Pair) -> Path:
    ys = drawn.rows()
    pieces = _begin(at, drawn.first, ys[0]) if drawn.first else []
    for s, y in enumerate(ys, start=drawn.first):
        left, right = at.left[s], at.right[s]
        if pieces and abs(y - pieces[-1].d.y) <= style.DASH_STEEP * (left - pieces[-1].d.x):
            pieces.append(ease(pieces[-1].d, Point(left, y)))
        pieces.append(line(Point(left, y), Point(right, y)))
    pieces += _end(plan, at, last, pair, pieces[-1].d)
    return straightened(pieces)


def _after(plan: Plan, s: int, pair: _Pair) -> _Pair | None:
    """Returns the pair of arrays between which a separator continues, or None."""
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
    """Returns the end of a separator inside the op that takes both arrays, or ends one."""
    if s == len(plan.steps) or plan.takers[s][pair[0]].cell is None:
        return []
    reach = min(style.DASH_REACH, 0.5 * (at.left[s + 1] - at.right[s]))
    return [line(start, Point(start.x + reach, start.y))]


def _between(plan: Plan, rows: Sequence[Rows], gaps: Gaps, s: int, n: int) -> _Level:
    """Returns the range of rows for a separator below the nth array."""
    (above, below), room = plan.states[s][n : n + 2], gaps.above(s, n + 1)
    ends, starts = _around(plan, rows, s, above), _around(plan, rows, s, below)
    clear = (style.DASH_TITLE if room else style.DASH_ABOVE) + room
    under = style.DASH_BELOW + gaps.below(s, n) + style.DASH_BORDER * bool(gaps.closes(s, n))
    top, bottom = max(ends) + under, min(starts) - clear
    if top > bottom:  # no room beside the marks, so only the wires of this state count
        top = max(rows[s][port] for port in plan.places(above)) + under
        bottom = min(rows[s][port] for port in plan.places(below)) - clear
    middle = (top + bottom) / 2
    return min(top, middle), max(bottom, middle)


def _around(plan: Plan, rows: Sequence[Rows], s: int, value: Value) -> list[float]:
    """Returns the rows of an array's wires, and of the wires that the adjacent op makes of them."""
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
