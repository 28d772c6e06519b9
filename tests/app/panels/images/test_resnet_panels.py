"""The published ResNets side by side, and gradients with and without their shortcuts."""

from __future__ import annotations

from unittest.mock import patch

import pytest

from ncd.app.panels.images import resnet_sizes, shortcuts
from ncd.app.panels.images.resnet_sizes import PUBLISHED_SIZES
from ncd.app.panels.images.shortcuts import COLOURS, SHORTCUTS
from ncd.app.state import knobs
from ncd.site import markup
from ncd.systems.images.published_resnet import SIZES
from tests.app.panels.views import scene, shown, tags

SMALL = {"n": 4, "x": 64, "b": 2}
TABLE = {  # He et al. 2015, table 1: blocks of conv2_x to conv5_x, and billions of products
    "18 layers": ("2 2 2 2", 1.8),
    "34 layers": ("3 4 6 3", 3.6),
    "50 layers": ("3 4 6 3", 3.8),
    "101 layers": ("3 4 23 3", 7.6),
    "152 layers": ("3 8 36 3", 11.3),
}


def test_the_table_is_that_of_the_paper() -> None:
    head, *rows = shown(PUBLISHED_SIZES, scene("resnet", **SMALL)).rows
    assert head[2:] == [*TABLE]
    assert [row[1] for row in rows[:5]] == ["56", "56", "28", "14", "7"]
    for at, (blocks, products) in enumerate(TABLE.values(), 2):
        assert " ".join(row[at].rpartition("× ")[2] for row in rows[1:5]) == blocks
        assert rows[5][at] == f"{resnet_sizes.published_cost(at - 2).parameters:,}"
        assert float(rows[6][at].split()[0]) == pytest.approx(products, rel=0.08)
    assert rows[3][4].startswith("1 × 1, 2563 × 3, 2561 × 1, 1,024")


def test_a_head_of_the_table_chooses_the_network_and_nothing_else_does() -> None:
    html = shown(PUBLISHED_SIZES, scene("resnet", depth=3, **SMALL)).html
    pressed = [button["aria-pressed"] for button in tags(html, "button")]
    assert pressed == [str(i == 3).lower() for i in range(len(SIZES))]
    with patch.object(knobs, "set_values") as put:
        for picked in ("depth=4", "depth=5", "depth=-1", "depth", "n=3"):
            resnet_sizes._pick(picked)
    put.assert_called_once_with({"depth": 4})


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
