"""The arrow below a diagram, from the cells of one array to those of another."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from math import hypot

from fontTools.misc.bezierTools import splitCubicAtT

from ncd.drawing.base import style
from ncd.drawing.base.primitives import Box, Curve, Path, Picture, Point, polygon
from ncd.drawing.base.ribbon import ribbon

DROPS = (1, 2, 3, 4)  # how far below the diagram it runs, beside the usual way
# Parts of the way: the flatter the curve, the further along; below 0 it leaves straight down.
REACHES = (0.2, 0.14, 0.09, 0.05, 0.0, -0.02, -0.04)


def sweep(drawing: Picture, a: Point, b: Point, bottom: float) -> tuple[Path, Path]:
    """Returns the outlines of its shaft and head: one smooth curve that runs below ``bottom``.

    It is as flat as it can be without running over a wire, a mark or a name.
    """
    solid = _solid(drawing)
    for drop, reach in product(DROPS, REACHES):
        curve = _swung(a, b, bottom + drop * style.TOUCH_DROP, reach * (b.x - a.x))
        if not any(box.meets(other) for box in _boxes(curve) for other in solid):
            break
    t = _neck(curve)
    shaft = Curve(*(Point(*point) for point in splitCubicAtT(*curve, t)[0]))
    return ribbon((shaft,), style.TOUCH_WAY / 2), polygon(list(_head(curve.at(t), curve.d)))


def _swung(a: Point, b: Point, bottom: float, reach: float) -> Curve:
    """Returns the curve that touches the bottom in its middle."""
    low = (bottom - (a.y + b.y) / 8) / 0.75
    return Curve(a, Point(a.x + reach, low), Point(b.x - reach, low), b)


def _boxes(curve: Curve) -> Iterator[Box]:
    for n in range(48):
        yield Box.of([curve.at(n / 48), curve.at((n + 1) / 48)]).grown(style.TOUCH_ROOM)


def _solid(drawing: Picture) -> list[Box]:
    wires = [Box.of([c.a, c.d]).grown(1.0) for wire in drawing.wires for c in wire.path]
    inks = [box for glyph in drawing.glyphs for box in glyph.ink]
    return [*wires, *inks, *(text.box for text in drawing.labels)]


def _neck(curve: Curve) -> float:
    """Returns the parameter at which the head begins."""
    end, t = curve.d, 1.0
    while t > 0.5 and hypot(end.x - curve.at(t).x, end.y - curve.at(t).y) < style.TOUCH_HEAD:
        t -= 0.005
    return t


def _head(neck: Point, tip: Point) -> Iterator[Point]:
    """Yields the corners of the head, its barbs a little behind its neck."""
    x, y = tip.x - neck.x, tip.y - neck.y
    yield tip
    yield Point(neck.x - x * 0.3 - y * 0.6, neck.y - y * 0.3 + x * 0.6)
    yield neck
    yield Point(neck.x - x * 0.3 + y * 0.6, neck.y - y * 0.3 - x * 0.6)
