"""The published networks of a page side by side, as in the tables of the papers."""

from __future__ import annotations

from unittest.mock import patch

import pytest

import ncd
from ncd.app.panels.images.published_sizes import (
    EFFICIENTNET_SIZES,
    RESNET_SIZES,
    VGG_SIZES,
    published_cost,
)
from ncd.app.state import knobs
from tests.app.panels.views import Panel, scene, shown, tags

RESNETS = {  # He et al. 2015, table 1: blocks of conv2_x to conv5_x, and billions of products
    "18 layers": ("2 2 2 2", 1.8),
    "34 layers": ("3 4 6 3", 3.6),
    "50 layers": ("3 4 6 3", 3.8),
    "101 layers": ("3 4 23 3", 7.6),
    "152 layers": ("3 8 36 3", 11.3),
}
# Simonyan and Zisserman 2015, tables 1 and 2: convolutions before each pooling, and millions of
# parameters, in the columns A, B, D and E
VGGS = {
    "11 layers": ("1 1 2 2 2", 133),
    "13 layers": ("2 2 2 2 2", 133),
    "16 layers": ("2 2 3 3 3", 138),
    "19 layers": ("2 2 4 4 4", 144),
}


# Tan and Le 2019: width, depth, sides, channels × blocks of stage 6, millions of parameters and
# billions of products in table 2
EFFICIENTNETS = {
    "B0": ("1", "1", "224", "192 × 4", 5.3, 0.39),
    "B1": ("1", "1.1", "240", "192 × 5", 7.8, 0.70),
    "B2": ("1.1", "1.2", "260", "208 × 5", 9.2, 1.0),
    "B3": ("1.2", "1.4", "300", "232 × 6", 12, 1.8),
    "B4": ("1.4", "1.8", "380", "272 × 8", 19, 4.2),
    "B5": ("1.6", "2.2", "456", "304 × 9", 30, 9.9),
    "B6": ("1.8", "2.6", "528", "344 × 11", 43, 19),
    "B7": ("2", "3.1", "600", "384 × 13", 66, 37),
}


def counted(row: list[str], at: int) -> str:
    """How many there are of a part, by the end of its cell."""
    return row[at].rpartition("× ")[2]


def test_the_table_of_resnet_is_that_of_the_paper() -> None:
    head, *rows = shown(RESNET_SIZES, scene("resnet")).rows
    assert head == ["", "side", *RESNETS]
    assert [row[:2] for row in rows] == [
        ["stem", "56"], ["stage 1", "56"], ["stage 2", "28"], ["stage 3", "14"], ["stage 4", "7"],
        ["parameters", ""], ["products", ""],
    ]  # fmt: skip
    for at, (blocks, products) in enumerate(RESNETS.values(), 2):
        assert " ".join(counted(row, at) for row in rows[1:5]) == blocks
        cost = published_cost(ncd.catalogue["resnet"], at - 2)
        assert rows[5][at] == f"{cost.parameters:,}"
        assert float(rows[6][at].split()[0]) == pytest.approx(cost.flops / 2e9, rel=0.01)
        assert float(rows[6][at].split()[0]) == pytest.approx(products, rel=0.08)
    assert rows[0][2:] == ["7 × 7, 64; pooling"] * 5
    assert rows[3][4] == "1 × 1, 2563 × 3, 2561 × 1, 1,024× 6"


def test_the_table_of_vgg_is_that_of_the_paper() -> None:
    head, *rows = shown(VGG_SIZES, scene("vgg")).rows
    assert head == ["", "side", *VGGS]
    assert [row[:2] for row in rows] == [
        *([f"stage {i}", side] for i, side in enumerate(["224", "112", "56", "28", "14"], 1)),
        ["dense", ""], ["parameters", ""], ["products", ""],
    ]  # fmt: skip
    for at, (convolutions, millions) in enumerate(VGGS.values(), 2):
        assert " ".join(counted(row, at) for row in rows[:5]) == convolutions
        channels = [row[at].removeprefix("3 × 3, ").split(" ")[0] for row in rows[:5]]
        assert channels == ["64", "128", "256", "512", "512"]
        assert rows[5][at] == "4,096 · 4,096 · 1,000"
        parameters = int(rows[6][at].replace(",", ""))
        assert parameters == published_cost(ncd.catalogue["vgg"], at - 2).parameters
        assert round(parameters / 1e6) == millions


def test_the_table_of_efficientnet_is_that_of_the_paper() -> None:
    head, *rows = shown(EFFICIENTNET_SIZES, scene("efficientnet")).rows
    assert head == ["", *EFFICIENTNETS]
    stages = [f"stage {i}, {k} × {k}" for i, k in enumerate((3, 3, 5, 3, 5, 5, 3), 1)]
    assert [row[0] for row in rows] == [
        *("width", "depth", "sides"), *stages, *("parameters", "products"),
    ]  # fmt: skip
    assert [row[1] for row in rows[3:10]] == [
        *("16 × 1", "24 × 2", "40 × 2", "80 × 3", "112 × 3", "192 × 4", "320 × 1"),
    ]  # fmt: skip
    for at, (width, depth, side, stage, millions, billions) in enumerate(EFFICIENTNETS.values(), 1):
        assert [row[at] for row in rows[:3]] == [f"× {width}", f"× {depth}", side]
        assert rows[8][at] == stage
        cost = published_cost(ncd.catalogue["efficientnet"], at - 1)
        assert rows[10][at] == f"{cost.parameters:,}"
        assert cost.parameters / 1e6 == pytest.approx(millions, rel=0.03)
        assert cost.flops / 2e9 == pytest.approx(billions, rel=0.05)


@pytest.mark.parametrize(
    ("name", "knob", "panel"),
    [
        ("resnet", "depth", RESNET_SIZES),
        ("vgg", "depth", VGG_SIZES),
        ("efficientnet", "size", EFFICIENTNET_SIZES),
    ],
)
def test_a_head_of_the_table_chooses_the_network_and_nothing_else_does(
    name: str, knob: str, panel: Panel
) -> None:
    last = len(ncd.catalogue[name].presets) - 1
    found = shown(panel, scene(name, **{knob: last - 1}))
    buttons = tags(found.html, "button")
    assert [own["aria-pressed"] for own in buttons] == [
        str(i == last - 1).lower() for i in range(last + 1)
    ]
    assert found.pick is not None
    picks = [own["data-pick"] for own in buttons]
    with patch.object(knobs, "set_values") as put:
        for picked in (*picks, f"{knob}={last + 1}", f"{knob}=-1", knob, "n=1"):
            found.pick(picked)
    assert [call.args[0] for call in put.call_args_list] == [{knob: i} for i in range(last + 1)]
