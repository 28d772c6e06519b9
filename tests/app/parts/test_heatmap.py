"""Heat maps: the colour of every number, pooled cells, and a scale that outliers do not set."""

from __future__ import annotations

from base64 import b64decode
from io import BytesIO

import numpy as np
import pytest
from numpy.typing import NDArray
from PIL import Image

from ncd.app.parts import heatmap
from ncd.app.runtime.scheduler import run_in_thread
from ncd.explain.colour_scale import CellGrid, ColourRange, PooledMaps, pool
from ncd.site.markup import GREY


def pixels(address: str, mode: str = "RGB") -> NDArray[np.uint8]:
    data = b64decode(address.removeprefix("data:image/png;base64,"))
    return np.asarray(Image.open(BytesIO(data)).convert(mode))


def f32(numbers: object) -> CellGrid:
    return np.array(numbers, np.float32)


def grid(*shape: int) -> CellGrid:
    return np.arange(np.prod(shape), dtype=np.float32).reshape(shape)


def luminance(colours: NDArray[np.uint8]) -> NDArray[np.float64]:
    """The relative luminance of sRGB colours, by WCAG."""
    share = colours / 255
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return np.asarray(linear @ (0.2126, 0.7152, 0.0722))


@pytest.mark.parametrize(("dark", "page"), [(False, "ffffff"), (True, "101419")])
def test_signed_numbers_stand_out_from_the_page_by_their_size(dark: bool, page: str) -> None:
    heatmap.DARK.set(dark)
    stops = run_in_thread(lambda: heatmap.scale(signed=True))  # pictures are made there, too
    heatmap.DARK.set(False)
    colours = np.frombuffer(heatmap.palette(stops), np.uint8).reshape(256, 3)
    behind = luminance(np.frombuffer(bytes.fromhex(page), np.uint8))
    far = np.abs(np.log((luminance(colours) + 0.05) / (behind + 0.05)))
    assert np.exp(far[128]) < 1.2 and (np.exp(far[[0, 255]]) > 12).all()
    assert (np.diff(far[:128]) <= 1e-9).all() and (np.diff(far[128:]) >= -1e-9).all()


def test_a_palette_goes_through_its_colours_in_equal_steps() -> None:
    found = np.frombuffer(heatmap.palette("000000 ff0000 ffff00"), np.uint8).reshape(256, 3)
    assert found[[0, 255]].tolist() == [[0, 0, 0], [255, 255, 0]]
    assert found[[127, 128]].tolist() == [[254, 0, 0], [255, 1, 0]]
    assert found[64].tolist() == [128, 0, 0]


@pytest.mark.parametrize("masked", [False, True])
def test_a_heat_map_has_the_colour_of_each_number_and_none_where_it_is_masked(
    masked: bool,
) -> None:
    cells = f32([[-1, 0, 0.5], [1, 2, 0]])
    if masked:
        cells[1, 2] = np.nan
    shown = pixels(heatmap.data_url(cells, ColourRange(-1.0, 1.0), GREY), "RGBA")
    assert shown[..., 0].tolist()[0] == [0, 128, 191]
    assert shown[1, :2, 0].tolist() == [255, 255]  # beyond the end is the end
    assert (shown[..., 3] == 255).sum() == 6 - masked
    assert shown[1, 2, 3] == 255 * (not masked)


def test_a_sheet_holds_maps_one_below_the_other() -> None:
    shown = pixels(heatmap.sprite_sheet(grid(2, 1, 3), ColourRange(0.0, 5.0), GREY))
    assert shown[..., 0].tolist() == [[0, 51, 102], [153, 204, 255]]


@pytest.mark.parametrize(
    ("size", "most", "block"), [(8, 8, (1, 1)), (9, 8, (2, 2)), (16, 8, (2, 2)), (17, 8, (3, 3))]
)
def test_a_map_is_pooled_only_if_it_has_more_cells_than_are_shown(
    size: int, most: int, block: tuple[int, int]
) -> None:
    maps = np.ones((2, size, size), np.float32)
    maps[:, 0] = 2
    found = pool(maps, most)
    assert (found.block, found.shape, found.largest) == (block, (size, size), False)
    high = -(-size // block[0])
    assert found.maps.shape == (2, high, high)
    assert found.maps[0, 0, 0] == 1 + 1 / block[0]  # one row of the block holds 2
    assert (found.maps[:, 1:] == 1).all()


def test_a_cell_is_a_mean_unless_that_hides_the_largest_and_masked_numbers_do_not_count() -> None:
    half = f32([[4, 0, 2, np.nan, np.nan, np.nan]])
    assert pool(half, 3).maps.tolist()[0][:2] == [2, 2]  # half of the largest is a mean still
    assert np.isnan(pool(half, 3).maps[0, 2])
    low = pool(f32([[-9, 1, 0, 0, 5, -5]]), 3)
    assert (low.maps.tolist(), low.largest) == ([[-9, 0, 5]], True)
    assert low.caption == "1 × 6 numbers, shown as the largest number of 1 × 2."
    assert PooledMaps(half, (1, 6), (1, 2)).caption == "1 × 6 numbers, shown as means of 1 × 2."
    assert PooledMaps(half, (1, 6)).caption == ""


@pytest.mark.parametrize("count", [12, 13])
@pytest.mark.parametrize("few", [1, 2, 3, 4])
@pytest.mark.parametrize("times", [5.0, 5.1])
def test_a_few_numbers_far_beyond_all_others_do_not_set_the_scale(
    count: int, few: int, times: float
) -> None:
    numbers = f32([*[-2] * (count - few), *[2 * times] * few])
    found = ColourRange.from_numbers(numbers, signed=True)
    ignored = count == 13 and few <= 3 and times > 5
    assert found.outliers == few * ignored
    assert found.high == pytest.approx(2 if ignored else 2 * times)
    assert found.low == -found.high
    assert found.largest == pytest.approx(2 * times)
    assert found.with_outliers == ColourRange(
        -found.largest, found.largest, found.outliers, found.largest
    )


def test_the_scale_of_nothing_goes_to_one() -> None:
    nothing = f32([np.nan, 0])
    assert ColourRange.from_numbers(nothing, signed=False) == ColourRange(0.0, 1.0, 0, 0.0)
    assert ColourRange.from_numbers(nothing, signed=True).low == -1.0
    assert ColourRange(0.0, 1.0).with_outliers == ColourRange(0.0, 1.0)


def test_one_of_two_thousand_numbers_may_be_an_outlier() -> None:
    numbers = np.ones(10_000, np.float32)
    numbers[:5] = 100
    assert ColourRange.from_numbers(numbers, signed=False).outliers == 5
    numbers[5] = 100
    assert ColourRange.from_numbers(numbers, signed=False).outliers == 0


def test_a_photograph_is_scaled_to_its_extremes() -> None:
    shown = heatmap.rgb_image(f32([[[-1, 1]], [[0, 3]], [[np.nan, -1]]]))
    assert shown.tolist() == [[[0, 64, 64], [128, 255, 0]]]
    assert heatmap.rgb_image(np.full((3, 1, 1), 2, np.float32)).tolist() == [[[0, 0, 0]]]
