"""Marks of text and of sliding windows, by the numbers of a small canvas."""

from __future__ import annotations

import pytest

from ncd.drawing.elements import style
from ncd.drawing.elements.labels import math, roman, sans
from ncd.drawing.elements.primitives import Point, Rectangle
from ncd.drawing.marks.mark_kind import clear_row
from ncd.drawing.marks.marks import MARKS
from ncd.language.op import Glyph, Mark
from tests.drawing.marks.mark_canvas import (
    MIDDLE,
    X0,
    X1,
    boxes,
    centred,
    heads,
    lines,
    marked,
    sheet,
    tails,
    tips,
    words,
)

near = pytest.approx
REACH = style.REACH


def letter(text: str):
    return math(text, style.LETTER, bold=True)


@pytest.mark.parametrize("text", ["L", "L^{Q}", "L_{+}"])
def test_a_letter_stands_in_its_wire_with_a_gap_at_both_sides(text: str) -> None:
    canvas, mark = marked("letter", text, (20,), (20,))
    (label,) = words(canvas)
    assert label.label == letter(text)
    assert label.position == near((MIDDLE - label.label.width / 2, 20 + 0.345 * style.LETTER))
    assert tails(canvas) == {0: near((label.box.x0 - style.GAP, 20))}
    assert heads(canvas) == {0: near((label.box.x1 + style.GAP, 20))}
    kind = MARKS["letter"]
    assert kind.width(mark) == near(label.label.width + 2 * style.STUB + style.LETTER_ROOM)
    assert (kind.headroom(mark), kind.footroom(mark)) == (0, 0)


def test_wires_reach_a_letter_within_its_height() -> None:
    """The middle lies at 35: wires end thirteen units over and under it, or at its feet."""
    canvas, _ = marked("letter", "L", (20, 50), (20, 50))
    (label,) = words(canvas)
    top, bottom = (
        max(35 - REACH, label.box.y0 - style.FOOT),
        min(35 + REACH, label.box.y1 + style.FOOT),
    )
    assert label.position.y == near(35 + 0.345 * style.LETTER)
    assert [at[1] for at in tails(canvas).values()] == near([top, bottom])
    assert [at[1] for at in heads(canvas).values()] == near([top, bottom])
    assert not boxes(canvas, "ink")


@pytest.mark.parametrize(("half", "barred"), [(16, False), (16.1, True), (60, True)])
def test_wires_that_would_bend_to_a_letter_end_at_a_bar(half: float, barred: bool) -> None:
    """Sixteen units: thirteen that a letter reaches, and a gap of three."""
    canvas, _ = marked("letter", "L", (100 - half, 100 + half), (100,))
    (label,) = words(canvas)
    left = label.box.x0 - style.GAP
    assert len(boxes(canvas, "ink")) == barred
    if barred:
        (bar,) = boxes(canvas, "ink")
        one = style.UPRIGHT / 2
        assert bar == near((left - one, 100 - half, left + one, 100 + half))
        assert tails(canvas) == {0: near((left, 100 - half)), 1: near((left, 100 + half))}
    else:
        assert [abs(y - 100) < half for _, y in tails(canvas).values()] == [True, True]
    assert heads(canvas) == {0: near((label.box.x1 + style.GAP, 100))}
    back, _ = marked("letter", "L", (100,), (100 - half, 100 + half))
    assert len(boxes(back, "ink")) == barred
    if barred:
        right = words(back)[0].box.x1 + style.GAP
        assert boxes(back, "ink")[0][::2] == near((right - 1, right + 1))
        assert heads(back) == {0: near((right, 100 - half)), 1: near((right, 100 + half))}


def test_a_single_wire_bends_to_its_letter_without_a_bar() -> None:
    canvas, _ = marked("letter", "L", (0,), (100, 121))
    assert not boxes(canvas, "ink") or boxes(canvas, "ink")[0].x0 > MIDDLE


@pytest.mark.parametrize("text", ["L", "L_{+}"])
@pytest.mark.parametrize(("foreign", "top"), [((40, 30, 60), 30), ((), 7)])
def test_a_letter_without_wires_stands_over_those_that_it_works_along(text, foreign, top) -> None:
    canvas, mark = marked("letter", text, (), (), foreign)
    (label,) = words(canvas)
    below = max(0, letter(text).descent)
    assert label.position.y == near(top - style.LETTER_LIFT - below + 0.345 * style.LETTER)
    assert MARKS["letter"].headroom(mark) == near(style.HEADROOM_LETTER + below)


@pytest.mark.parametrize("name", ["encoder", "n" * 32, "ab" * 20])
def test_a_long_name_stands_behind_its_letter(name: str) -> None:
    canvas, mark = marked("letter", "L", (20,), (20, 41), note=name)
    label, note = words(canvas)
    shown = name if len(name) <= 32 else f"{name[:16]}…{name[-15:]}"
    assert note.label == sans(shown, style.NOTE) and len(shown) <= 32
    more = note.label.width + style.GAP
    assert (label.box.x0 + label.box.x1) / 2 == near(MIDDLE - more / 2)
    y = label.position.y - 0.345 * style.LETTER
    assert note.position == near((label.box.x1 + style.GAP, y - style.NOTE_LIFT))
    assert heads(canvas)[0] == near((note.box.x1 + style.GAP, max(20, y - REACH)))
    assert heads(canvas)[1][0] == near(label.box.x1 + style.GAP)  # it leaves under the name
    assert MARKS["letter"].width(mark) == near(
        letter("L").width + 2 * style.STUB + style.LETTER_ROOM + more
    )
    barred, _ = marked("letter", "L", (100,), (0, 200), note=name)
    bar = boxes(barred, "ink")[0]
    assert (bar.x0 + bar.x1) / 2 == near(words(barred)[1].box.x1 + style.GAP)


def test_a_wire_under_a_superscript_starts_at_the_foot_of_the_letter() -> None:
    canvas, _ = marked("letter", "L^{QQ}", (20,), (0, 26))
    (label,) = words(canvas)
    foot = label.box.x0 + letter("L").width + style.GAP
    assert heads(canvas)[0][0] == near(label.box.x1 + style.GAP)
    y = label.position.y - 0.345 * style.LETTER
    under = label.box.y1 < 26
    assert heads(canvas)[1] == near(
        (foot if under else label.box.x1 + style.GAP, min(26, y + REACH))
    )
    assert under
    for text in ("L", "L_b^{QQ}"):
        plain, _ = marked("letter", text, (20,), (0, 26))
        (label,) = words(plain)
        assert heads(plain)[1][0] == near(label.box.x1 + style.GAP)


@pytest.mark.parametrize(
    ("ins", "outs", "foreign", "row"),
    [
        ((0, 40), (20,), (), 20),
        ((0, 60), (90,), (), 79.5),  # near the one that leaves: half a step over it
        ((0,), (50, 90), (), 10.5),
        ((0, 10), (50, 90), (), 20.5),
        ((0,), (), (), 0),
        ((), (0, 30), (), 15),
        ((0, 40), (20,), (12,), 0),
        ((0, 40), (20,), (20, 0), 40),
        ((0, 40), (20,), (20, 5, 38), 0),
        ((), (), (), 7),
    ],
)
def test_a_sign_stands_in_the_middle_of_its_wires_where_there_is_room(
    ins, outs, foreign, row
) -> None:
    mark = Mark("word", "Max", tuple(range(len(ins))), tuple(range(len(outs))))
    assert clear_row(sheet(ins, outs, foreign), mark, 10) == row


# --- signs over the wires -------------------------------------------------------------------------


@pytest.mark.parametrize("apex", [None, Point(30, 50)])
@pytest.mark.parametrize("text", ["k^{-1/2}", "s_b"])
def test_a_factor_stands_over_its_arrow(apex, text: str) -> None:
    canvas, mark = marked("arrow", text, (60, 80), (60, 80), incoming_cap_apex=apex)
    (label,), (stroke,), (tip,) = words(canvas), lines(canvas), tips(canvas)
    half = label.label.width / 2 + style.SIGN_LIFT
    y = 50 if apex else 60 - style.SIGN_LIFT
    assert stroke == (
        near((30 if apex else MIDDLE - half, y)),
        near((MIDDLE + half - style.ARROW, y)),
    )
    assert tip == near((MIDDLE + half, y))
    down = max(0, label.label.descent)
    assert label.position == near(
        (MIDDLE - style.NUDGE - label.label.width / 2, y - style.FACTOR_LIFT - down)
    )
    kind = MARKS["arrow"]
    assert kind.width(mark) == near(label.label.width + style.ARROW_ROOM)
    assert kind.headroom(mark) == style.HEADROOM_ARROW
    assert not canvas.tails


def test_an_arrow_head_has_its_tip_and_a_notch() -> None:
    canvas = sheet()
    canvas.arrow_head(Point(50, 20))
    (head,) = [[tuple(c.a) for c in item.path] for item in canvas.items]
    size, half = style.ARROW, 0.55 * style.ARROW
    assert head == [
        near(at)
        for at in ((50, 20), (50 - size, 20 - half), (50 - 0.7 * size, 20), (50 - size, 20 + half))
    ]
    assert canvas.ink == [near((50 - size, 20 - half, 50, 20 + half))]


@pytest.mark.parametrize("rows", [((60, 80), ()), ((), (60, 80)), ((60,), (90,))])
def test_a_function_stands_between_two_arrowheads_over_its_wires(rows) -> None:
    canvas, mark = marked("elementwise", "f", *rows)
    (label,), ends = words(canvas), tips(canvas)
    assert label.position.y == near(60 - style.SIGN_LIFT)
    middle = centred(label)[1]
    assert ends == [
        near((label.box.x0 - style.NUDGE, middle)),
        near((label.box.x1 + style.NUDGE + style.ARROW, middle)),
    ]
    assert not lines(canvas)
    kind = MARKS["elementwise"]
    assert kind.width(mark) == near(label.label.width + style.SIGN_ROOM)
    assert kind.headroom(mark) == style.HEADROOM_SIGN


@pytest.mark.parametrize(("apex", "start"), [(None, (X0, 7)), (Point(30, 50), (30, 50))])
def test_the_arrow_of_one_number_runs_through_its_function(apex, start) -> None:
    canvas, _ = marked("elementwise", "f", incoming_cap_apex=apex)
    (label,), (stroke,) = words(canvas), lines(canvas)
    assert label.position.y == near(start[1] + label.label.ascent / 2)
    middle = centred(label)[1]
    assert stroke == (
        near((start[0], middle)),
        near((label.box.x0 - style.NUDGE - style.ARROW, middle)),
    )


def test_a_plus_stands_over_the_dots_of_the_first_wire() -> None:
    for rows, top in (((60, 40), 40), ((), 7)):
        canvas, mark = marked("plus", "+", (), rows)
        (label,) = words(canvas)
        assert (centred(label)[0], label.position.y) == near(
            (X1 - style.DOT_INSET, top - style.PLUS_LIFT)
        )
    kind = MARKS["plus"]
    assert kind.width(mark) == style.PLUS_ROOM and kind.headroom(mark) == style.HEADROOM_PLUS
    wide = Mark("plus", "a + b + c + d + e")
    assert kind.width(wide) == near(math(wide.text, style.BOX_TEXT).width + 2 * style.STUB)


def test_a_sign_at_the_end_of_wires_stands_in_the_first() -> None:
    canvas, _ = marked("plus", "ε", (20, 60))
    (label,) = words(canvas)
    assert label.position == near((MIDDLE - label.label.width / 2, 20 + style.DESCENT))
    left = label.box.x0 - style.GAP
    assert tails(canvas) == {0: near((left, 20)), 1: near((left, label.box.y1))}


@pytest.mark.parametrize(
    ("text", "way"), [("μ", style.ARROW_WAY), ("Max", style.NUDGE + style.ARROW)]
)
def test_a_word_ends_its_wire_in_an_arrow_or_goes_on(text: str, way: float) -> None:
    canvas, mark = marked("word", text, (20,))
    (label,) = words(canvas)
    assert centred(label) == near((MIDDLE - style.ARROW_WAY / 2, 20), abs=0.01)
    assert tips(canvas) == [near((label.box.x1 + way, 20))]
    assert tails(canvas) == {0: near((label.box.x0 - style.GAP, 20))}
    through, both = marked("word", text, (20,), (20,))
    assert centred(words(through)[0]) == near((MIDDLE, 20), abs=0.01)
    assert not tips(through)
    kind = MARKS["word"]
    assert kind.width(mark) - kind.width(both) == near(style.ARROW_WAY)
    assert kind.width(both) == near(label.label.width + 2 * style.STUB + style.LETTER_ROOM)
    size = {"μ": style.EXPECT, "Max": style.WORD}[text]
    assert label.label == (math(text, size) if text == "μ" else roman(text, size))


@pytest.mark.parametrize("rows", [(20, 60), ()])
def test_the_name_of_an_array_stands_at_the_left_of_its_wires(rows) -> None:
    through = tuple((n, n) for n in range(len(rows)))
    canvas, mark = marked("name", "Q", rows, rows, glyph=Glyph(through=through))
    (label,) = words(canvas)
    middle = sum(rows) / 2 if rows else 7
    assert label.position == near((X0 + style.NAME_INSET, middle + style.NAME_DROP))
    right = label.box.x1 + style.NAME_INSET
    high = rows or (7,)
    assert canvas.ink[1] == near((X0, high[0] - style.NUDGE, right, high[-1] + style.NUDGE))
    assert canvas.tails == dict.fromkeys(range(len(rows)), ())
    assert heads(canvas) == {n: near((right, y)) for n, y in enumerate(rows)}
    assert MARKS["name"].width(mark) == near(label.label.width + style.NAME_ROOM)


def test_a_learned_array_is_set_upright_and_bold() -> None:
    canvas, _ = marked("array", "wte", (), (20, 41))
    (label,) = words(canvas)
    assert label.label == roman("wte", style.ARRAY, 700)
    assert label.position.y == near(30.5 + 0.25 * style.ARRAY)
    italic, _ = marked("italic", "G", (20,), (20,))
    assert words(italic)[0].label == math("G", style.MAP)
    assert isinstance(words(italic)[0].box, Rectangle)
