"""A block of EfficientNet beside a residual block, by the layers of torch."""

from __future__ import annotations

import pytest
from torch import nn

from ncd.app.panels.images.network_blocks import BLOCK_DIAGRAM, MBCONV
from tests.app.panels.views import inside, scene, shown, tags, text


def weights(*layers: nn.Module) -> int:
    return sum(weight.numel() for layer in layers for weight in layer.parameters())


def shape(told: str) -> list[list[str]]:
    """The rows of both tables, without their heads."""
    rows = [[text(cell) for cell in inside(row, "td")] for row in inside(told, "tr")]
    return [row for row in rows if row]


# stage: channels and sides at 8 channels of the stem and images of 64, and the window of table 1
STAGES = {2: (6, 16, 3), 3: (10, 8, 5), 4: (20, 4, 3), 5: (28, 4, 5), 6: (48, 2, 5)}


@pytest.mark.parametrize("stage", STAGES)
def test_a_block_is_wide_inside_and_costs_what_its_layers_cost(stage: int) -> None:
    c, side, k = STAGES[stage]
    told = shown(MBCONV, scene("efficientnet"), stage=stage)
    wide, places = 6 * c, side * side
    expand, back = nn.Conv2d(c, wide, 1, bias=False), nn.Conv2d(wide, c, 1, bias=False)
    along = nn.Conv2d(wide, wide, k, groups=wide, bias=False)
    counts = [weights(layer) for layer in (expand, along, back)]
    narrow = max(1, c // 4)
    plain = [
        weights(nn.Conv2d(*own)) for own in ((c, narrow, 1), (narrow, narrow, 3), (narrow, c, 1))
    ]
    names = ["1 × 1, six times wider", f"{k} × {k}, each channel by itself", "1 × 1, back"]
    channels = [f"{c} → {wide}", f"{wide} → {wide}", f"{wide} → {c}"]
    rows = shape(told.html)
    assert [row[:3] for row in rows] == [
        *([*own[:2], f"{own[2]:,}"] for own in zip(names, channels, counts, strict=True)),
        ["together", "", f"{sum(counts):,}"],
        ["1 × 1, four times narrower", f"{c} → {narrow}", f"{plain[0]:,}"],
        ["3 × 3, all channels with all", f"{narrow} → {narrow}", f"{plain[1]:,}"],
        ["1 × 1, back", f"{narrow} → {c}", f"{plain[2]:,}"],
        ["together", "", f"{sum(plain):,}"],
    ]
    flops = 2 * places * counts[0]
    shown_flops = float(rows[0][3].split()[0]) * {"k": 1e3, "M": 1e6}[rows[0][3].split()[1]]
    assert shown_flops == pytest.approx(flops, rel=0.01)
    mixed = weights(nn.Conv2d(wide, wide, k, bias=False))
    assert (
        f"it has {counts[1]:,} weights; among {wide} channels it would have {mixed:,} weights"
        in (told.text)
    )
    gate = weights(nn.Linear(wide, narrow), nn.Linear(narrow, wide))
    numbers = "1 number" if narrow == 1 else f"{narrow} numbers"
    assert f"to {numbers} and back: {gate:,} parameters, and only " in told.text
    outlines = [own["aria-label"] for own in tags(told.html, "svg") if "aria-label" in own]
    assert outlines[0] == f"channels: {c} → {wide} → {wide} → {c}"
    pressed = [own["aria-pressed"] for own in tags(told.html, "button")]
    assert pressed == [str(i == stage).lower() for i in STAGES]
    assert "MBConv: wide inside" in told.text and "Residual: narrow inside" in told.text


def test_a_block_without_gates_says_nothing_of_them() -> None:
    told = shown(MBCONV, scene("efficientnet", squeeze=0))
    assert "Squeeze-and-excitation" not in told.text
    assert "it has 324 weights; among 36 channels it would have 11,664 weights if it" in told.text


@pytest.mark.parametrize("stage", [2, 5])
def test_the_diagram_of_a_block_has_the_axes_of_its_stage(stage: int) -> None:
    told = shown(BLOCK_DIAGRAM, scene("efficientnet"), stage=stage)
    axes = {own["data-axis"] for own in tags(told.html, "g") if "data-axis" in own}
    assert {f"c_{stage}", f"d_{stage}"} <= axes
    assert not axes & {f"{kind}_{other}" for kind in "cd" for other in {2, 5} - {stage}}
    pressed = [own["aria-pressed"] for own in tags(told.html, "button")]
    assert pressed == [str(i == stage).lower() for i in STAGES]
