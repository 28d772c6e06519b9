"""Fences behind their blocks, with titles, and the brackets of loops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ncd.drawing.base import style
from ncd.drawing.base.label import Label, math, wrap
from ncd.drawing.base.plan_types import Frame, Plan, Rows
from ncd.drawing.base.primitives import Box, Curve, DrawnFence, DrawnGlyph, Point, Text
from ncd.drawing.placement.x_coordinates import Columns


def titles(plan: Plan, at: Columns | None) -> Mapping[str, float]:
    """Returns the height of every fence's title, broken into lines once the widths are known."""
    return {
        frame.id: style.LEADING * len(_lines(plan, frame, at)) + style.TITLE_ROOM[1]
        for frame in plan.frames
        if frame.title
    }


def _lines(plan: Plan, frame: Frame, at: Columns | None) -> tuple[Label, ...]:
    if not frame.title:
        return ()
    width = float("inf")
    if at is not None:
        x0, x1 = at.sides(plan, frame)
        width = x1 - x0 - style.TITLE_SIDE
    return wrap(frame.title, width, style.TITLE)


def fences(
    plan: Plan,
    rows: Sequence[Rows],
    at: Columns,
    glyphs: Sequence[DrawnGlyph],
    labels: Sequence[Text],
) -> tuple[DrawnFence, ...]:
    """Returns the fences, outer ones first."""
    ink = _ink(plan, glyphs)
    named = {(text.array, text.axis, text.at.x): text for text in labels}
    texts: dict[str, list[Text]] = {}
    for text in named.values():
        texts.setdefault(text.array, []).append(text)
    inner: dict[str, list[Box]] = {}
    found = []
    for frame in reversed(plan.frames):  # the inner ones first, as outer ones enclose them
        x0, x1 = at.sides(plan, frame)
        inside = {id for ids in frame.holds for id in ids}
        held = [t.box for id in inside for t in texts.get(id, ()) if x0 < t.at.x < x1]
        held += ink.get(frame.id, [])
        boxes = [box.grown(style.INK) for box in held] + inner.get(frame.id, [])
        body = Box.around([_wires(plan, rows, frame, x0, x1), *boxes])
        if at.panel and plan.is_panel(frame):
            body = Box.around([_wires(plan, rows, frame, x0, x1, style.BAND_HIGH), body])
            body = body.grown(style.BAND_PANEL)
        lines = _lines(plan, frame, at)
        over = style.LEADING * len(lines) + style.TITLE_ROOM[0] if lines else 0.0
        box = Box(x0, body.y0 - over, x1, body.y1)
        found.append(_brackets(frame, box) if frame.ends else _region(frame, lines, box))
        room = style.BRACKET_ROOM if frame.ends else 0.0
        around = Box(box.x0, box.y0 - room, box.x1, box.y1 + room)
        inner.setdefault(frame.parent, []).append(around.grown(style.INNER))
    return tuple(reversed(found))


def _ink(plan: Plan, glyphs: Sequence[DrawnGlyph]) -> Mapping[str, list[Box]]:
    """Returns the ink in each fence, without the contents of inner fences."""
    boxes = {glyph.node: glyph.ink for glyph in glyphs}
    found: dict[str, list[Box]] = {}
    for step in plan.steps:
        for unit in step:
            if unit.cell and unit.cell.fences:
                found.setdefault(unit.cell.fences[-1], []).extend(boxes[unit.node])
    return found


def _wires(
    plan: Plan,
    rows: Sequence[Rows],
    frame: Frame,
    x0: float,
    x1: float,
    beyond: tuple[float, float] = (style.SKY, style.GROUND),
) -> Box:
    """Returns the stretch of a frame around its wires, so far beyond them."""
    ys = [
        rows[s][port]
        for s, ids in enumerate(frame.holds, start=frame.first)
        for value in plan.states[s]
        if value.id in ids
        for port in plan.places(value)
    ] or [0.0]
    return Box(x0, min(ys) - beyond[0], x1, max(ys) + beyond[1])


def _region(frame: Frame, lines: Sequence[Label], box: Box) -> DrawnFence:
    middle, top = (box.x0 + box.x1) / 2, box.y0 - style.TITLE_BASE
    texts = tuple(
        [
            Text(label, Point(middle - label.width / 2, top + style.LEADING * (n + 1)))
            for n, label in enumerate(lines)
        ]
    )
    return DrawnFence(frame.id, frame.role, box, texts, frame.words)


def _brackets(frame: Frame, box: Box) -> DrawnFence:
    """Returns large round brackets; the count starts at the foot and stops at the head."""
    inset = style.PAD + style.FENCE_EDGE
    top, bottom = box.y0, box.y1
    paths = (
        (_bracket(box.x0 + inset, box.x0 + style.BULGE, top, bottom),),
        (_bracket(box.x1 - inset, box.x1 - style.BULGE, top, bottom),),
    )
    start, stop = (math(text, style.NAME) for text in frame.ends or ())
    texts = (
        Text(start, Point(box.x0, bottom + style.BRACKET_FOOT)),
        Text(stop, Point(box.x1 - stop.width, top - style.BRACKET_HEAD)),
    )
    return DrawnFence(frame.id, frame.role, box, texts, frame.words, paths)


def _bracket(x: float, bulge: float, top: float, bottom: float) -> Curve:
    way, control = bottom - top, bulge + (bulge - x) / 3
    return Curve(
        Point(x, top),
        Point(control, top + 0.25 * way),
        Point(control, bottom - 0.25 * way),
        Point(x, bottom),
    )
