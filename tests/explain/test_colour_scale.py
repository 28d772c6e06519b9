"""Scales of colours: the sentence about pooling, the range of a map, and its pixels."""

from __future__ import annotations

from io import BytesIO
from math import nan

import numpy as np
import pytest
from PIL import Image

from ncd.explain.colour_scale import ColourRange, PooledMaps, map_png, pool, rgb_image

GREYS = "000000 ffffff"
SHUFFLED = np.random.default_rng(0).permutation([*range(1, 998), 6000, 30000, 130000]).tolist()


@pytest.mark.parametrize(
    ("shape", "most", "caption"),
    [
        ((4, 4), 4, ""),
        ((1000, 6), 10, "1,000 × 6 numbers, shown as means of 100 × 1."),
        ((4, 4), 2, "4 × 4 numbers, shown as means of 2 × 2."),
    ],
)
def test_what_was_pooled_is_said(shape: tuple[int, int], most: int, caption: str) -> None:
    assert pool(np.ones(shape, np.float32), most).caption == caption


def test_blocks_have_their_mean_or_where_it_hides_some_the_furthest_number() -> None:
    small = pool(np.full((1, 6), 0.1, np.float32), 3)
    assert small.maps.tolist() == [pytest.approx([0.1] * 3)] and not small.largest
    lone = pool(np.float32([[0, 0, -0.75, 0, 0, 0, 0, 0], [0, 0.25, 0, 0, 0, 0, 0.5, 0]]), 2)
    assert lone.maps.tolist() == [[-0.75, 0], [0.25, 0.5]] and lone.largest
    half = pool(np.float32([[2, 0, 0, 0]]), 2)  # a mean of half of it hides nothing
    assert half.maps.tolist() == [[1, 0]] and not half.largest
    odd = pool(np.float32([[1, 2, nan, 5, nan], [3, nan, nan, 7, nan], *[[8] * 5] * 2]), 3)
    np.testing.assert_array_equal(odd.maps, np.float32([[2, 6, nan], [8, 8, 8]]))
    assert (odd.block, odd.shape) == ((2, 2), (4, 5))


def test_the_largest_numbers_are_said_to_be_that() -> None:
    maps = PooledMaps(np.ones((2, 2), np.float32), (4, 6), (2, 3), largest=True)
    assert maps.caption == "4 × 6 numbers, shown as the largest number of 2 × 3."


@pytest.mark.parametrize(
    ("numbers", "signed", "usual", "wide"),
    [
        ([*range(16), 1000], False, (0, 15, 1), (0, 1000)),
        ([*range(16), -1000], True, (-15, 15, 1), (-1000, 1000)),
        ([0, 0], True, (-1, 1, 0), (-1, 1)),
        ([0, 3], False, (0, 3, 0), (0, 3)),
        ([], False, (0, 1, 0), (0, 1)),
        ([*range(20)], False, (0, 19, 0), (0, 19)),
        ([1] * 11 + [90], False, (0, 90, 0), (0, 90)),  # among so few none is odd
        ([1] * 12 + [90], False, (0, 1, 1), (0, 90)),
        ([1] * 20 + [5], False, (0, 5, 0), (0, 5)),  # five times as large is not yet far
        ([1] * 20 + [6], False, (0, 1, 1), (0, 6)),
        ([10] * 20 + [16], False, (0, 16, 0), (0, 16)),
        ([0] * 20 + [7], False, (0, 7, 0), (0, 7)),  # what is not 0 is not an outlier of 0
        ([0] * 20 + [7, 50], True, (-7, 7, 1), (-50, 50)),
        ([1] * 20 + [90] * 3, False, (0, 1, 3), (0, 90)),
        ([1] * 20 + [90] * 4, False, (0, 90, 0), (0, 90)),
        ([1] * 20 + [4, 16, 64], False, (0, 1, 3), (0, 64)),  # far together, not one by one
        ([1] * 20 + [40, 160, 320], False, (0, 1, 3), (0, 320)),
        ([1] * 8000 + [90] * 4, False, (0, 1, 4), (0, 90)),  # one of 2,000
        ([1] * 7900 + [90] * 4, False, (0, 90, 0), (0, 90)),
        (SHUFFLED, False, (0, 997, 3), (0, 130000)),
    ],
)
def test_a_range_with_and_without_its_outliers(
    numbers: list[float],
    signed: bool,
    usual: tuple[float, float, int],
    wide: tuple[float, float],
) -> None:
    found = ColourRange.from_numbers(np.float32(numbers), signed=signed)
    assert (found.low, found.high, found.outliers) == usual
    all_in = found.with_outliers
    assert (all_in.low, all_in.high) == wide
    assert (all_in.outliers, all_in.largest) == (found.outliers, found.largest)


def pixels(data: bytes) -> list[tuple[int, ...]]:
    """The red, green, blue and opacity of each pixel."""
    return list(map(tuple, np.asarray(Image.open(BytesIO(data)).convert("RGBA")).reshape(-1, 4)))


def test_numbers_are_shades_between_the_ends_and_masked_ones_transparent() -> None:
    ends = ColourRange(-1, 3, 0, 3)
    grey = [(n, n, n, 255) for n in (0, 64, 255, 255, 0)]
    assert pixels(map_png(np.float32([[-1, 0, 3, 9, -9]]), ends, GREYS)) == grey
    masked = pixels(map_png(np.float32([[-1, 0, 3, 9, nan]]), ends, GREYS))
    assert masked[:4] == grey[:4] and masked[4][3] == 0


def test_three_maps_are_an_image_between_their_extremes() -> None:
    maps = np.float32([[[0, 2]], [[4, 1]], [[2, nan]]])
    assert rgb_image(maps).tolist() == [[[0, 255, 128], [128, 64, 0]]]
    assert rgb_image(np.zeros((3, 1, 1), np.float32)).tolist() == [[[0, 0, 0]]]
