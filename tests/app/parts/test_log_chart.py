"""Lines on a scale of powers of ten: where points, powers and names stand."""

from __future__ import annotations

import re
from itertools import pairwise
from math import inf, nan

import pytest

from ncd.app.parts.log_chart import (
    FOOT,
    LEFT,
    RIGHT,
    TALL,
    WIDE,
    ChartLine,
    log_chart,
    logarithms,
    one_below_another,
)
from tests.app.panels.views import inside, tags, text


def chart(backwards: bool = False, **lines: tuple[list[float], bool]) -> str:
    found = {name: ChartLine(own, "teal", chosen) for name, (own, chosen) in lines.items()}
    return log_chart("Size <1>", found, "layer", backwards)


def points(html: str) -> list[list[tuple[float, ...]]]:
    """The points of each line, from the one that is drawn first."""
    lines = [own["points"].split() for own in tags(html, "polyline")]
    return [[tuple(map(float, point.split(","))) for point in own] for own in lines]


POWER = re.compile(
    r'H\d+" stroke="currentColor" opacity="([\d.]+)"/><text[^>]*y="([\d.]+)"[^>]*>(.*?)</text>'
)


def powers(html: str) -> dict[str, float]:
    """The height of each power of ten, by its exponent, 0 for 1."""
    found = [(strong, float(y) - 4, text(words)) for strong, y, words in POWER.findall(html)]
    assert [words for strong, _, words in found if strong == "0.5"] == ["1"]  # a stronger line
    return {"0" if words == "1" else words.removeprefix("10"): y for _, y, words in found}


def test_points_stand_at_even_steps_and_at_the_height_of_their_power() -> None:
    html = chart(a=([1.0, 10.0, 100.0, 0.1], True))
    (own,) = points(html)
    assert [x for x, _ in own] == pytest.approx(
        [LEFT + (WIDE - LEFT - RIGHT) * n / 3 for n in range(4)], abs=0.06
    )
    at = powers(html)
    assert list(at) == ["−1", "0", "1", "2"]
    assert [y for _, y in own] == pytest.approx([at["0"], at["1"], at["2"], at["−1"]], abs=0.11)
    heights = list(at.values())
    unit = (TALL - FOOT - 6) / 3.6  # three powers, and 0.3 beyond either end
    steps = [a - b for a, b in pairwise(heights)]
    assert steps == pytest.approx([unit] * 3, abs=0.11)
    assert heights[-1] == pytest.approx(6 + 0.3 * unit, abs=0.06)
    assert heights[0] == pytest.approx(TALL - FOOT - 0.3 * unit, abs=0.06)


def test_a_scale_has_one_and_at_most_a_few_powers() -> None:
    assert list(powers(chart(a=([5.0], True)))) == ["0"]
    assert list(powers(chart(a=([1e-7, 1.0], True)))) == ["−6", "−4", "−2", "0"]
    assert list(powers(chart(a=([1e12], True)))) == ["0", "3", "6", "9", "12"]
    assert list(powers(chart(a=([1e-40, 1e40], True)))) == ["−40", "−20", "0", "20", "40"]


def test_charts_beside_each_other_have_one_scale() -> None:
    small, large = (
        {"a": ChartLine([1.0, 0.1], "teal", True)},
        {"a": ChartLine([100.0], "teal", True)},
    )
    every = [1.0, 0.1, 100.0]
    one, other = (powers(log_chart("Size", own, "layer", beside=every)) for own in (small, large))
    assert one == other and list(one) == ["−1", "0", "1", "2"]
    assert list(powers(log_chart("Size", small, "layer"))) == ["−1", "0"]


def test_a_line_ends_before_the_first_number_without_a_power() -> None:
    html = chart(ends=([1.0, 2.0, 0.0, 4.0], False), whole=([1.0, 2.0, 3.0, 4.0], False))
    assert [len(own) for own in points(html)] == [2, 4]
    said = [text(own) for own in re.findall(r"<text[^>]*><tspan.*?</text>", html)]
    assert said == ["✗ ends", "● whole"]
    assert logarithms([1.0, inf]) == logarithms([1.0, nan]) == logarithms([1.0, -1.0]) == [0.0]
    assert logarithms([1e300, 1e-300]) == [46, -46]
    assert points(chart(none=([0.0], True))) == [[]]


def test_the_chosen_line_is_thick_and_drawn_last() -> None:
    html = chart(one=([1.0, 2.0], True), two=([3.0, 4.0, 5.0], False))
    assert [own["stroke-width"] for own in tags(html, "polyline")] == ["1.6", "3.2"]
    assert [len(own) for own in points(html)] == [3, 2]
    bold = re.findall(r'font-weight="bold"[^>]*><tspan[^>]*>.</tspan> (\w+)', html)
    assert bold == ["one"]


def test_the_places_may_have_numbers_of_their_own() -> None:
    html = log_chart("Loss", {"a": ChartLine((1.0, 2.0, 3.0), "teal", True)}, "steps", ends=(0, 20))
    (foot,) = (group for group in inside(html, "g") if "steps" in group)
    assert inside(foot, "text") == ["0", "steps", "20"]
    assert 'aria-label="Loss, steps 0 to 20"' in html


@pytest.mark.parametrize(("backwards", "ends"), [(False, ["1", "3"]), (True, ["3", "1"])])
def test_a_chart_may_go_backwards(backwards: bool, ends: list[str]) -> None:
    html = chart(backwards, a=([1.0, 10.0, 100.0], True))
    ((_, first), _, (_, last)) = points(html)[0]
    assert (first > last) != backwards  # the largest is at the top
    (foot,) = re.findall(r'text-anchor="middle">(.*?)</g>', html)
    assert inside(foot, "text") == [ends[0], "layer", ends[1]]
    middle = (LEFT + WIDE - RIGHT) / 2
    assert [float(own["x"]) for own in tags(foot, "text")] == [LEFT, middle, WIDE - RIGHT]
    assert 'aria-label="Size &lt;1&gt;, layer 1 to 3"' in html


@pytest.mark.parametrize(
    ("places", "tall", "found"),
    [
        ([5.0, 40.0], 100, [5, 40]),
        ([5.0, 18.0], 100, [5, 18]),  # exactly a line apart
        ([5.0, 17.0], 100, [5, 18]),
        ([17.0, 5.0, 6.0], 100, [31, 5, 18]),
        ([-4.0], 100, [0]),
        ([95.0, 96.0], 100, [87, 100]),
        ([120.0], 100, [100]),
    ],
)
def test_names_stand_a_line_apart(places: list[float], tall: float, found: list[float]) -> None:
    assert one_below_another(places, tall) == found
