"""An array in words and small pictures, its statistics, and charts of numbers."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
import torch

from ncd.app.panels.walk.values import BINS, statistics, statistics_html
from ncd.app.parts import array_summary, charts, heatmap
from ncd.language.axes import Array
from tests.app.panels.views import images


def html(text: str, tensor: torch.Tensor | None = None) -> str:
    array = Array.parse(text)
    return array_summary.html(array, torch.zeros(array.shape) if tensor is None else tensor)


@pytest.mark.parametrize(
    ("text", "table"),
    [("y:6 x:8", True), ("y:7 x:8", False), ("y:6 x:9", False), ("k:8", True), ("k:9", False)],
)
def test_few_numbers_are_a_table_and_more_a_picture(text: str, table: bool) -> None:
    found = html(text)
    assert ("<table>" in found) == table
    assert ("<img" in found) != table
    assert ("begins" in found) != table


def test_a_table_has_the_numbers_in_rows() -> None:
    found = html("y:2 x:2", torch.tensor([[1.5, -torch.inf], [0.25, 3]]))
    assert re.findall("<td class=number>([^<]*)", found) == ["1.5", "masked", "0.25", "3"]
    assert found.count("<tr>") == 2
    whole = Array.parse("k:2#v:9000")
    assert ">1,234<" in array_summary.html(whole, torch.tensor([1234, 0]))
    assert ">7<" in html("()", torch.tensor(7.0))


@pytest.mark.parametrize(("size", "more"), [(5, False), (6, True)])
def test_the_first_numbers_follow_a_picture(size: int, more: bool) -> None:
    found = html(f"y:{size} x:1 z:1 u:9", torch.arange(9.0 * size).reshape(size, 1, 1, 9))
    assert "<span class='muted'>begins</span> 0 1 2 3 4 …" in found
    assert ("…" in html(f"b:{size} x:1x1")) == more


def test_small_pictures_say_what_is_left_out_and_where_the_others_stand() -> None:
    found = html("b:2 h:9 y:4 x:5")
    assert found.count("<img") == 5  # along the longest of the other axes
    plain = re.sub("<[^>]*>", "", html("b:2 c:10 x:4x5"))
    assert "x height down, x width across; 8 pictures along c, 2 more not shown, at b = 0." in plain
    plain = re.sub("<[^>]*>", "", html("b:2 c:8 x:4x5"))
    assert "8 pictures along c, at b = 0. From 0, dark, to 1, yellow." in plain


def test_the_range_of_a_picture_is_told() -> None:
    signed = re.sub("<[^>]*>", "", html("y:9 x:9", torch.linspace(-2, 1, 81).reshape(9, 9)))
    assert "y down, x across. From −2, blue, to 2, red." in signed
    masked = torch.ones(9, 9)
    masked[0, 0] = -torch.inf
    assert "yellow; clear where masked." in html("y:9 x:9", masked)
    far = torch.ones(9, 9)
    far[0, 0] = 100
    assert "to 1, yellow and beyond." in html("y:9 x:9", far)
    assert "beyond" not in html("y:9 x:9", torch.ones(9, 9))


@pytest.mark.parametrize(
    ("text", "size"),
    [("y:20 x:20", (190, 190)), ("y:10 x:20", (190, 95)), ("y:200 x:1", (26, 190))],
)
def test_a_picture_has_the_shape_of_its_array(text: str, size: tuple[int, int]) -> None:
    assert f'width="{size[0]}" height="{size[1]}"' in html(text)


def test_three_channels_are_one_image() -> None:
    found = html("c:3 x:70x35", torch.rand(3, 70, 35))
    assert "Its three channels as one image in colours. 70 × 35 numbers, shown as means" in found
    assert 'width="95" height="190"' in found


# --- statistics -----------------------------------------------------------------------------------


def test_statistics_are_those_of_the_finite_numbers() -> None:
    some = torch.tensor([1.0, 2, 3, 6, -torch.inf, -torch.inf, torch.inf, torch.nan])
    found = statistics(some)
    assert (found.mean, found.smallest, found.largest) == (3, 1, 6)
    assert found.deviation == pytest.approx((14 / 4) ** 0.5)  # biased: 4+1+0+9 over 4
    assert (found.masked_count, found.undefined_count, found.different) == (2, 2, 0)
    assert (len(found.bins), sum(found.bins)) == (BINS, 4)
    assert (found.bins[0], found.bins[-1]) == (1, 1)
    assert statistics(torch.tensor([3, 3, 5])).different == 2
    nothing = statistics(torch.tensor([-torch.inf, torch.nan]))
    assert (nothing.masked_count, nothing.undefined_count, nothing.bins) == (1, 1, ())
    assert sum(statistics(torch.ones(7)).bins) == 7


def test_what_is_masked_or_undefined_is_told_if_there_is_any() -> None:
    def facts(text: str, tensor: torch.Tensor) -> dict[str, str]:
        shown = statistics_html(Array.parse(text), statistics(tensor))
        pairs = re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", shown)
        return {re.sub("<[^>]*>", "", name): value for name, value in pairs}

    assert facts("y:2 x:3", torch.ones(2, 3)) == {
        "Shape": "2 × 3",
        "Numbers": "6",
        "Mean": "1",
        "Spread": "0",
        "Smallest": "1",
        "Largest": "1",
    }
    some = facts("x:3", torch.tensor([1, -torch.inf, torch.nan]))
    assert (some["Masked"], some["Infinite or no number"]) == ("1", "1")
    whole = facts("x:3#v:9", torch.tensor([4, 4, 8]))
    assert whole["Whole numbers below"] == "v = 9"
    assert (whole["Different"], whole["Smallest"], whole["Largest"]) == ("2", "4", "8")


# --- charts ---------------------------------------------------------------------------------------


def test_curves_begin_at_0_and_end_above_the_largest_number() -> None:
    figure = charts.curves("Loss", {"a": [(1, 4.0), (2, float("inf"))], "b": [(1, 3.0)]}, 9)
    assert figure.layout.xaxis.range == (0, 9)
    assert figure.layout.yaxis.range == pytest.approx((0, 4.2))
    assert figure.layout.showlegend is True
    assert len({line.line.color for line in figure.data}) == 2
    assert len({line.line.dash for line in figure.data}) == 2
    assert [line.mode for line in figure.data] == ["lines", "lines"]
    share = charts.curves("Share", {"a": [(1, 0.2)]}, 9, percent=True, dots=True)
    assert share.layout.yaxis.range == pytest.approx((0, 1.05))
    assert (share.data[0].mode, share.layout.showlegend) == ("lines+markers", False)
    assert charts.curves("Loss", {"a": []}, 9).layout.yaxis.range == pytest.approx((0, 1.05))
    five = charts.curves("Loss", {str(i): [(1, 1.0)] for i in range(5)}, 9)
    assert five.data[4].line.color == five.data[0].line.color


@pytest.mark.parametrize(("count", "shown"), [(0, 0), (1, 1), (400, 400), (401, 201), (801, 268)])
def test_a_long_curve_is_thinned_and_keeps_its_ends(count: int, shown: int) -> None:
    points = [(float(i), 1.0) for i in range(count)]
    xs = charts.curves("Loss", {"a": points}, 9).data[0].x
    assert len(xs) == shown
    assert not count or (xs[0], xs[-1]) == (0, count - 1)
    assert len({round(b - a) for a, b in pairwise(xs[:-1])}) <= 1


def test_bars_have_a_row_for_each_label() -> None:
    labels = ["a" * 28, "b" * 29, "<c>", "d"]
    figure = charts.bars("Cost", labels, {"FLOPs": [0.1] * 4, "bytes": [0.2] * 4})
    assert figure.layout.height == 110 + 26 * 4
    assert figure.layout.yaxis.ticktext == ("a" * 28, "b" * 27 + "…", "‹c›", "d")
    assert [bar.marker.pattern.shape for bar in figure.data] == ["", "/"]
    assert figure.layout.showlegend is True
    small = charts.bars("Cost", ["a"], {"FLOPs": [1.0]})
    assert (small.layout.height, small.layout.showlegend) == (110 + 26 * 3, False)


def test_a_histogram_has_its_bars_in_the_middle_of_their_steps() -> None:
    figure = charts.histogram("Values", [1, 2, 3, 4], -1.0, 1.0)
    assert figure.data[0].x == (-0.75, -0.25, 0.25, 0.75)
    assert figure.data[0].width == 0.5


@pytest.mark.parametrize("least", [0.0, -1.0])
def test_a_picture_has_two_colours_of_signs_only_if_there_are_negative_numbers(
    least: float,
) -> None:
    numbers = torch.ones(9, 9)
    numbers[0, 0] = least
    (seen,) = images(html("y:9 x:9", numbers))
    table = np.frombuffer(heatmap.palette(heatmap.scale(signed=least < 0)), np.uint8)
    assert seen[0, 0].tolist() == table[:3].tolist()
    assert seen[-1, -1].tolist() == table[-3:].tolist()
