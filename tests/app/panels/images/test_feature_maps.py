"""Arrays as images: which dimensions are images, channels and a batch, and how many are shown."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
import pytest
import torch

import ncd
from ncd.app.panels.images import feature_maps
from ncd.app.panels.images.feature_maps import FEATURE_MAPS, Stack
from ncd.app.parts import slice_picker
from tests.app.panels.views import images, inside, scene, shown, tags, text


def stack(array: str, made_by: str = "n0") -> Stack | None:
    return feature_maps._stack(ncd.elaborate(ncd.Id(array)).inputs[0], made_by)


def some(array: str, made_by: str = "n0") -> Stack:
    found = stack(array, made_by)
    assert found is not None
    return found


@pytest.mark.parametrize("array", ["b:3 m:4", "c:2 u:4x4 w:3x3", "u:4", "u:2x2x2"])
def test_an_array_without_one_image_is_none(array: str) -> None:
    assert stack(array) is None


@pytest.mark.parametrize(
    ("array", "at", "batch", "side"),
    [
        ("b:3 c:5 u:4x6", {"b": 2}, "b", 6),
        ("b:3 c:5 u:4x6", {"b": 9}, "b", 6),
        ("b:3 c:5 u:4x6", {}, "b", 6),
        ("c:9 u:7x6", {"c": 1}, None, 7),
        ("u:4x6", {}, None, 6),
    ],
)
def test_the_maps_of_an_array_are_those_of_one_of_the_batch(
    array: str, at: dict[str, int], batch: str | None, side: int
) -> None:
    found = some(array)
    assert (found.batch and found.batch.name, found.side) == (batch, side)
    numbers = torch.rand(found.value.array.shape)
    wanted = numbers[min(at.get("b", 0), 2)] if batch else numbers
    maps = found.maps(numbers, at)
    assert maps.tolist() == (wanted if wanted.dim() == 3 else wanted[None]).tolist()


@pytest.mark.parametrize(
    ("array", "made_by", "largest", "told", "shown_", "side"),
    [
        ("c:20 u:4x6", "n0", 6, "12 of 20 channels", (3, 4), 46),
        ("c:12 u:4x6", "n0", 6, "12 channels", (3, 4), 46),
        ("c:2 u:4x6", "n0", 12, "2 channels", (2, 1), 23),
        ("c:120 u:4x6", "n0", 60, "99 of 120 channels", (9, 11), 16),  # no smaller
        ("c:3 u:4x6", "n0", 6, "3 channels", (3, 1), 46),
        ("c:1 u:4x6", "", 6, "1 channel", (1, 1), 46),
    ],
)
def test_so_many_maps_fit_side_by_side(
    array: str, made_by: str, largest: int, told: str, shown_: tuple[int, int], side: float
) -> None:
    found = some(array, made_by)
    numbers = torch.rand(found.value.array.shape)
    address, wide, said = feature_maps._sheet(numbers, found, {}, largest)
    assert said == told
    across, down = shown_
    (sheet,) = images(f'<img src="{address}">')
    assert sheet.shape[:2] == (down * 5 - 1, across * 7 - 1)
    assert wide == pytest.approx(side * (across * 7 - 1) / 6)


def test_three_channels_that_go_in_are_a_picture() -> None:
    numbers = torch.rand(3, 4, 6)
    address, wide, told = feature_maps._sheet(numbers, some("c:3 u:4x6", ""), {}, 6)
    assert (wide, told) == (92.0, "in colours")
    low, high = numbers.min(), numbers.max()
    wanted = (255 * (numbers - low) / (high - low)).movedim(0, -1)
    (picture,) = images(f'<img src="{address}">')
    assert np.allclose(picture, wanted, atol=1)


def test_one_of_a_batch_is_chosen_for_all_arrays() -> None:
    here = scene("residual-block")
    (batch,) = {
        own.batch.name: own.batch for own in feature_maps.stacks(here) if own.batch
    }.values()
    for asked, at in (("1", 1), ("99", batch.size - 1)):
        session: dict[str, str] = {}
        with patch("streamlit.session_state", session):
            slice_picker.pick(batch.name, asked)
        told = shown(FEATURE_MAPS, here, **session)
        buttons = [own for own in tags(told.html, "button") if "aria-current" in own]
        assert [own["data-pick"] for own in buttons] == [
            f"{batch.name}={i}" for i in range(batch.size)
        ]
        now = [n for n, own in enumerate(buttons) if own["aria-current"] == "true"]
        assert now == [at]
        names = [text(own) for own in inside(told.html, "button")]
        assert names == [str(i + 1) for i in range(batch.size)]
        first, *_ = images(told.html)
        own = feature_maps.stacks(here)[0]
        largest = max(each.side for each in feature_maps.stacks(here))
        values = here.trace.values[own.value.id]
        address, _, _ = feature_maps._sheet(values, own, {batch.name: at}, largest)
        assert (first == images(f'<img src="{address}">')[0]).all()
    plain = feature_maps._images(None, {})
    assert plain == ""
    assert shown(FEATURE_MAPS, scene("lora")).text == (
        "No array here has the two sides of an image."
    )
