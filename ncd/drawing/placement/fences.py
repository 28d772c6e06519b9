"""The shapes behind and between wires: fences with titles, bands, dashed separators."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ncd.circuit.circuit import Value
from ncd.drawing.elements import style
from ncd.drawing.elements.labels import Label, math, wrap
from ncd.drawing.elements.plan_columns import Plan, PlanFence, PlanItem, Rows
from ncd.drawing.elements.primitives import (
    Annotation,
    Curve,
    DrawnFence,
    DrawnGlyph,
    DrawnThumbnail,
    Outline,
    Path,
    Point,
    Rectangle,
    Text,
    line,
    polygon,
    s_curve,
    simplified_path,
)
from ncd.drawing.placement.axis_labels import hidden_input_wires
from ncd.drawing.placement.coordinates import ColumnPositions
from ncd.drawing.placement.repeated_parts import RepeatedPart
from ncd.drawing.placement.wire_order import Gaps

# --- The dashed separators between arrays

_Pair = tuple[str, str]
_Level = tuple[float, float]  # the least and the greatest y


def dashes(
    plan: Plan,
    rows: Sequence[Rows],
    at: ColumnPositions,
    gaps: Gaps,
    repeats: Sequence[RepeatedPart],
) -> list[tuple[int, Path]]:
    """Returns a separator between every two adjacent arrays, continuous through several steps.

    Each comes with the state at which it ends; those in repeated parts are left out.
    """
    hidden, again = hidden_input_wires(plan), {s for repeat in repeats for s in repeat.inner}
    open_lines: dict[_Pair, _Separator] = {}
    done: list[tuple[int, Path]] = []
    for s, state in enumerate(plan.states):
        if s in again:
            continue
        here: dict[_Pair, _Separator] = {}
        for n, (a, b) in enumerate(pairwise(state)):
            if s == 0 and hidden & {*plan.array_wires(a), *plan.array_wires(b)}:
                continue
            pair = a.id, b.id
            here[pair] = open_lines.get(pair) or _Separator(s)
            here[pair].levels.append(_separator_range(plan, rows, gaps, s, n))
        open_lines = {}
        for pair, drawn in here.items():
            after = _next_pair(plan, s, pair)
            if after:
                open_lines[after] = drawn
            else:
                done.append((s, _path(plan, at, drawn, s, pair)))
    return done


@dataclass
class _Separator:
    """A separator: its first state, and the range of rows in which it may lie at each state."""

    first_state: int
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


def _path(plan: Plan, at: ColumnPositions, drawn: _Separator, last: int, pair: _Pair) -> Path:
    ys = drawn.rows()
    pieces = _begin(at, drawn.first_state, ys[0]) if drawn.first_state else []
    for s, y in enumerate(ys, start=drawn.first_state):
        left, right = at.left_edges[s], at.right_edges[s]
        if pieces and abs(y - pieces[-1].d.y) <= style.DASH_STEEP * (left - pieces[-1].d.x):
            pieces.append(s_curve(pieces[-1].d, Point(left, y)))
        pieces.append(line(Point(left, y), Point(right, y)))
    pieces += _end(plan, at, last, pair, pieces[-1].d)
    return simplified_path(pieces)


def _next_pair(plan: Plan, s: int, pair: _Pair) -> _Pair | None:
    """Returns the pair of arrays between which a separator continues, or None."""
    if s == len(plan.steps):
        return None
    above, below = (plan.consumers[s][id] for id in pair)
    if above is below or not above.outputs or not below.outputs:
        return None
    a, b = above.outputs[-1].id, below.outputs[0].id
    ids = [value.id for value in plan.states[s + 1]]
    return (a, b) if ids[ids.index(a) + 1 : ids.index(a) + 2] == [b] else None


def _begin(at: ColumnPositions, s: int, y: float) -> list[Curve]:
    width = at.left_edges[s] - at.right_edges[s - 1]
    return [line(Point(at.left_edges[s] - 0.4 * width, y), Point(at.left_edges[s], y))]


def _end(plan: Plan, at: ColumnPositions, s: int, pair: _Pair, start: Point) -> list[Curve]:
    """Returns the end of a separator inside the op that takes both arrays, or ends one."""
    if s == len(plan.steps) or plan.consumers[s][pair[0]].cell is None:
        return []
    reach = min(style.DASH_REACH, 0.5 * (at.left_edges[s + 1] - at.right_edges[s]))
    return [line(start, Point(start.x + reach, start.y))]


def _separator_range(plan: Plan, rows: Sequence[Rows], gaps: Gaps, s: int, n: int) -> _Level:
    """Returns the range of rows for a separator below the nth array."""
    (above, below), room = plan.states[s][n : n + 2], gaps.height_above(s, n + 1)
    ends, starts = _array_rows(plan, rows, s, above), _array_rows(plan, rows, s, below)
    clear = (style.DASH_TITLE if room else style.DASH_ABOVE) + room
    under = style.DASH_BELOW + gaps.height_below(s, n) + style.DASH_BORDER * bool(gaps.closes(s, n))
    top, bottom = max(ends) + under, min(starts) - clear
    if top > bottom:  # no room beside the marks, so only the wires of this state count
        top = max(rows[s][port] for port in plan.places(above)) + under
        bottom = min(rows[s][port] for port in plan.places(below)) - clear
    middle = (top + bottom) / 2
    return min(top, middle), max(bottom, middle)


def _array_rows(plan: Plan, rows: Sequence[Rows], s: int, value: Value) -> list[float]:
    """Returns the rows of an array's wires, and of the wires that the adjacent op makes of them."""
    found = [rows[s][port] for port in plan.places(value)]
    for units, other in ((plan.consumers[s : s + 1], s + 1), (plan.producers[s - 1 : s], s - 1)):
        unit: PlanItem | None = units[0].get(value.id) if units else None
        if unit is None or unit.cell is None:
            continue
        own, far = unit.inputs, unit.out_places
        if other < s:
            own, far = unit.outputs, unit.in_places
        if len(own) == 1:
            found += [rows[other][port] for port in far]
    return found


# --- Bands: columns of one colour behind arrays, of another behind ops (section 2.3 of the paper)


def bands(
    plan: Plan,
    rows: Sequence[Rows],
    at: ColumnPositions,
    labels: Sequence[Text],
    glyphs: Sequence[DrawnGlyph],
) -> tuple[Annotation, ...]:
    """Returns a band behind each state and each step, as high as its contents."""
    return (*_data(plan, rows, at, labels), *_operations(plan, rows, at, glyphs))


def _data(
    plan: Plan, rows: Sequence[Rows], at: ColumnPositions, labels: Sequence[Text]
) -> Iterator[Annotation]:
    for s, state in enumerate(plan.states):
        middle = at.names[s]
        here = [text.box for text in labels if abs(_middle(text) - middle) < 0.5]
        ys = [rows[s][port] for value in state for port in plan.array_wires(value)]
        if not ys:
            continue  # arrays without axes have no wires
        half = max((box.width for box in here), default=0.0) / 2 + style.BAND_SIDE
        top = min([*(box.y0 - style.INK for box in here), min(ys) - style.BAND_TOP])
        box = Rectangle(middle - half, top, middle + half, max(ys) + style.BAND_FOOT)
        yield _band("data", box, f"data: {len(state)} array{'s' * (len(state) != 1)}")


def _operations(
    plan: Plan, rows: Sequence[Rows], at: ColumnPositions, glyphs: Sequence[DrawnGlyph]
) -> Iterator[Annotation]:
    ink = {glyph.node: glyph.ink for glyph in glyphs}
    for s, step in enumerate(plan.steps):
        if all(unit.passes for unit in step):
            continue
        ys = [rows[s][port] for unit in step for port in unit.in_places]
        ys += [rows[s + 1][port] for unit in step for port in unit.out_places]
        boxes = [box for unit in step for box in ink.get(unit.node, ())]
        x0, x1 = at.right_edges[s] + style.BAND_GAP / 2, at.left_edges[s + 1] - style.BAND_GAP / 2
        fenced = any(
            f.first_column <= s < f.last_column and not plan.is_panel(f) for f in plan.fences
        )
        over, under = style.BAND_FENCED if fenced else style.BAND_HIGH
        body = Rectangle(x0, min(ys) - over, x1, max(ys) + under)
        more = style.INK / 2 if fenced else style.INK
        box = Rectangle.union([body, *(Rectangle(x0, b.y0 - more, x1, b.y1 + more) for b in boxes)])
        yield _band("operation", box, "operation")


def _middle(text: Text) -> float:
    return text.position.x + text.label.width / 2


def _band(role: str, box: Rectangle, words: str) -> Annotation:
    return Annotation("band", (Outline(rectangle(box), role),), words, behind=True)


def rectangle(box: Rectangle) -> Path:
    """Returns the outline of a box."""
    x0, y0, x1, y1 = box
    return polygon([Point(x0, y0), Point(x1, y0), Point(x1, y1), Point(x0, y1)])


# --- Fences behind their blocks, with titles, and the brackets of loops


def titles(plan: Plan, at: ColumnPositions | None) -> Mapping[str, float]:
    """Returns the height of every fence's title, broken into lines once the widths are known."""
    return {
        fence.id: style.LEADING * len(_lines(plan, fence, at)) + style.TITLE_ROOM[1]
        for fence in plan.fences
        if fence.title
    }


def _lines(plan: Plan, fence: PlanFence, at: ColumnPositions | None) -> tuple[Label, ...]:
    if not fence.title:
        return ()
    width = float("inf")
    if at is not None:
        x0, x1 = at.sides(plan, fence)
        width = x1 - x0 - style.TITLE_SIDE
    return wrap(fence.title, width, style.TITLE)


def fences(
    plan: Plan,
    rows: Sequence[Rows],
    at: ColumnPositions,
    glyphs: Sequence[DrawnGlyph],
    labels: Sequence[Text],
    thumbnails: Sequence[DrawnThumbnail] = (),
) -> tuple[DrawnFence, ...]:
    """Returns the fences, outer ones first."""
    ink = _ink(plan, glyphs)
    named = {(text.array, text.axis, text.position.x): text for text in labels}
    texts: dict[str, list[Text]] = {}
    for text in named.values():
        texts.setdefault(text.array, []).append(text)
    inner: dict[str, list[Rectangle]] = {}
    found = []
    for fence in reversed(plan.fences):  # the inner ones first, as outer ones enclose them
        x0, x1 = at.sides(plan, fence)
        inside = {id for ids in fence.holds for id in ids}
        held = [t.box for id in inside for t in texts.get(id, ()) if x0 < t.position.x < x1]
        held += [t.box for t in thumbnails if t.array in inside and x0 < t.box.x0 < x1]
        held += ink.get(fence.id, [])
        boxes = [box.grown(style.INK) for box in held] + inner.get(fence.id, [])
        body = Rectangle.union([_wires(plan, rows, fence, x0, x1), *boxes])
        if at.panel and plan.is_panel(fence):
            body = Rectangle.union([_wires(plan, rows, fence, x0, x1, style.BAND_HIGH), body])
            body = body.grown(style.BAND_PANEL)
        lines = _lines(plan, fence, at)
        over = style.LEADING * len(lines) + style.TITLE_ROOM[0] if lines else 0.0
        box = Rectangle(x0, body.y0 - over, x1, body.y1)
        found.append(_brackets(fence, box) if fence.ends else _drawn_block(fence, lines, box))
        room = style.BRACKET_ROOM if fence.ends else 0.0
        around = Rectangle(box.x0, box.y0 - room, box.x1, box.y1 + room)
        inner.setdefault(fence.parent, []).append(around.grown(style.INNER))
    return tuple(reversed(found))


def _ink(plan: Plan, glyphs: Sequence[DrawnGlyph]) -> Mapping[str, list[Rectangle]]:
    """Returns the ink in each fence, without the contents of inner fences."""
    boxes = {glyph.node: glyph.ink for glyph in glyphs}
    found: dict[str, list[Rectangle]] = {}
    for step in plan.steps:
        for unit in step:
            if unit.cell and unit.cell.fences:
                found.setdefault(unit.cell.fences[-1], []).extend(boxes[unit.node])
    return found


def _wires(
    plan: Plan,
    rows: Sequence[Rows],
    fence: PlanFence,
    x0: float,
    x1: float,
    beyond: tuple[float, float] = (style.SKY, style.GROUND),
) -> Rectangle:
    """Returns the stretch of a fence around its wires, so far beyond them."""
    ys = [
        rows[s][port]
        for s, ids in enumerate(fence.holds, start=fence.first_column)
        for value in plan.states[s]
        if value.id in ids
        for port in plan.places(value)
    ] or [0.0]
    return Rectangle(x0, min(ys) - beyond[0], x1, max(ys) + beyond[1])


def _drawn_block(fence: PlanFence, lines: Sequence[Label], box: Rectangle) -> DrawnFence:
    middle, top = (box.x0 + box.x1) / 2, box.y0 - style.TITLE_BASE
    texts = tuple(
        [
            Text(label, Point(middle - label.width / 2, top + style.LEADING * (n + 1)))
            for n, label in enumerate(lines)
        ]
    )
    return DrawnFence(fence.id, fence.role, box, texts, fence.words)


def _brackets(fence: PlanFence, box: Rectangle) -> DrawnFence:
    """Returns large round brackets; the count starts at the foot and stops at the head."""
    inset = style.PAD + style.FENCE_EDGE
    top, bottom = box.y0, box.y1
    paths = (
        (_bracket(box.x0 + inset, box.x0 + style.BULGE, top, bottom),),
        (_bracket(box.x1 - inset, box.x1 - style.BULGE, top, bottom),),
    )
    start, stop = (math(text, style.NAME) for text in fence.ends or ())
    texts = (
        Text(start, Point(box.x0, bottom + style.BRACKET_FOOT)),
        Text(stop, Point(box.x1 - stop.width, top - style.BRACKET_HEAD)),
    )
    return DrawnFence(fence.id, fence.role, box, texts, fence.words, paths)


def _bracket(x: float, bulge: float, top: float, bottom: float) -> Curve:
    way, control = bottom - top, bulge + (bulge - x) / 3
    return Curve(
        Point(x, top),
        Point(control, top + 0.25 * way),
        Point(control, bottom - 0.25 * way),
        Point(x, bottom),
    )
