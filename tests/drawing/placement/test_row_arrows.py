"""Rows of a diagram: wires that go on in the next one have arrows, and brackets stay open."""

from __future__ import annotations

from math import hypot

import pytest

from ncd.drawing.elements import style
from ncd.drawing.elements.primitives import DrawnWire, Outline, Point, Rectangle, line
from ncd.drawing.placement.layout import _coming, _leaving


def wire(double: bool = False) -> DrawnWire:
    path = (line(Point(10, 40), Point(90, 40)),)
    return DrawnWire(axis="m", array="v1", description="m of 3", path=path, double=double)


@pytest.mark.parametrize("double", [False, True])
@pytest.mark.parametrize("leaving", [True, False])
def test_an_arrow_bends_from_a_row_to_the_next(double: bool, leaving: bool) -> None:
    make = _leaving if leaving else _coming
    found = make(wire(double))
    *strokes, head = [item for item in found.items if isinstance(item, Outline)]
    assert len(strokes) == 1 + double
    (long, high), (x, y) = style.BENT_ARROW, (90, 40) if leaving else (10, 40)
    tip = Point(x + long, y + high) if leaving else Point(x, y)
    start = Point(x, y) if leaving else Point(x - long, y - high)
    points = [curve.a for curve in head.path]
    assert points[0] == pytest.approx(tip)
    back = Point(*((points[1][i] + points[2][i]) / 2 for i in (0, 1)))
    assert hypot(tip.x - back.x, tip.y - back.y) == pytest.approx(style.BENT_HEAD)
    across = hypot(points[1].x - points[2].x, points[1].y - points[2].y)
    assert across == pytest.approx(0.8 * style.BENT_HEAD)
    for barb in points[1:]:  # both are as far from the tip
        away = hypot(barb.x - tip.x, barb.y - tip.y)
        assert away == pytest.approx(hypot(1, 0.4) * style.BENT_HEAD)
    middles = [stroke.path[0].a for stroke in strokes], [stroke.path[0].d for stroke in strokes]
    for ends, wanted in zip(middles, (start, back), strict=True):
        assert sum(p.x for p in ends) / len(ends) == pytest.approx(wanted.x)
        assert sum(p.y for p in ends) / len(ends) == pytest.approx(wanted.y)
    if double:
        assert strokes[1].path[0].a.y - strokes[0].path[0].a.y == pytest.approx(style.DOUBLE)
    direction = (tip.x - back.x, tip.y - back.y)
    assert direction[0] > 0
    assert direction[1] >= 0
    words = "goes on in the next row" if leaving else "goes on from the row above"
    assert found.words == f"m {words}"


def test_a_bend_leaves_and_arrives_along_its_wire() -> None:
    out = _leaving(wire()).items[0]
    into = _coming(wire()).items[0]
    assert isinstance(out, Outline) and isinstance(into, Outline)
    assert out.path[0].a.y == out.path[0].b.y == 40
    assert into.path[0].c.y == 40
    assert into.path[0].b.y < 40 < out.path[0].c.y
    assert Rectangle.from_points(out.path[0]).x0 == 90
