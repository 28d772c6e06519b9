"""The windows of a picture, and pairs of numbers that turn: where they stand."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch

from ncd.app.panels.attention.picture_attention import Tiling, Windows
from ncd.app.panels.attention.position_panels import RADIUS, WIDE, _circle, _circles

# --- windows --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("side", "window", "shift"), [(6, 3, 0), (6, 3, 1), (8, 4, 2), (6, 6, 0)])
def test_patches_of_a_window_are_numbered_in_it_row_by_row(
    side: int, window: int, shift: int
) -> None:
    """Windows that are moved go around the rim, as a roll of the picture says."""
    found = Tiling(side, window, shift)
    many = side // window
    places = torch.arange(side * side).reshape(side, side).roll((-shift, -shift), (0, 1))
    cut = places.reshape(many, window, many, window).permute(0, 2, 1, 3)
    cut = cut.reshape(many**2, window**2)
    for row in range(side):
        for column in range(side):
            n, own = found.window_position(row, column)
            assert cut[n, own] == row * side + column
    for place in range(side):
        together = found.window_range(place)
        assert place in together
        assert len(together) <= window
        for other in range(side):
            same = found.window_position(0, place)[0] == found.window_position(0, other)[0]
            assert (other in together) == (same and (place < shift) == (other < shift))


@pytest.mark.parametrize(
    ("shape", "kernel", "stride"), [((7, 9), 3, 2), ((6, 6), 2, 2), ((6, 7), 2, 3), ((5, 5), 3, 1)]
)
def test_a_pixel_has_the_mean_of_the_windows_that_hold_it(
    shape: tuple[int, int], kernel: int, stride: int
) -> None:
    found = Windows(shape, kernel, stride)
    high, wide = found.count
    assert (high - 1) * stride + kernel <= shape[0] < high * stride + kernel
    assert (wide - 1) * stride + kernel <= shape[1] < wide * stride + kernel
    numbers = np.arange(high * wide, dtype=np.float32).reshape(high, wide)
    spread, lost = found.spread(numbers), 0
    for y in range(shape[0]):
        for x in range(shape[1]):
            own = [
                numbers[i, j]
                for i in range(high)
                for j in range(wide)
                if 0 <= y - i * stride < kernel and 0 <= x - j * stride < kernel
            ]
            lost += not own
            assert (
                np.isnan(spread[y, x]) if not own else spread[y, x] == pytest.approx(np.mean(own))
            )
    assert found.uncovered_count == lost


# --- pairs that turn ------------------------------------------------------------------------------


def test_hands_point_where_a_pair_points_and_their_product_is_told() -> None:
    html = _circle(1, 4, [(3.0, 4.0), (1.0, 0.0)], 5)
    lines = re.findall('x1="([\\d.]+)" y1="(\\d+)" x2="([\\d.]+)" y2="([\\d.]+)"', html)
    middle, foot, radius = WIDE / 2, RADIUS + 4, RADIUS
    ends = [(float(x) - middle, foot - float(y)) for _, _, x, y in lines]
    assert ends[0] == pytest.approx((0.6 * radius, 0.8 * radius), abs=0.06)
    assert ends[1] == pytest.approx((radius / 5, 0), abs=0.06)
    assert all((float(x), float(y)) == (middle, foot) for x, y, _, _ in lines)
    degrees = math.degrees(5 * 10000 ** (-1 / 4))
    assert f"pair 1: {degrees:.3g}°, adds 3" in html
    assert "pair 0: −57.3°" in _circle(0, 4, [(0.0, 0.0), (0.0, 0.0)], -1)


@pytest.mark.parametrize(("pairs", "shown"), [(3, 3), (8, 8), (9, 8)])
def test_the_first_pairs_are_shown(pairs: int, shown: int) -> None:
    query = torch.arange(2.0 * pairs)
    html = _circles(query, torch.ones(2 * pairs), 1)
    assert html.count("<svg") == shown
    assert (f"The first 8 of {pairs} pairs." in html) == (pairs > 8)
    assert f"pair 2: {math.degrees(10000 ** (-2 / pairs)):.3g}°, adds {4 + pairs}" in html
