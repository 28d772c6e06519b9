"""The arrow below a diagram, from the cells of one array to those of another."""

from __future__ import annotations

from collections.abc import Iterator
from math import hypot

from ncd.drawing.base import style
from ncd.drawing.base.primitives import Box, Curve, Path, Picture, Point, line, polygon


def sweep(drawing: Picture, a: Point, b: Point, bottom: float) -> tuple[Path, Path]:
    """Returns the outlines of its shaft and head; it runs below ``bottom``, over nothing."""
    path = _swung(a, b, bottom + style.TOUCH_DROP)
    if any(box.meets(other) for box in _boxes(path) for other in _solid(drawing)):
        path = _sunk(a, b, bottom + style.TOUCH_DROP / 2)
    other = tuple(_beside(curve, style.TOUCH_WAY).back for curve in reversed(path))
    ends = line(path[-1].d, other[0].a), line(other[-1].d, path[0].a)
    return (*path, ends[0], *other, ends[1]), polygon(list(_head(path[-1])))


def _swung(a: Point, b: Point, bottom: float) -> Path:
    """Returns one smooth curve that touches the bottom."""
    low, reach = (bottom - (a.y + b.y) / 8) / 0.75, (b.x - a.x) / 5
    return (Curve(a, Point(a.x + reach, low), Point(b.x - reach, low), b),)


def _sunk(a: Point, b: Point, bottom: float) -> Path:
    """Returns a path down beside the wires, along the bottom, and up again."""
    turn = style.CELLS_ROOM / 6, style.CELLS_ROOM
    left, right = a.x + turn[0], b.x - turn[0]
    one, two = Point(a.x + turn[1], bottom), Point(b.x - turn[1], bottom)
    down = Curve(a, Point(left, (a.y + 2 * bottom) / 3), Point(left, bottom), one)
    up = Curve(two, Point(right, bottom), Point(right, (b.y + 2 * bottom) / 3), b)
    return down, line(one, two), up


def _boxes(path: Path) -> Iterator[Box]:
    for curve in path:
        for n in range(24):
            yield Box.of([curve.at(n / 24), curve.at((n + 1) / 24)]).grown(style.TOUCH_ROOM)


def _solid(drawing: Picture) -> list[Box]:
    wires = [Box.of([c.a, c.d]).grown(1.0) for wire in drawing.wires for c in wire.path]
    inks = [box for glyph in drawing.glyphs for box in glyph.ink]
    return [*wires, *inks, *(text.box for text in drawing.labels)]


def _beside(curve: Curve, way: float) -> Curve:
    """Returns the parallel curve at a distance to the left."""
    points = []
    for n, p in enumerate(curve):
        before, after = curve[max(n - 1, 0)], curve[min(n + 1, 3)]
        x, y = after.x - before.x, after.y - before.y
        length = hypot(x, y) or 1.0
        points.append(Point(p.x + y / length * way, p.y - x / length * way))
    return Curve(*points)


def _head(curve: Curve) -> Iterator[Point]:
    """Yields the points of a head at the end of the curve."""
    size, (end, before) = style.TOUCH_HEAD, (curve.d, curve.at(0.9))
    x, y = end.x - before.x, end.y - before.y
    length = hypot(x, y) or 1.0
    x, y = x / length * size, y / length * size
    yield Point(end.x + x * 0.4, end.y + y * 0.4)
    yield Point(end.x - x - y * 0.6, end.y - y + x * 0.6)
    yield Point(end.x - x * 0.6, end.y - y * 0.6)
    yield Point(end.x - x + y * 0.6, end.y - y - x * 0.6)
