"""Faults planted in sound drawings, for the lint to see."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.elements import style
from ncd.drawing.elements.labels import math
from ncd.drawing.elements.primitives import (
    Annotation,
    Dash,
    DrawnWire,
    Outline,
    Path,
    Point,
    Rectangle,
    Text,
    corners,
    line,
    polygon,
)
from ncd.drawing.lint.lint import lint


def wire(drawing: Drawing, array: str, axis: str) -> DrawnWire:
    return next(w for w in drawing.wires if (w.array, w.axis) == (array, axis))


def rewired(drawing: Drawing, old: DrawnWire, path: Path) -> Drawing:
    wires = tuple(replace(w, path=path) if w is old else w for w in drawing.wires)
    return replace(drawing, wires=wires)


def dashed(drawing: Drawing, *points: Point) -> Drawing:
    path = tuple(line(a, b) for a, b in pairwise(points))
    return replace(drawing, dashes=(Dash(path),))


def shown(
    drawing: Drawing, kind: str, box: Rectangle, of: str = "", behind: bool = False
) -> Drawing:
    """The drawing with an extra of this kind all over a box."""
    points = corners((box.x0 + box.x1) / 2, box.width / 2, box.y0, box.y1)
    words = Text(math("q", style.TINY), Point(middle(box).x - 3, middle(box).y + 3))
    items = (Outline(polygon(points), "note"), *([words] if kind == "note" else []))
    extra = Annotation(kind, items, "planted", of, behind)
    return replace(drawing, extras=(extra,))


def sees(drawing: Drawing, fault: str) -> None:
    found = lint(drawing)
    assert any(fault in one for one in found), found


def middle(box: Rectangle) -> Point:
    return Point((box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2)


def across(drawing: Drawing, at: Point) -> tuple[Point, Point]:
    """A level line over the whole drawing through a point."""
    return Point(drawing.box.x0, at.y), Point(drawing.box.x1, at.y)
