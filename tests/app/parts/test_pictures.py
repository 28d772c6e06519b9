"""Numbers as pictures: each pixel is the number that it stands for."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from ncd.app.panels.learning.mistakes import COLOURS, class_overlay
from ncd.app.parts.heatmap import BEHIND, GAP, MIN_SIDE, MOST_PICTURES, mosaic
from tests.app.parts.test_heatmap import f32, pixels

# --- mosaics --------------------------------------------------------------------------------------


def test_a_mosaic_has_pictures_side_by_side_with_a_gap() -> None:
    numbers = np.zeros((2, 3, 50, 60), np.float32)
    for i in range(2):
        for j in range(3):
            numbers[i, j] = (3 * i + j) / 5
    found = mosaic(numbers, None)
    shown = pixels(found.address)[..., 0]
    assert found.size == (3 * 60 + 2 * GAP, 2 * 50 + GAP)
    assert found.description == "2 × 3 pictures of 50 × 60 pixels"
    for i in range(2):
        for j in range(3):
            part = shown[i * (50 + GAP) :, j * (60 + GAP) :][:50, :60]
            assert (part == round(51 * (3 * i + j))).all()
    assert (shown[50 : 50 + GAP] == BEHIND).all()
    assert (shown[:, 60 : 60 + GAP] == BEHIND).all()


@pytest.mark.parametrize(
    ("lead", "across", "down"),
    [
        ((5,), 5, 1),
        ((9,), 8, 2),
        ((2, 12), 12, 2),
        ((2, 13), 8, 4),
        ((2, 2, 3), 6, 2),
        ((72,), 8, 9),
    ],
)
def test_rows_of_a_mosaic(lead: tuple[int, ...], across: int, down: int) -> None:
    wide, tall = mosaic(np.zeros((*lead, 50, 50), np.float32), None).size
    full = across * 53 - 3, down * 53 - 3
    shrunk = min(1, 960 / full[0], 640 / full[1])
    assert (wide, tall) == (round(full[0] * shrunk), round(full[1] * shrunk))


def test_the_words_of_a_mosaic() -> None:
    many = mosaic(np.zeros((MOST_PICTURES + 1, 4, 4), np.float32), None)
    assert many.description == f"73 pictures of 4 × 4 pixels (the first {MOST_PICTURES})"
    assert (
        mosaic(np.zeros((MOST_PICTURES, 4, 4), np.float32), None).description
        == "72 pictures of 4 × 4 pixels"
    )
    assert mosaic(f32([[0, 1]]), None).description == "1 × 2 pixels"
    assert mosaic(f32([[-1, 1]]), None).description == "1 × 2 pixels from −1 (black) to 1"
    assert mosaic(f32([[0, 2]]), None).description == "1 × 2 pixels from 0 (black) to 2"
    assert mosaic(f32([1, 0]), None).description == "1 × 2 pixels"


def test_numbers_beyond_0_and_1_are_scaled_and_others_are_not() -> None:
    def ends(*numbers: float) -> list[int]:
        shown = pixels(mosaic(f32([numbers]), None).address)[0, :, 0]
        return [int(shown[0]), int(shown[-1])]

    assert ends(0.2, 0.6) == [51, 153]
    assert ends(-1, 1) == [0, 255]
    assert ends(0, 4) == [0, 255]
    assert ends(-1, 0) == [0, 128]  # 1 is white


def test_colours_of_a_mosaic_are_the_axis_that_is_said() -> None:
    numbers = np.zeros((3, 60, 70), np.float32)
    numbers[1] = 1
    assert pixels(mosaic(numbers, 0).address)[5, 5].tolist() == [0, 255, 0]
    assert mosaic(numbers, 0).description == "60 × 70 pixels"


@pytest.mark.parametrize(
    ("shape", "size"),
    [
        ((4, 6), (48, 32)),
        ((6, 4), (32, 48)),
        ((MIN_SIDE, MIN_SIDE), (MIN_SIDE, MIN_SIDE)),
        ((47, 40), (80, 94)),
        ((2, 40), (80, 4)),
        ((2, 41), (82, 4)),
        ((1, 100), (100, 5)),
        ((5, 100), (100, 5)),
        ((100, 1), (5, 100)),
        ((100, 5), (5, 100)),
    ],
)
def test_few_or_long_rows_are_stretched(shape: tuple[int, int], size: tuple[int, int]) -> None:
    assert mosaic(np.zeros(shape, np.float32), None).size == size


# --- classes --------------------------------------------------------------------------------------


def test_pixels_have_the_colours_of_their_classes_and_wrong_ones_a_stroke() -> None:
    classes = torch.tensor([[0, 1], [4, 5]])
    shown = class_overlay(torch.tensor([[1.0, 0.0], [0.0, 2.0]]), classes, large=2)
    assert shown[0, 0].tolist() == [255, 255, 255]
    assert shown[0, 1].tolist() == [round(0.6 * n) for n in COLOURS[0]]
    assert shown[1, 0].tolist() == [round(0.6 * n) for n in COLOURS[3]]
    assert shown[1, 1].tolist() == [round(0.4 * 255 + 0.6 * n) for n in COLOURS[0]]  # begins again
    wrong = torch.tensor([[False, True], [False, False]])
    large = class_overlay(torch.zeros(2, 2), torch.zeros(2, 2).long(), wrong, large=8)
    assert large.shape == (8, 8, 3)
    assert (large[..., 0] == 255).nonzero()[0].tolist() == [0, 1, 2, 3]
    assert (large[..., 0] == 255).nonzero()[1].tolist() == [4, 5, 6, 7]
    assert not class_overlay(torch.zeros(2, 2), torch.zeros(2, 2).long(), wrong, large=7).any()
