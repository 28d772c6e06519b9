"""Panels with pictures: what stands where, computed again from what it means."""

from __future__ import annotations

import math
import re

import numpy as np
import pytest
import torch

from ncd.app.panels.attention.picture_attention import Tiling, Windows
from ncd.app.panels.attention.position_panels import RADIUS, WIDE, _circle, _circles
from ncd.app.panels.images import latent_plane
from ncd.app.panels.images.feature_maps import tiled
from ncd.app.panels.images.latent_plane import CELLS, REACH, SIDE, STEPS
from ncd.app.panels.tensors import memory_order, patch_raster
from ncd.app.panels.tensors.memory_order import MemoryReading, strided
from ncd.app.parts.heatmap import CellGrid
from ncd.systems.tensors.memory_layout import RASTER, patches

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
            n, own = found.numbered(row, column)
            assert cut[n, own] == row * side + column
    for place in range(side):
        together = found.around(place)
        assert place in together
        assert len(together) <= window
        for other in range(side):
            same = found.numbered(0, place)[0] == found.numbered(0, other)[0]
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
    assert found.dropped == lost


def test_maps_stand_side_by_side_with_a_clear_line() -> None:
    maps: CellGrid = np.arange(5 * 2 * 3, dtype=np.float32).reshape(5, 2, 3)
    for across, size in ((2, (8, 7)), (5, (2, 19)), (9, (2, 19)), (3, (5, 11))):
        sheet = tiled(maps, across)
        assert sheet.shape == size
        for n, each in enumerate(maps):
            y, x = n // min(across, 5) * 3, n % min(across, 5) * 4
            assert (sheet[y : y + 2, x : x + 3] == each).all()
        assert np.isnan(sheet).sum() == sheet.size - maps.size


# --- patches of a picture -------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 4, 8])
def test_patches_are_laid_in_rows_with_gaps(n: int) -> None:
    p, gap = patch_raster.SIDE // n, patch_raster.GAP
    squares = torch.stack([torch.full((3, p, p), i / n**2) for i in range(n * n)])
    canvas = patch_raster._laid(squares, n)
    assert canvas.shape == (64 + gap * (n - 1), 64 + gap * (n - 1), 4)
    for i in range(n * n):
        y, x = i // n * (p + gap), i % n * (p + gap)
        part = canvas[y : y + p, x : x + p]
        assert (part[..., 3] == 255).all()
        assert (part[..., :3] == round(255 * i / n**2)).all()
    assert (canvas[..., 3] == 0).sum() == canvas.shape[0] ** 2 - 64**2


def test_squares_of_a_picture_are_cut_in_raster_order() -> None:
    picture = torch.arange(3 * 64 * 64).reshape(3, 64, 64)
    found = patch_raster._windows(picture, 4)
    wanted = picture.reshape(3, 4, 16, 4, 16).permute(1, 3, 0, 2, 4).flatten(0, 1)
    assert torch.equal(found, wanted)
    read = patch_raster.read(patches(RASTER, 3, 64, 4), 4)
    assert (read.squares, read.ordered) == (16, 16)
    assert patch_raster._counted(read).startswith("✓ 16 of 16 patches are squares")
    fewer = patch_raster.PatchReading(read.patches, 16, 4)
    assert patch_raster._counted(fewer).startswith(
        "✗ 16 of 16 patches are squares of the picture, 4 "
    )


# --- the plane ------------------------------------------------------------------------------------


def test_a_point_of_the_plane_stands_in_the_middle_of_its_picture() -> None:
    step = SIDE / CELLS
    assert (latent_plane._line(0), latent_plane._line(CELLS - 1)) == (-REACH, REACH)
    for i in range(CELLS):
        for j in range(CELLS):
            spot = latent_plane._spot(latent_plane._line(j), latent_plane._line(i))
            assert spot == pytest.approx(((j + 0.5) * step, SIDE - (i + 0.5) * step))


@pytest.mark.parametrize(
    ("value", "place"),
    [(-REACH, 0), (0.0, 30), (REACH, 60), (-9.0, 0), (9.0, 60), (0.1, 31), (-0.14, 29)],
)
def test_a_slider_stands_at_the_nearest_of_its_places(value: float, place: int) -> None:
    assert latent_plane._step(value) == place
    assert STEPS == 61


def test_coordinates_are_said_with_a_real_minus() -> None:
    assert (latent_plane._coordinate(-1.24), latent_plane._coordinate(0.5)) == ("−1.2", "0.5")


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


# --- numbers in memory ----------------------------------------------------------------------------


def reading(sizes: tuple[int, ...], order: str) -> MemoryReading:
    numbers = torch.arange(math.prod(sizes)).view(sizes)
    turned = numbers.permute(*("bchw".index(name) for name in order))
    strides, copied = strided(sizes, order)
    return MemoryReading(sizes, tuple(order), tuple(turned.flatten().tolist()), strides, copied)


@pytest.mark.parametrize("order", ["bchw", "hbwc", "chwb", "wchb"])
def test_places_in_memory_are_the_indexes_of_torch(order: str) -> None:
    sizes = (2, 3, 2, 2)
    found = reading(sizes, order)
    numbers = torch.arange(24).view(sizes)
    rows = [dict(zip("bchw", sizes, strict=True))[name] for name in order]
    assert found.table == (rows[0] * rows[1], rows[2] * rows[3])
    for place in found.places:
        at = found.index(place)
        assert list(at) == list(order)
        assert numbers[tuple(at[name] for name in "bchw")] == place
    turned = numbers.permute(*("bchw".index(name) for name in order))
    assert found.strides[:2] == (numbers.stride(), turned.stride())
    table = turned.reshape(found.table)
    assert found.strides[2] == table.stride()
    assert found.copied == (table.data_ptr() != turned.data_ptr())


def test_cells_of_an_image_are_neighbours_and_images_stand_apart() -> None:
    found = reading((2, 3, 2, 2), "bchw")
    cell, row, gap = memory_order.CELL, memory_order.ROW, memory_order.GAP
    x, y = memory_order._centre(found, 0)
    assert memory_order._centre(found, 1) == (x + cell, y)
    assert memory_order._centre(found, 2) == (x, y + row)
    assert memory_order._centre(found, 4) == (x + 2 * cell + gap, y)
    assert memory_order._centre(found, 12) == (x, y + 2 * row + gap)
    assert (x, y) == (memory_order.EDGE + cell / 2, memory_order.TOP + row / 2)


def test_an_arc_bends_to_the_left() -> None:
    to, back = memory_order._arc((0, 0), (100, 0)), memory_order._arc((100, 0), (0, 0))
    assert re.findall("Q(-?\\d+) (-?\\d+)", to) == [("50", "-18")]
    assert re.findall("Q(-?\\d+) (-?\\d+)", back) == [("50", "18")]
    assert re.findall("Q(-?\\d+) (-?\\d+)", memory_order._arc((0, 0), (0, 100))) == [("18", "50")]
