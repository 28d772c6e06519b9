"""The x coordinates of states and steps, and the width of an op.

From left to right: wires change their order so that those of a mark or cap are adjacent, then come
the marks and caps, then the wires change back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from ncd.drawing.elements import style
from ncd.drawing.elements.labels import math, wrap
from ncd.drawing.elements.plan_columns import Plan, PlanItem, Region, Rows
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
from ncd.drawing.marks.marks import bend_side, foreign, in_marks, mark_bend, mark_width
from ncd.drawing.placement.axis_labels import Names
from ncd.drawing.placement.repeated_parts import RepeatedPart
from ncd.drawing.placement.thumbnail_places import NOWHERE, ThumbnailPlaces
from ncd.drawing.placement.wire_order import at_marks
from ncd.language.cached_property import lazy_property

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

    ``panel`` are the sides of a frame around everything, bands and all, in a drawing with bands.
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

    def sides(self, plan: Plan, frame: Region) -> tuple[float, float]:
        """Returns the left and right of a frame."""
        if self.panel and plan.is_panel(frame):
            return self.panel
        return (
            self.right_edges[frame.first_column]
            - style.PAD * plan.opening[frame.id]
            + style.FENCE_EDGE,
            self.left_edges[frame.last_column]
            + style.PAD * plan.closing[frame.id]
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
    plan: Plan, frame: Region, steps: list[float], zones: list[_Zone], panel: bool
) -> None:
    """Makes room for the longest word of a title, and for the counts of brackets."""
    words = wrap(frame.title, 1.0, style.TITLE)
    need = max([line.width for line in words], default=-style.TITLE_WORD) + style.TITLE_WORD
    if frame.ends:
        need = max([math(text, style.NAME).width for text in frame.ends])
    inside = range(frame.first_column, frame.last_column)
    held = zones if panel else [zones[s] for s in inside[1:]]
    have = sum([steps[s] for s in inside]) + sum(map(sum, held))
    have += style.PAD * (plan.opening[frame.id] + plan.closing[frame.id])
    if have < need:
        for s in inside:
            steps[s] += (need - have) / len(inside)
