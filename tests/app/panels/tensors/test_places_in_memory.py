"""Patches of a picture, and numbers in memory: where they stand."""

from __future__ import annotations

import math
import re

import pytest
import torch

from ncd.app.panels.tensors import memory_order, patch_raster
from ncd.app.panels.tensors.memory_order import MemoryReading, strides_and_copy
from ncd.systems.tensors.memory_layout import RASTER, patches

# --- patches of a picture -------------------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 4, 8])
def test_patches_are_laid_in_rows_with_gaps(n: int) -> None:
    p, gap = patch_raster.SIDE // n, patch_raster.GAP
    squares = torch.stack([torch.full((3, p, p), i / n**2) for i in range(n * n)])
    canvas = patch_raster._patch_grid(squares, n)
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
    assert (read.squares, read.ordered_count) == (16, 16)
    assert patch_raster._count_sentence(read).startswith("✓ 16 of 16 patches are squares")
    fewer = patch_raster.PatchReading(read.patches, 16, 4)
    assert patch_raster._count_sentence(fewer).startswith(
        "✗ 16 of 16 patches are squares of the picture, 4 "
    )


# --- numbers in memory ----------------------------------------------------------------------------


def reading(sizes: tuple[int, ...], order: str) -> MemoryReading:
    numbers = torch.arange(math.prod(sizes)).view(sizes)
    turned = numbers.permute(*("bchw".index(name) for name in order))
    strides, copied = strides_and_copy(sizes, order)
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
    assert found.is_copy == (table.data_ptr() != turned.data_ptr())


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
