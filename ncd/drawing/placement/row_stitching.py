"""Stacks the rows of a diagram and connects them by arrows."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import replace
from math import hypot

from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.base import style
from ncd.drawing.base.plan_types import Plan
from ncd.drawing.base.primitives import (
    Box,
    Curve,
    DrawnFence,
    DrawnWire,
    Extra,
    Outline,
    Point,
    polygon,
)
from ncd.drawing.base.transform import moved, together
from ncd.drawing.plan.frames import ids_of


def joined(rows: Sequence[Plan], drawings: Sequence[Drawing]) -> Drawing:
    """Returns the drawings of rows as one drawing."""
    if len(rows) == 1:
        return drawings[0]
    parts, y = [], 0.0
    over = [frozenset[str](), *(ids_of(row.states[-1]) for row in rows[:-1]), frozenset[str]()]
    for n, (row, drawing) in enumerate(zip(rows, drawings, strict=True)):
        part = _with_arrows(_cut(row, drawing), over[n], over[n + 1])
        part = moved(part, -part.box.x0, y - part.box.y0)
        y = part.box.y1 + style.ROW_GAP
        parts.append(part)
    return together(parts)


def _cut(row: Plan, drawing: Drawing) -> Drawing:
    """Returns the drawing without the bracket of a repetition that only continues."""
    over = {frame.id: frame.goes_on for frame in row.frames}
    fences = tuple(_open(fence, *over[fence.id]) for fence in drawing.fences)
    return replace(drawing, fences=fences)


def _open(fence: DrawnFence, before: bool, behind: bool) -> DrawnFence:
    if not fence.brackets:
        return fence
    sides = slice(int(before), 1 if behind else 2)
    return replace(fence, brackets=fence.brackets[sides], title=fence.title[sides])


def _with_arrows(drawing: Drawing, before: Set[str], behind: Set[str]) -> Drawing:
    """Adds arrows where arrays come from the row before or continue in the next one."""
    wires = [wire for wire in drawing.wires if wire.path]
    right = max((wire.path[-1].d.x for wire in wires), default=0.0)
    left = min((wire.path[0].a.x for wire in wires), default=0.0)
    arrows = [
        _leaving(wire)
        for wire in wires
        if wire.array in behind and not wire.taken_by and wire.path[-1].d.x > right - 1
    ]
    arrows += [
        _coming(wire)
        for wire in wires
        if wire.array in before and not wire.made_by and wire.path[0].a.x < left + 1
    ]
    ink = [
        Box.of(p for curve in item.path for p in curve)
        for arrow in arrows
        for item in arrow.items
        if isinstance(item, Outline)
    ]
    around = Box.around([drawing.box, *(box.grown(style.MARGIN) for box in ink)])
    return replace(drawing, box=around, extras=(*drawing.extras, *arrows))


def _leaving(wire: DrawnWire) -> Extra:
    """Returns an arrow from the end of a wire, downwards and on."""
    (x, y), (long, high) = wire.path[-1].d, style.BENT
    tip = Point(x + long, y + high)
    bend = Curve(Point(x, y), Point(x + 0.5 * long, y), Point(x + 0.8 * long, y + 0.4 * high), tip)
    return _arrow(wire, bend, "goes on in the next row")


def _coming(wire: DrawnWire) -> Extra:
    """Returns an arrow from above to the beginning of a wire."""
    (x, y), (long, high) = wire.path[0].a, style.BENT
    start = Point(x - long, y - high)
    near = Point(x - 0.8 * long, y - 0.4 * high)
    bend = Curve(start, near, Point(x - 0.5 * long, y), Point(x, y))
    return _arrow(wire, bend, "goes on from the row above")


def _arrow(wire: DrawnWire, bend: Curve, words: str) -> Extra:
    (x, y), tip = bend.c, bend.d
    away = hypot(tip.x - x, tip.y - y)
    u, v = (tip.x - x) / away, (tip.y - y) / away
    long, half = style.BENT_HEAD, 0.4 * style.BENT_HEAD
    back = Point(tip.x - long * u, tip.y - long * v)
    head = [tip, Point(back.x - half * v, back.y + half * u)]
    head.append(Point(back.x + half * v, back.y - half * u))
    stroke = Curve(bend.a, bend.b, bend.c, back)
    items = [Outline((stroke,), "none", style.WIRE, False), Outline(polygon(head), "ink", 0.0)]
    if wire.double:
        by = style.DOUBLE
        upper = (Curve(*(Point(p.x, p.y - by / 2) for p in stroke)),)
        lower = (Curve(*(Point(p.x, p.y + by / 2) for p in stroke)),)
        items[:1] = [Outline(path, "none", style.WIRE, False) for path in (upper, lower)]
    return Extra("arrow", tuple(items), f"{wire.axis} {words}", wire.array)
