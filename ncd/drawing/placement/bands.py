"""Bands: pink columns behind arrays and blue ones behind ops, as in section 2.3 of the paper."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ncd.drawing.base import style
from ncd.drawing.base.plan_types import Plan, Rows
from ncd.drawing.base.primitives import Box, DrawnGlyph, Extra, Outline, Path, Point, Text, polygon
from ncd.drawing.placement.x_coordinates import Columns


def bands(
    plan: Plan,
    rows: Sequence[Rows],
    at: Columns,
    labels: Sequence[Text],
    glyphs: Sequence[DrawnGlyph],
) -> tuple[Extra, ...]:
    """Returns a band behind each state and each step, as high as its contents."""
    return (*_data(plan, rows, at, labels), *_operations(plan, rows, at, glyphs))


def _data(plan: Plan, rows: Sequence[Rows], at: Columns, labels: Sequence[Text]) -> Iterator[Extra]:
    for s, state in enumerate(plan.states):
        middle = at.names[s]
        here = [text.box for text in labels if abs(_middle(text) - middle) < 0.5]
        ys = [rows[s][port] for value in state for port in plan.drawn(value)]
        if not ys:
            continue  # arrays without axes have no wires
        half = max((box.width for box in here), default=0.0) / 2 + style.BAND_SIDE
        top = min([*(box.y0 - style.INK for box in here), min(ys) - style.BAND_TOP])
        box = Box(middle - half, top, middle + half, max(ys) + style.BAND_FOOT)
        yield _band("data", box, f"data: {len(state)} array{'s' * (len(state) != 1)}")


def _operations(
    plan: Plan, rows: Sequence[Rows], at: Columns, glyphs: Sequence[DrawnGlyph]
) -> Iterator[Extra]:
    ink = {glyph.node: glyph.ink for glyph in glyphs}
    for s, step in enumerate(plan.steps):
        if all(unit.passes for unit in step):
            continue
        ys = [rows[s][port] for unit in step for port in unit.in_places]
        ys += [rows[s + 1][port] for unit in step for port in unit.out_places]
        boxes = [box for unit in step for box in ink.get(unit.node, ())]
        x0, x1 = at.right[s] + style.BAND_GAP / 2, at.left[s + 1] - style.BAND_GAP / 2
        fenced = any(f.first <= s < f.last and not plan.is_panel(f) for f in plan.frames)
        over, under = style.BAND_FENCED if fenced else style.BAND_HIGH
        body = Box(x0, min(ys) - over, x1, max(ys) + under)
        more = style.INK / 2 if fenced else style.INK
        box = Box.around([body, *(Box(x0, b.y0 - more, x1, b.y1 + more) for b in boxes)])
        yield _band("operation", box, "operation")


def _middle(text: Text) -> float:
    return text.at.x + text.label.width / 2


def _band(role: str, box: Box, words: str) -> Extra:
    return Extra("band", (Outline(rectangle(box), role),), words, behind=True)


def rectangle(box: Box) -> Path:
    """Returns the outline of a box."""
    x0, y0, x1, y1 = box
    return polygon([Point(x0, y0), Point(x1, y0), Point(x1, y1), Point(x0, y1)])
