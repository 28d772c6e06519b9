"""Bars of how many numbers are in each bin, and the marks over them."""

from __future__ import annotations

import re

import pytest

from ncd.app.parts.bin_chart import FOOT, TALL, WIDE, bin_chart
from ncd.app.parts.log_chart import LINE
from tests.app.panels.views import inside, tags


def bars(html: str) -> list[tuple[float, ...]]:
    """The left edge, the width, the top and the height of each bar."""
    names = ("x", "width", "y", "height")
    return [tuple(float(own[name]) for name in names) for own in tags(html, "rect")]


def test_bars_stand_on_the_floor_and_the_highest_reaches_the_top() -> None:
    html = bin_chart("Results", [1, 4, 0, 2], (0.0, 2.0), {}, "teal")
    found = bars(html)
    assert [x for x, *_ in found] == [0, WIDE / 4, WIDE / 2, 3 * WIDE / 4]
    assert {wide for _, wide, *_ in found} == {WIDE / 4 - 1}
    assert [high for *_, high in found] == [TALL / 4, TALL, 0, TALL / 2]
    assert {y + high for *_, y, high in found} == {6 + TALL}
    assert f'viewBox="0 0 {WIDE} {6 + TALL + FOOT}"' in html
    assert inside(html, "text") == ["0", "2"]
    assert [own["x"] for own in tags(html, "text")] == ["0", str(WIDE)]
    assert 'aria-label="Results, from 0 to 2"' in html


def test_the_ends_are_written_as_asked() -> None:
    html = bin_chart("Results", [1], (-3.0, 2.0), {}, "teal", lambda end: f"<{end:g}>")
    assert 'aria-label="Results, from <-3> to <2>"' in html
    assert inside(bin_chart("", [1], (-3.0, 2.0), {}, "", "{:g}!".format), "text") == ["-3!", "2!"]


def test_nothing_counted_is_no_bar() -> None:
    assert {high for *_, high in bars(bin_chart("", [0, 0], (0.0, 1.0), {}, "teal"))} == {0}


def test_marks_stand_at_their_numbers_each_in_a_row_above_the_bars() -> None:
    html = bin_chart("", [1], (-1.0, 3.0), {"mean": 1.0, "here": 2.0}, "teal")
    lines = re.findall(r'<path d="M([\d.]+) ([\d.]+)V([\d.]+)"', html)
    floor = 6 + 2 * LINE + TALL
    assert [tuple(map(float, line)) for line in lines] == [
        (WIDE / 2, 4, floor),
        (3 * WIDE / 4, LINE + 4, floor),
    ]
    rows = [own["y"] for own in tags(html, "text")][:2]
    assert rows == [str(LINE), str(2 * LINE)]
    ((_, _, y, high),) = bars(html)
    assert y + high == floor


@pytest.mark.parametrize(
    ("marks", "sides"),
    [
        ({"low": 0.5, "high": 0.6}, ["left", "right"]),  # the least has its words at its left
        ({"high": 0.6, "low": 0.5}, ["right", "left"]),
        ({"low": 0.01, "high": 0.6}, ["right", "right"]),  # unless there is no room
        ({"low": 0.5, "high": 0.99}, ["left", "left"]),  # nor at the right
    ],
)
def test_words_stand_beside_their_mark_where_there_is_room(
    marks: dict[str, float], sides: list[str]
) -> None:
    html = bin_chart("", [1], (0.0, 1.0), marks, "teal")
    words = tags(html, "text")[:2]
    assert ["left" if "text-anchor" in own else "right" for own in words] == sides
    for own, number, side in zip(words, marks.values(), sides, strict=True):
        away = -5 if side == "left" else 5
        assert float(own["x"]) == pytest.approx(WIDE * number + away, abs=0.06)
