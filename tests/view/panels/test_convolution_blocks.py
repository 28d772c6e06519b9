"""The outline of a block of convolutions: as tall at each place as it has channels."""

from __future__ import annotations

import re

import pytest

from ncd.view.panels.images.convolution_blocks import TALL, WIDE, Step, profile


@pytest.mark.parametrize("channels", [(64, 16, 16, 64), (16, 64, 64, 16), (8, 8)])
def test_an_outline_is_as_tall_as_its_channels(channels: tuple[int, ...]) -> None:
    most = 64
    block = tuple(
        Step(f"map {i}", channels[i], channels[i + 1], 0, 0) for i in range(len(channels) - 1)
    )
    svg = profile(block, most, "red")
    (points,) = re.findall(r'points="([^"]+)"', svg)
    places = [tuple(map(float, point.split(","))) for point in points.split(" ")]
    upper, lower = places[: len(channels)], places[len(channels) :][::-1]
    assert [x for x, _ in upper] == [x for x, _ in lower]
    assert (upper[0][0], upper[-1][0]) == (0, WIDE)
    for n, (_, top), (_, foot) in zip(channels, upper, lower, strict=True):
        assert foot - top == pytest.approx(TALL * n / most, abs=0.1)
        assert (foot + top) / 2 == pytest.approx(TALL / 2 + 4, abs=0.1)
    assert f"channels: {' → '.join(map(str, channels))}" in svg
