"""The trapezoid of a sliding window, by the numbers of a small canvas."""

from __future__ import annotations

import pytest

from ncd.drawing.elements import style as s
from ncd.drawing.elements.labels import math, roman
from ncd.drawing.marks.marks import MARKS
from ncd.language.op import Glyph, Mark
from tests.drawing.marks.mark_canvas import (
    MIDDLE,
    X1,
    boxes,
    centred,
    heads,
    lines,
    marked,
    shapes,
    tails,
    tips,
    words,
)

near = pytest.approx
OVER, UNDER, FAR = s.TRAPEZOID
KIND = MARKS["trapezoid"]
ROW = 50.0


def parts(canvas):
    """The trapezoid's left and right."""
    (window,) = boxes(canvas, "window")
    return window.x0, window.x1


@pytest.mark.parametrize(("channels", "down"), [((90, 90), 1), ((10, 10), -1)])
@pytest.mark.parametrize(("stride", "more"), [("1", 0), ("", 0), ("2", 0), ("1000", 1)])
def test_a_trapezoid_opens_on_the_side_of_the_channels(channels, down, stride, more) -> None:
    canvas, mark = marked("trapezoid", f"3|{stride}|L", (ROW, channels[0]), (ROW, channels[1]))
    left, right = parts(canvas)
    shown = stride in ("2", "1000")
    label = math(stride, s.WINDOW)
    wide = s.WINDOW_WIDE + (max(0, label.width - s.WINDOW_TEXT) if shown else 0)
    assert right - left == near(wide) and (wide > s.WINDOW_WIDE) == bool(more)
    assert left == near(MIDDLE - KIND.width(mark) / 2 + s.STUB)
    (corners,) = shapes(canvas, "window")
    assert corners == [
        near((left, ROW - down * OVER)),
        near((right, ROW - down * OVER)),
        near((right, ROW + down * FAR)),
        near((left, ROW + down * UNDER)),
    ]
    x, y = s.WINDOW_STAR
    (star,) = boxes(canvas, "ink")
    assert (star.x0 + star.x1) / 2 == near(left + x)
    assert star.y0 == near(ROW - down * y - s.STAR)
    slope = lines(canvas)[0]
    if shown:
        x, y = s.WINDOW_STROKE
        assert slope == (
            near((left, ROW + down * UNDER)),
            near((right - x - label.width, ROW + down * y)),
        )
        (number,) = [text for text in words(canvas) if text.label == label]
        assert centred(number) == near(
            (right - s.WINDOW_SIDE - label.width / 2, ROW + down * s.WINDOW_LOW), abs=0.01
        )
    else:
        assert slope == (near((left, ROW + down * UNDER)), near((right, ROW)))
    assert tails(canvas)[0] == near((left, ROW)) and heads(canvas)[0] == near((right, ROW))
    assert (KIND.headroom(mark), KIND.footroom(mark)) == (s.HEADROOM_WINDOW, s.FOOTROOM_WINDOW)


@pytest.mark.parametrize(("kernel", "double"), [("3", False), ("3^2", True), ("3×5", True)])
@pytest.mark.parametrize(
    ("channel", "down"), [(ROW + 21, 1), (ROW + 60, 1), (ROW - 21, -1), (ROW - 60, -1)]
)
def test_the_window_axis_ends_in_the_letter_with_the_channels(
    kernel, double, channel, down
) -> None:
    canvas, mark = marked("trapezoid", f"{kernel}|2|L", (ROW, channel), (ROW, channel))
    _, right = parts(canvas)
    label, letter = math(kernel, s.WINDOW), math("L", s.LETTER, bold=True)
    (own,) = [text for text in words(canvas) if text.label == letter]
    stop = right + label.width + s.WINDOW_WAY
    least = ROW + down * (s.WINDOW_ROW + s.WINDOW_ENTER)
    middle = max(channel, least) if down > 0 else min(channel, least)
    assert own.position == near((stop + s.GAP, middle + 0.345 * s.LETTER))
    sides = (-s.DOUBLE / 2, s.DOUBLE / 2) if double else (0,)
    row, enters = ROW + down * s.WINDOW_ROW, middle - down * s.WINDOW_ENTER
    assert lines(canvas)[1:] == [(near((right, row + d)), near((stop, enters + d))) for d in sides]
    (number,) = [text for text in words(canvas) if text.label == label]
    assert centred(number) == near(
        (right + s.WINDOW_WAY / 2 + label.width / 2, ROW + down * s.WINDOW_LABEL), abs=0.02
    )
    first, last = enters + down * 2 * s.WINDOW_ENTER, middle + down * s.REACH
    low, high = sorted((first, last))
    assert tails(canvas)[1] == near((own.box.x0 - s.GAP, min(max(channel, low), high)))
    assert canvas.tails[1][0].d.x == near(min(right, own.box.x0 - s.GAP))
    assert heads(canvas)[1] == near(
        (own.box.x1 + s.GAP, min(max(channel, middle - s.REACH), middle + s.REACH))
    )
    ends = letter.width + 2 * s.GAP
    assert KIND.width(mark) == near(2 * s.STUB + s.WINDOW_WIDE + label.width + s.WINDOW_WAY + ends)


def test_a_letter_without_channels_stands_where_the_window_axis_enters_level() -> None:
    canvas, _ = marked("trapezoid", "3|2|L", (ROW,), (ROW,))
    (letter,) = [t for t in words(canvas) if t.label == math("L", s.LETTER, bold=True)]
    row = ROW + s.WINDOW_ROW
    assert letter.position.y == near(row + s.WINDOW_ENTER + 0.345 * s.LETTER)
    assert lines(canvas)[1][0][1] == near(row) and lines(canvas)[1][1][1] == near(row)


def test_a_transposed_window_has_a_t_before_its_kernel() -> None:
    canvas, mark = marked("trapezoid", "3|2T|L", (ROW, 90), (ROW, 90))
    plain, other = marked("trapezoid", "3|2|L", (ROW, 90), (ROW, 90))
    _, right = parts(canvas)
    sign, kernel = math("T", s.WINDOW), math("3", s.WINDOW)
    (flip,) = [text for text in words(canvas) if text.label == sign]
    (number,) = [text for text in words(canvas) if text.label == kernel]
    middle = ROW + s.WINDOW_LABEL + (kernel.ascent - kernel.descent) / 2
    assert flip.position == near((right + s.WINDOW_FLIP / 2 + s.GAP / 2 - sign.width / 2, middle))
    assert number.position == near((right + s.WINDOW_FLIP + s.WINDOW_WAY / 2, middle))
    assert KIND.width(mark) - KIND.width(other) == near(s.WINDOW_FLIP)
    assert not [text for text in words(plain) if text.label == sign]
    assert heads(canvas)[0] == near((right, ROW - s.WINDOW_OUT))  # its places leave over the slope


@pytest.mark.parametrize(("out", "leaves"), [(ROW - 30, -9), (ROW + 4, 4), (ROW + 30, 6)])
def test_the_places_leave_within_the_low_side(out, leaves) -> None:
    canvas, _ = marked("trapezoid", "3|2|L", (ROW, 90), (out, 95))
    assert heads(canvas)[0][1] == near(ROW + leaves)


@pytest.mark.parametrize("end", ["Max", "μ"])
def test_the_window_axis_of_a_pooling_ends_in_a_word_and_an_arrow(end: str) -> None:
    canvas, mark = marked("trapezoid", f"2|2|{end}", (ROW,), (ROW,))
    _, right = parts(canvas)
    label = math(end, s.EXPECT) if len(end) == 1 else roman(end, s.WORD)
    kernel = math("2", s.WINDOW)
    stop, row = right + kernel.width + s.WINDOW_WAY, ROW + s.WINDOW_ROW
    (word,) = [text for text in words(canvas) if text.label == label]
    assert word.position == near((stop + s.GAP, row + label.ascent / 2))
    way = s.ARROW_WAY if len(end) == 1 else s.NUDGE + s.ARROW
    assert tips(canvas) == [near((word.box.x1 + way, row))]
    assert lines(canvas)[1] in [
        (near((right, row)), near((stop, row))),
        (near((word.box.x1 + s.GAP, row)), near((word.box.x1 + way - s.ARROW, row))),
    ]
    ends = label.width + s.GAP + s.ARROW_WAY
    assert KIND.width(mark) == near(2 * s.STUB + s.WINDOW_WIDE + kernel.width + s.WINDOW_WAY + ends)


@pytest.mark.parametrize(("outs", "down"), [((ROW, 90), 1), ((ROW, 10), -1), ((ROW, 70, 72), 1)])
def test_an_open_window_axis_leaves_at_its_row(outs, down) -> None:
    canvas, mark = marked("trapezoid", "3|2|", (ROW,), outs)
    _, right = parts(canvas)
    row = ROW + down * s.WINDOW_ROW
    for n, y in enumerate(outs[1:]):
        own = row - down * s.GAP * n
        assert heads(canvas)[n + 1] == near((right, min(max(y, own - s.GAP), own + s.GAP)))
    assert KIND.width(mark) == near(2 * s.STUB + s.WINDOW_WIDE + s.WINDOW_OPEN)


@pytest.mark.parametrize(("y", "ends"), [(20, 41), (55, 55), (90, 60)])
def test_another_wire_ends_at_the_side_of_an_open_window(y: float, ends: float) -> None:
    canvas, _ = marked("trapezoid", "3|2|", (ROW, y), (ROW, 95, 99))
    left, _ = parts(canvas)
    assert tails(canvas)[1] == near((left, ends))


def test_wires_that_pass_go_round_the_foot_of_the_sign() -> None:
    through = tuple((n, n) for n in range(5))
    rows = (ROW, ROW + 2.9, ROW + 20, ROW + s.DUCK, ROW - 20)
    mark = Mark("trapezoid", "2|2|Max", (0,), (0,))
    canvas, _ = marked(
        "trapezoid", "2|2|Max", rows, rows, over=(1, 2, 3, 4), glyph=Glyph(through=through)
    )
    own, _ = marked("trapezoid", mark.text, rows[:1], rows[:1])
    _, right = parts(canvas)
    assert parts(own) == parts(canvas)
    assert [i for i, path in canvas.tails.items() if path[-1].d.y == ROW + s.DUCK] == [2]
    turn, back = canvas.tails[2]
    assert turn.d == near((right, ROW + s.DUCK))
    stop = tips(canvas)[0][0]
    assert back.d == near((stop - s.STUB, ROW + s.DUCK))
    assert canvas.heads[2][0].a == back.d and canvas.heads[2][-1].d == (X1, ROW + 20)


def test_a_long_name_widens_a_window() -> None:
    canvas, mark = marked("trapezoid", "3|2|L", (ROW, 90), (ROW, 90), note="encoder")
    _, plain = marked("trapezoid", "3|2|L", (ROW, 90), (ROW, 90))
    (note,) = [text for text in words(canvas) if text.label.words == "encoder"]
    (letter,) = [text for text in words(canvas) if text.label == math("L", s.LETTER, bold=True)]
    assert KIND.width(mark) - KIND.width(plain) == near(note.label.width + s.GAP)
    middle = letter.position.y - 0.345 * s.LETTER
    assert note.position == near((letter.box.x1 + s.GAP, middle - s.NOTE_LIFT))


@pytest.mark.parametrize(("out", "behind"), [(40, "note"), (90, "letter"), (200, "letter")])
def test_channels_leave_behind_a_long_name_unless_they_pass_under_it(out, behind) -> None:
    canvas, _ = marked("trapezoid", "3|2|L", (ROW, 90), (ROW, out), note="encoder")
    (note,) = [text for text in words(canvas) if text.label.words == "encoder"]
    (letter,) = [text for text in words(canvas) if text.label == math("L", s.LETTER, bold=True)]
    last = {"note": note, "letter": letter}[behind]
    assert heads(canvas)[1][0] == near(last.box.x1 + s.GAP)
