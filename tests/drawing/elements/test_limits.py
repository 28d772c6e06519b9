"""Rules of the drawing at their limits: room for bends, marks, separators, bands and obstacles."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace
from typing import Any

import pytest

import ncd
from ncd.drawing.elements import style
from ncd.drawing.elements.labels import math
from ncd.drawing.elements.primitives import Outline, Point, Rectangle, corners, line, s_curve
from ncd.drawing.elements.routing import (
    GlyphCanvas,
    ObstacleGrid,
    _bend_distance,
    bend_width,
    cross_wires,
    crossing_width,
)
from ncd.drawing.layout_cache import _UncachedDrawing
from ncd.drawing.marks.mark_kind import clear_row
from ncd.drawing.marks.shape_marks import Bar, _slots
from ncd.drawing.marks.text_marks import draw_arrow
from ncd.drawing.placement.fences import _end, _Separator
from ncd.language.op import Glyph, Mark


def canvas(ins: list[float], outs: list[float], foreign: list[float] | None = None) -> GlyphCanvas:
    return GlyphCanvas("", Glyph(()), 0.0, 100.0, ins, outs, 0.0, foreign or [], 40.0)


@pytest.mark.parametrize("bend", [0, 0.49, 0.5, 10, -10, 405, 406, 1000])
def test_a_bend_has_its_room(bend: float) -> None:
    wanted = 0 if abs(bend) < 0.5 else min(160, 14 + 0.36 * abs(bend))
    assert bend_width(bend) == pytest.approx(wanted)


@pytest.mark.parametrize(("ins", "outs", "more"), [(1, 2, 0), (3, 1, 1), (1, 5, 3), (4, 3, 2)])
def test_a_bar_is_wider_for_each_wire_more_than_two(ins: int, outs: int, more: int) -> None:
    mark = Mark("bar", ins=tuple(range(ins)), outs=tuple(range(outs)))
    assert Bar().width(mark) == style.BAR_ROOM + more * style.BAR_MORE


def test_wires_at_a_bar_keep_away_from_a_wire_below() -> None:
    """Those that are far apart meet near the one: closer where another wire passes."""
    many, few = [0.0, 200.0, 400.0], [100.0]
    side = style.BAR[1]
    free = _slots(canvas(many, few), many, few)
    assert free == [100 + style.BAR_SLOT * n for n in range(3)]
    below = 100 + 2 * side + 6
    close = _slots(canvas(many, few, [below, 900.0, 50.0]), many, few)
    assert close == [100, 103, 106] and close[-1] + side <= below - side
    assert _slots(canvas([1, 2, 3], few), [3, 1, 2], few) == [1, 2, 3]


def test_an_arrow_ends_where_its_head_begins() -> None:
    for text in ("μ", "Max"):
        sheet = canvas([0.0], [])
        tip = draw_arrow(sheet, text, 50.0, 7.0)
        strokes = [i for i in sheet.items if isinstance(i, Outline) and not i.is_closed]
        (head,) = (i for i in sheet.items if isinstance(i, Outline) and i.is_closed)
        assert max(p.x for curve in head.path for p in curve) == pytest.approx(tip)
        way = style.ARROW_WAY if text == "μ" else style.NUDGE + style.ARROW
        assert tip == 50 + way
        if text == "μ":
            (curve,) = strokes[0].path
            assert (curve.a, curve.d) == (
                Point(50 + style.GAP, 7.0),
                Point(tip - style.ARROW, 7.0),
            )
        else:
            assert not strokes


def test_a_text_stands_in_the_middle_if_there_is_just_room() -> None:
    mark = Mark("text", ins=(0, 1), outs=(0,))
    need = 10.0
    assert clear_row(canvas([0, 40], [20], [30]), mark, need) == 20
    assert clear_row(canvas([0, 40], [20], [29.9]), mark, need) == 0
    wide = canvas([0, 40], [20], [20, 1, 44])
    assert clear_row(wide, mark, need) == max(
        [20, 0, 40], key=lambda y: min(abs(y - x) for x in (20, 1, 44))
    )


@pytest.mark.parametrize(
    ("levels", "rows"),
    [
        ([(0, 10), (5, 15), (8, 9)], [8.5] * 3),
        ([(0, 10), (5, 15), (12, 20)], [7.5, 7.5, 16]),
        ([(0, 10), (10, 12)], [10, 10]),
        ([(0, 1), (2, 3), (2, 9)], [0.5, 2.5, 2.5]),
    ],
)
def test_a_separator_is_level_as_far_as_it_can_be(
    levels: list[tuple[float, float]], rows: list[float]
) -> None:
    assert _Separator(0, list(levels)).rows() == rows


@pytest.mark.parametrize(("gap", "reach"), [(200.0, style.DASH_REACH), (40.0, 20.0)])
def test_a_separator_ends_in_the_op_before_its_middle(gap: float, reach: float) -> None:
    plan: Any = SimpleNamespace(steps=[0], consumers=[{"a": SimpleNamespace(cell="n1")}])
    at: Any = SimpleNamespace(left_edges=[0.0, 50.0 + gap], right_edges=[50.0])
    (curve,) = _end(plan, at, 0, ("a", "b"), Point(50.0, 3.0))
    assert (curve.a, curve.d) == (Point(50.0, 3.0), Point(50.0 + reach, 3.0))
    assert _end(plan, at, 1, ("a", "b"), Point(0, 0)) == []


def test_a_line_that_touches_an_obstacle_is_not_near_it() -> None:
    ground = ObstacleGrid([Rectangle(40, 0, 60, 20)], [])
    ((x0, y0, x1, y1),) = ground.obstacles_near(line(Point(0, 9), Point(100, 9)))
    for a, b in (
        ((0, y0), (100, y0)),
        ((0, y1), (100, y1)),
        ((0, 9), (x0, 9)),
        ((x1, 9), (100, 9)),
    ):
        assert not list(ground.obstacles_near(line(Point(*a), Point(*b))))
    for a, b in (((0, y0 + 1), (100, y0 + 1)), ((0, 9), (x0 + 1, 9)), ((x1 - 1, 9), (200, 9))):
        assert list(ground.obstacles_near(line(Point(*a), Point(*b))))


def test_boxes_along_a_wire_that_bends_cover_it_from_end_to_end() -> None:
    curve = s_curve(Point(10, 5), Point(90, 45))
    boxes = [*ObstacleGrid([], [(curve,)]).obstacles_near(line(Point(0, 25), Point(100, 25)))]
    lefts, tops, rights, lows = zip(*boxes, strict=True)
    by = style.DASH_FREE
    assert (min(lefts), max(rights)) == pytest.approx((10 - by, 90 + by))
    assert (min(tops), max(lows)) == pytest.approx((5 - by, 45 + by))
    for n in range(101):
        x, y = curve.point_at(n / 100)
        assert any(x0 < x < x1 and y0 < y < y1 for x0, y0, x1, y1 in boxes)
    assert max(low - top for top, low in zip(tops, lows, strict=True)) < 40 / 2  # none is the whole


def test_bands_leave_as_much_wire_at_both_ends() -> None:
    term = ncd.Softmax("k:3") >> ncd.Softmax("k")
    drawing = ncd.draw(term, bands=True)
    bands = [extra.box for extra in drawing.extras if extra.kind == "band"]
    ends = [p.x for wire in drawing.wires for curve in wire.path for p in (curve.a, curve.d)]
    out = min(b.x0 for b in bands) - min(ends)
    assert out == pytest.approx(max(ends) - max(b.x1 for b in bands)) and out > 0


def test_wires_that_all_cross_turn_in_rounds_and_keep_their_rows_between() -> None:
    """Three wires in the opposite order: they cross pair by pair, never all at one point."""
    wires = [(0.0, 40.0), (20.0, 20.0), (40.0, 0.0)]
    paths = cross_wires(wires, 0.0, 300.0)
    for (start, stop), path in zip(wires, paths, strict=True):
        assert (path[0].a, path[-1].d) == (Point(0, start), Point(300, stop))
        assert all(one.d == two.a for one, two in pairwise(path))
        rows = [path[0].a.y, *(curve.d.y for curve in path)]
        assert set(rows) <= {0.0, 20.0, 40.0}
        assert all(one.a.x < one.d.x for one in path)
    middle, first, last = (
        [round(curve.d.y) for curve in path] for path in (paths[1], paths[0], paths[2])
    )
    assert len({tuple(first), tuple(last), tuple(middle)}) == 3
    assert crossing_width(wires) > crossing_width([(0.0, 20.0), (20.0, 0.0)])


@pytest.mark.parametrize("low", [0.0, 100.0, 300.0])
@pytest.mark.parametrize("reverse", [False, True], ids=["narrow first", "narrow last"])
def test_wires_cross_in_the_rows_of_the_side_on_which_they_are_closer(low, reverse) -> None:
    """Wherever that side is: so that the wires are spread, or gathered, in one round alone."""
    near, far = [low, low + 20, low + 40], [240.0, 180.0, 120.0]
    wires = [*zip(far, near, strict=True)] if reverse else [*zip(near, far, strict=True)]
    for path in cross_wires(wires, 0.0, 300.0):
        ends = [path[0].a.y, *(curve.d.y for curve in path)]
        inner = ends[1:] if reverse else ends[:-1]
        assert set(inner) <= set(near)


def test_a_first_drawing_weighs_its_wires_and_ops() -> None:
    term = ncd.Softmax("k:3") >> ncd.Softmax("k")
    drawing = ncd.draw(term)
    first = _UncachedDrawing(drawing, ncd.elaborate(term), None)  # type: ignore[arg-type]
    assert first.parts == len(drawing.wires) + 2 + 1


def test_scripts_stand_right_of_their_letter_and_clear_of_each_other() -> None:
    for name in ("x_i^2", "f_g^j", "L^Q_h", "y_{λ+1}^{2c}"):
        base, *scripts = math(name, 16).spans
        alone = [math(span.text, span.size) for span in scripts]
        ups = [(s, own) for s, own in zip(scripts, alone, strict=True) if s.dy < base.dy]
        downs = [(s, own) for s, own in zip(scripts, alone, strict=True) if s.dy > base.dy]
        assert ups and downs
        lowest = max(s.dy + own.descent for s, own in ups)
        highest = min(s.dy - own.ascent for s, own in downs)
        assert highest - lowest >= 0.12 * 16 - 0.01
        end = math(base.text, 16).width  # of its ink
        assert all(s.dx >= end - 0.3 * 16 for s in scripts)
        assert min(s.dx for s, _ in ups) >= end + 0.03 * 16


def test_a_bar_stands_over_its_letter_wherever_that_is() -> None:
    plain = math("x̄", 100.0)
    letter, bar = plain.spans[0], plain.bars[0]
    for text in ("a_{x̄}", "a^b_{x̄}", "f^{b_2}_{x̄}", "l^{x̄}_{x̄}"):  # some scripts make way
        label = math(text, 100.0)
        letters = [span for span in label.spans if span.text == "x"]
        for span, own in zip(letters, label.bars, strict=True):
            scale = span.size / letter.size
            assert own.y - span.dy == pytest.approx(scale * (bar.y - letter.dy), abs=0.01)
            assert own.x0 - span.dx == pytest.approx(scale * (bar.x0 - letter.dx), abs=0.01)
            assert own.x1 - own.x0 == pytest.approx(scale * (bar.x1 - bar.x0), abs=0.01)


def test_the_corners_of_a_box_stand_around_its_middle() -> None:
    assert corners(10, 4, 1, 7) == [(6, 1), (14, 1), (14, 7), (6, 7)]


@pytest.mark.parametrize("bend", [20.0, 60.0, 300.0])
def test_a_part_of_a_bend_is_done_where_the_curve_is_at_that_height(bend: float) -> None:
    wide = bend_width(bend)
    curve = s_curve(Point(0, 0), Point(wide, bend))
    for n in range(11):
        x, y = curve.point_at(n / 10)
        assert _bend_distance(bend, y) == pytest.approx(x, abs=wide / 1000)
