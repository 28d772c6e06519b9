"""Estimates the width and height of a plan without placing it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate

from ncd.drawing.base import style
from ncd.drawing.base.plan_types import Plan, Unit
from ncd.drawing.marks import headroom, mark_width
from ncd.drawing.placement.axis_labels import Labels, axis_label
from ncd.drawing.routing.op_wires import bend_width
from ncd.lang.types.axes import Axis


@dataclass(frozen=True)
class Estimate:
    """The x at which each state starts, its width, and its height."""

    starts: tuple[float, ...]
    widths: tuple[float, ...]
    heights: tuple[float, ...]

    def wide(self, a: int, b: int) -> float:
        """Returns the width from state a to state b."""
        inside = self.starts[b] + self.widths[b] - self.starts[a]
        return style.ROUGH * inside + 2 * style.MARGIN

    def high(self, a: int, b: int) -> float:
        """Returns the height from state a to state b."""
        return max(self.heights[a : b + 1]) + 2 * style.MARGIN


def estimate(plan: Plan, labels: Labels) -> Estimate:
    """Returns the estimate of a plan."""
    depths = _depths(plan)
    steps = [max([style.STEP, *(_wide(unit, depths) for unit in step)]) for step in plan.steps]
    states = _states(plan, labels)
    both = [a + b for a, b in zip(states, [*steps, 0.0], strict=True)]
    starts = tuple(accumulate(both[:-1], initial=0.0))
    return Estimate(starts, tuple(states), tuple(_heights(plan)))


def _depths(plan: Plan) -> Mapping[str, float]:
    """Returns how far down each array lies in the state with the most arrays above it."""
    found: dict[str, float] = {}
    for s, state in enumerate(plan.states):
        y = 0.0
        for value in state:
            found[value.id] = max(y, found.get(value.id, 0.0))
            y += style.AXIS_GAP * max(0, len(value.array) - 1) + style.ARRAY_GAP
            if s < len(plan.steps) and value.id in plan.takers[s]:
                y += headroom(plan.takers[s][value.id].glyph)
    return found


def _wide(unit: Unit, depths: Mapping[str, float]) -> float:
    if unit.cell is None:
        return 0.0
    glyph, wide = unit.glyph, mark_width(unit.glyph)
    if glyph.caps:
        return wide + style.CAPPED
    ends = ((unit.ins[i][0], unit.outs[o][0]) for i, o in (*glyph.splits, *glyph.joins))
    return max([wide, *(bend_width(depths[b] - depths[a]) for a, b in ends)])


def _states(plan: Plan, labels: Labels) -> list[float]:
    """Returns the widths of states: the names of new arrays, and the borders of fences."""
    borders = [style.PAD * (closing + opening) for closing, opening in plan.borders]
    named = [_named((axis for v in plan.states[0] for axis in v.array), labels)]
    named += [_named((a for unit in step for a in _new(unit)), labels) for step in plan.steps]
    return [a + b for a, b in zip(borders, named, strict=True)]


def _new(unit: Unit) -> Iterator[Axis]:
    """Yields the axes that begin at a unit."""
    axes = (axis for value in unit.outputs for axis in value.array)
    return (axis for o, axis in enumerate(axes) if o not in unit.before)


def _named(axes: Iterable[Axis], labels: Labels) -> float:
    widths = [axis_label(axis, labels).width for axis in axes]
    return max(widths) + style.LABEL_GAP if widths else 0.0


def _heights(plan: Plan) -> Sequence[float]:
    """Returns the heights of states: wires, gaps, marks above them, and titles."""
    over = [0.0] * len(plan.states)
    for s, step in enumerate(plan.steps):
        room = max((headroom(unit.glyph) for unit in step), default=0.0)
        over[s], over[s + 1] = max(over[s], room), room
    for frame in plan.frames:
        title = style.LEADING + style.TITLE_ROOM[1] if frame.title else 0.0
        room = title + (2 * style.BRACKET_ROOM if frame.ends else style.PAD)
        for s in range(frame.first, frame.last + 1):
            over[s] += room
    return [
        sum(style.AXIS_GAP * max(0, len(v.array) - 1) for v in state)
        + style.ARRAY_GAP * len(state)
        + over[s]
        for s, state in enumerate(plan.states)
    ]
