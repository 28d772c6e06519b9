"""Marks with an outline, by the numbers of a small canvas."""

from __future__ import annotations

import pytest

from ncd.drawing.elements import style
from ncd.drawing.elements.labels import math, roman
from ncd.drawing.elements.primitives import Rectangle
from ncd.drawing.marks.mark_kind import free_row
from ncd.drawing.marks.marks import MARKS
from ncd.language.op import Mark
from tests.drawing.marks.mark_canvas import (
    MIDDLE,
    X0,
    X1,
    boxes,
    centred,
    heads,
    lines,
    marked,
    shapes,
    sheet,
    spread,
    tails,
    words,
)

near = pytest.approx


def test_a_triangle_points_left_on_each_wire() -> None:
    canvas, mark = marked("triangle", ins=(10, 40), outs=(10, 40))
    half, tall = style.TRIANGLE
    left, right = MIDDLE - half, MIDDLE + half
    assert shapes(canvas, "softmax") == [
        [(left, y), (right, y - tall), (right, y + tall)] for y in (10, 40)
    ]
    assert (tails(canvas), heads(canvas)) == spread(left, right, (10, 40), (10, 40))
    assert MARKS["triangle"].width(mark) == style.PLUS_ROOM


@pytest.mark.parametrize("text", ["f", "projection", "★3", "★projection"])
@pytest.mark.parametrize(("ins", "outs"), [((20,), (20,)), ((10, 40), (10,)), ((20,), (5, 60))])
def test_a_box_stands_around_its_wires_and_its_text(text: str, ins, outs) -> None:
    canvas, mark = marked("box", text, ins, outs)
    star = style.STAR_ROOM if text.startswith("★") else 0
    (label,) = words(canvas)
    wide = label.label.width + star + 2 * style.INSET
    left, right = MIDDLE - wide / 2, MIDDLE + wide / 2
    tall = label.label.ascent + max(0, label.label.descent) + style.INSET
    alone = max(len(ins), len(outs)) == 1
    side = max(style.SIDE, tall / 2) if alone else style.SIDE
    (box,) = boxes(canvas, "linear")
    assert box == near((left, min(ins + outs) - side, right, max(ins + outs) + side))
    assert (tails(canvas), heads(canvas)) == spread(near(left), near(right), ins, outs)
    x, y = centred(label)
    assert (x, y) == near((MIDDLE + star / 2, (box.y0 + box.y1) / 2))
    kind = MARKS["box"]
    assert kind.width(mark) == near(wide + style.BOX_ROOM - 2 * style.INSET + 2 * style.STUB)
    room = max(0, tall / 2 - style.SIDE) if alone else 0
    assert (kind.headroom(mark), kind.footroom(mark)) == near((room, room))
    if star:
        (shape,) = boxes(canvas, "ink")
        assert (shape.x0 + shape.x1) / 2 == near(left + style.INSET + style.STAR)
        assert shape.y0 == near((box.y0 + box.y1) / 2 - style.STAR)
        assert shape.x1 < label.box.x0
    else:
        assert not boxes(canvas, "ink")


def test_a_box_with_a_fraction_is_higher_than_one_wire_needs() -> None:
    mark = Mark("box", "a^{2^{2^2}}_{b_{b_b}}", (0,), (0,))
    kind = MARKS["box"]
    assert kind.headroom(mark) > 0
    two = Mark("box", mark.text, (0, 1), (0,))
    assert kind.headroom(two) == 0
    label = math(mark.text, style.BOX_TEXT)
    assert kind.headroom(mark) == near(
        (label.ascent + label.descent + style.INSET) / 2 - style.SIDE
    )


@pytest.mark.parametrize(
    ("foreign", "row"),
    [
        ((), 50),
        ((20,), 60),
        ((80,), 40),
        ((40, 60), 20),
        ((-1, 101), 50),
        ((0, 100), 50),
        ((30, 90), 60),
    ],
)
def test_the_text_in_a_box_keeps_away_from_passing_wires(foreign, row: float) -> None:
    assert free_row(sheet(foreign=foreign), 0, 100) == row


def test_a_function_box_is_thin_and_not_too_narrow() -> None:
    short, _ = marked("function", "f", (20,), (20,))
    assert boxes(short, "none")[0][::2] == (
        MIDDLE - style.FUNCTION_HALF,
        MIDDLE + style.FUNCTION_HALF,
    )
    assert not boxes(short, "linear")
    long, _ = marked("function", "encoder", (20,), (20,))
    half = roman("encoder", style.FUNCTION).width / 2 + style.INSET
    assert boxes(long, "none")[0][::2] == near((MIDDLE - half, MIDDLE + half))
    assert tails(long)[0] == near((MIDDLE - half, 20))


@pytest.mark.parametrize(
    ("rows", "side"), [((20,), 12), ((20, 28), 8), ((20, 32), 6), ((20, 90), 6)]
)
def test_a_mask_is_a_square_half_filled_below_its_diagonal(rows, side: float) -> None:
    for foreign, paint in (
        ((), "ink"),
        ((21,), "mask"),
        ((rows[0] - side,), "ink"),
        ((95 + side,), "ink"),
    ):
        canvas, mark = marked("mask", "", rows, rows, foreign)
        left, right = MIDDLE - style.MASK, MIDDLE + style.MASK
        top, bottom = rows[0] - side, rows[-1] + side
        assert boxes(canvas, "page") == [(left, top, right, bottom)]
        assert shapes(canvas, paint) == [[(left, top), (right, bottom), (left, bottom)]]
        assert (tails(canvas), heads(canvas)) == spread(left, right, rows, rows)
    assert MARKS["mask"].width(mark) == 2 * style.MASK + 2 * style.STUB + style.LETTER_ROOM


# --- bars -----------------------------------------------------------------------------------------

HALF, SIDE, EDGE = style.BAR


@pytest.mark.parametrize(
    ("ins", "outs"), [((10, 30), (20,)), ((20,), (10, 30)), ((10, 30, 50), (20,)), ((10, 30), ())]
)
def test_a_bar_stands_over_wires_that_are_neighbours(ins, outs) -> None:
    canvas, _ = marked("bar", "", ins, outs)
    many = max(ins, outs, key=len)
    (bar,) = boxes(canvas, "ink")
    assert bar == (MIDDLE - HALF, min(many) - SIDE, MIDDLE + HALF, max(many) + SIDE)
    assert (tails(canvas), heads(canvas)) == spread(bar.x0, bar.x1, ins, outs)
    bend = MARKS["bar"].bend(
        Mark("bar", "", tuple(range(len(ins))), tuple(range(len(outs)))), ins, outs
    )
    assert bend == 0


@pytest.mark.parametrize("out", [-50, 90])
def test_one_wire_comes_to_the_nearer_end_of_a_bar(out: float) -> None:
    canvas, _ = marked("bar", "", (10, 30), (out,))
    assert heads(canvas)[0] == (MIDDLE + HALF, min(max(out, 10), 30))


@pytest.mark.parametrize(("ins", "outs"), [((0, 60, 200), (50,)), ((50,), (0, 60, 200))])
def test_distant_wires_come_to_a_bar_near_the_one(ins, outs) -> None:
    canvas, mark = marked("bar", "", ins, outs, mark_width=30.0)
    (bar,) = boxes(canvas, "ink")
    joins = len(ins) > 1
    middle = X1 - EDGE if joins else X0 + EDGE
    assert bar == near((middle - HALF, 50 - SIDE, middle + HALF, 50 + 2 * style.BAR_SLOT + SIDE))
    slots = [50 + style.BAR_SLOT * n for n in range(3)]
    many, one = (tails(canvas), heads(canvas)) if joins else (heads(canvas), tails(canvas))
    edge, far = (bar.x0, bar.x1) if joins else (bar.x1, bar.x0)
    assert many == {n: near((edge, y)) for n, y in enumerate(slots)}
    assert one == {0: near((far, 50))}
    assert MARKS["bar"].bend(mark, ins, outs) == 150


def test_a_bar_without_a_wire_on_one_side_bends_nothing() -> None:
    mark = Mark("bar", "", (0, 1, 2), ())
    assert MARKS["bar"].bend(mark, (0, 60, 200), ()) == 0
    both = Mark("bar", "", (0, 1), (0,))
    assert MARKS["bar"].bend(both, (0, style.NEIGHBOUR_GAP - 0.1), (90,)) == 0
    assert MARKS["bar"].bend(both, (0, style.NEIGHBOUR_GAP), (90,)) == 90


# --- signs at the end of a wire -------------------------------------------------------------------


@pytest.mark.parametrize("rows", [(20,), (20, 41)])
def test_a_pentagon_points_right_at_the_end_of_its_wires(rows) -> None:
    canvas, mark = marked("pentagon", "12", rows)
    label = math("12", style.WORD)
    half = (label.width + style.PENTAGON) / 2 + style.INSET
    left, tip, neck = MIDDLE - half, MIDDLE + half, MIDDLE + half - style.PENTAGON
    top, bottom = rows[0] - style.SIDE, rows[-1] + style.SIDE
    assert shapes(canvas, "touch") == [
        [
            near(at)
            for at in (
                (left, top),
                (neck, top),
                (tip, (top + bottom) / 2),
                (neck, bottom),
                (left, bottom),
            )
        ]
    ]
    assert tails(canvas) == {i: near((left, y)) for i, y in enumerate(rows)}
    (text,) = words(canvas)
    assert centred(text) == near((MIDDLE - style.PENTAGON / 2, (top + bottom) / 2))
    assert MARKS["pentagon"].width(mark) == near(
        label.width + style.BOX_ROOM + style.PENTAGON + 2 * style.STUB
    )


@pytest.mark.parametrize(
    ("ins", "over", "start"),
    [((20, 80), (0,), 20), ((20, 41, 80), (0, 1), 20), ((80,), (), 80 - style.ARRAY_GAP)],
)
def test_a_line_leads_from_the_places_to_a_lookup(ins, over, start: float) -> None:
    canvas, _ = marked("lookup", "i", ins, over=over)
    half, length = style.LINK
    x, top = MIDDLE - style.PENTAGON / 2, 80 - style.SIDE
    assert lines(canvas) == [((x, start), (x, top - length))]
    arrow, _ = shapes(canvas, "touch")
    assert arrow == [(x - half, top - length), (x + half, top - length), (x, top)]
    rows = [ins[i] for i in over]
    assert shapes(canvas, "ink") == [
        [(x - half, y - half), (x - half, y + half), (x, y)] for y in rows
    ]


@pytest.mark.parametrize(("rows", "radius"), [((20, 30), 8), ((20, 50), 15), ((20, 120), 18)])
def test_a_unit_turns_from_its_apex_to_both_wires(rows, radius: float) -> None:
    canvas, _ = marked("cup", "", (), rows)
    apex = (X1 - radius - style.STUB, (rows[0] + rows[1]) / 2)
    assert heads(canvas) == {0: apex, 1: apex}
    for o, y in enumerate(rows):
        curve, level = canvas.heads[o]
        assert tuple(curve.d) == (apex[0] + radius, y) and tuple(level.d) == (X1, y)
        assert curve.b.x == apex[0] and curve.c.y == y
        assert (curve.b.y - apex[1]) * (y - apex[1]) > 0 and apex[0] < curve.c.x < curve.d.x
    assert canvas.hits == [Rectangle(apex[0], rows[0], apex[0] + radius, rows[1])]
    gap = style.GAP
    assert canvas.ink == [Rectangle(apex[0], apex[1] - gap, apex[0] + gap, apex[1] + gap)]
