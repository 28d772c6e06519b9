"""Gradients of a ResNet with and without its shortcuts."""

from __future__ import annotations

import pytest

from ncd.app.panels.images import shortcuts
from ncd.app.panels.images.shortcuts import COLOURS, SHORTCUTS
from ncd.site import markup
from ncd.systems.images.published_resnet import SIZES
from tests.app.panels.views import scene, shown, tags

SMALL = {"n": 4, "x": 64, "b": 2}


@pytest.mark.parametrize("skip", [0, 1])
def test_both_networks_have_a_line_and_the_chosen_one_is_thick(skip: int) -> None:
    here = scene("resnet", depth=1, skip=skip, **SMALL)
    found = shown(SHORTCUTS, here)
    lines = tags(found.html, "polyline")
    thick = [line["stroke"] for line in lines if line["stroke-width"] == "3.2"]
    assert thick == [[*COLOURS.values()][skip]] * 2 and len(lines) == 4
    plain, residual = (shortcuts._depth(shortcuts._with_skip(here, n)).gradients for n in range(2))
    assert len(plain) == len(residual) == sum(SIZES[1].blocks)
    said = f"{markup.digits(residual[0])} times as large with shortcuts, and "
    assert f"through 16 blocks the gradient becomes {said}" in found.text
    assert f"{said}{markup.digits(plain[0])} times without" in found.text
    assert plain[0] > 2 * residual[0] > 2


def test_it_is_measured_at_sizes_of_its_own() -> None:
    one, two = (shown(SHORTCUTS, scene("resnet", n=n, y=y)) for n, y in ((3, 9), (8, 10)))
    lines = [[line["points"] for line in tags(own.html, "polyline")] for own in (one, two)]
    assert lines[0] == lines[1]
    assert "It is measured with 8 channels, sides of 64 and 2 images." in one.text
