"""The x coordinates of states and steps, wide enough for labels, marks, bends and fences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ncd.drawing.base import style
from ncd.drawing.base.label import math, wrap
from ncd.drawing.base.plan_types import Frame, Plan, Rows
from ncd.drawing.placement.axis_labels import Names
from ncd.drawing.placement.op_width import Stretch
from ncd.drawing.placement.repeated_parts import RepeatedPart
from ncd.drawing.routing.op_wires import bend_width

_Zone = tuple[float, float, float]


@dataclass(frozen=True)
class Columns:
    """The left and right of each state, the middle of its labels, and op widths by id.

    ``panel`` are the sides of a frame around everything, bands and all, in a drawing with bands.
    """

    left: tuple[float, ...]
    right: tuple[float, ...]
    names: tuple[float, ...]
    stretches: Mapping[str, Stretch] = field(default_factory=dict)
    panel: tuple[float, float] | None = None

    def same(self, repeat: RepeatedPart) -> bool:
        """Returns whether a repeated part is as wide as its model."""
        wide = self.left[repeat.last] - self.right[repeat.first]
        model = self.left[repeat.last - repeat.back] - self.right[repeat.model]
        return abs(wide - model) < 1e-6

    def sides(self, plan: Plan, frame: Frame) -> tuple[float, float]:
        """Returns the left and right of a frame."""
        if self.panel and plan.is_panel(frame):
            return self.panel
        return (
            self.right[frame.first] - style.PAD * plan.opening[frame.id] + style.FENCE_EDGE,
            self.left[frame.last] + style.PAD * plan.closing[frame.id] - style.FENCE_EDGE,
        )


def columns(
    plan: Plan,
    rows: Sequence[Rows],
    names: Sequence[Names],
    bands: bool = False,
    repeats: Sequence[RepeatedPart] = (),
) -> Columns:
    """Returns the x of every state; step s goes from ``right[s]`` to ``left[s + 1]``.

    ``bands`` adds room for bands around the labels, and longer wires at both ends.
    """
    back = {s: repeat.back for repeat in repeats for s in repeat.steps}
    steps: list[float] = []
    found: dict[str, Stretch] = {}
    for s in range(len(plan.steps)):
        steps.append(steps[s - back[s]] if s in back else _step_width(plan, s, rows, found))
    zones = _zones(plan, names, 2 * style.BAND_SIDE + style.BAND_GAP if bands else style.LABEL_GAP)
    for frame in reversed(plan.frames):
        _widen_for_title(plan, frame, steps, zones, bands and plan.is_panel(frame))
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
    return Columns(tuple(left), tuple(right), tuple(middle), found, panel)


def _step_width(plan: Plan, s: int, rows: Sequence[Rows], stretches: dict[str, Stretch]) -> float:
    """Returns the width of a step, and stores the stretches of its ops."""
    wide, bends, apart, start = style.STEP, [0.0], False, 0.0
    for unit in plan.steps[s]:
        ins, outs = [rows[s][p] for p in unit.ins], [rows[s + 1][p] for p in unit.outs]
        if unit.cell is None:
            bends += [bend_width(outs[o] - ins[i]) for i, o in unit.glyph.through]
        else:
            stretch = stretches[unit.node] = Stretch(unit, ins, outs)
            wide = max(wide, stretch.width)
            apart |= not (unit.inputs and unit.outputs)
            start = max(start, stretch.free) if unit.glyph.caps else start
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
    plan: Plan, frame: Frame, steps: list[float], zones: list[_Zone], panel: bool
) -> None:
    """Makes room for the longest word of a title, and for the counts of brackets."""
    words = wrap(frame.title, 1.0, style.TITLE)
    need = max([line.width for line in words], default=-style.TITLE_WORD) + style.TITLE_WORD
    if frame.ends:
        need = max([math(text, style.NAME).width for text in frame.ends])
    inside = range(frame.first, frame.last)
    held = zones if panel else [zones[s] for s in inside[1:]]
    have = sum([steps[s] for s in inside]) + sum(map(sum, held))
    have += style.PAD * (plan.opening[frame.id] + plan.closing[frame.id])
    if have < need:
        for s in inside:
            steps[s] += (need - have) / len(inside)
