"""Numbers by their powers of two, over the range of a format, as they are drawn."""

from __future__ import annotations

import pytest

from ncd.app.parts.exponent_chart import (
    HEAD,
    HIGH,
    KEPT,
    LOST,
    LOW,
    TALL,
    WIDE,
    ExponentRow,
    exponent_chart,
    power_of_two,
)
from ncd.run.float_formats import FORMATS
from tests.app.panels.views import inside, tags, text

BIN = WIDE / (HIGH - LOW)


def row(kept: dict[int, int], lost: dict[int, int]) -> ExponentRow:
    """A row with counts by powers of two."""
    counts = ([own.get(power, 0) for power in range(LOW, HIGH)] for own in (kept, lost))
    return ExponentRow("gradients", *counts)


@pytest.mark.parametrize(
    ("key", "ends"),
    [("float16", (-24, -14, 16)), ("e4m3", (-9, -6, 9)), ("e5m2", (-16, -14, 16)),
     ("float32", (LOW, LOW, HIGH))],
)  # fmt: skip
def test_the_range_of_the_format_is_shaded(key: str, ends: tuple[int, int, int]) -> None:
    """From the smallest number to the smallest with all bits lightly, and up to the largest."""
    light, dark = tags(exponent_chart("Sizes", [row({}, {})], FORMATS[key]), "rect")
    places = [BIN * (power - LOW) for power in ends]
    for shade, left, right in ((light, *places[:2]), (dark, *places[1:])):
        assert float(shade["x"]) == pytest.approx(left, abs=0.1)
        assert float(shade["width"]) == pytest.approx(right - left, abs=0.11)
    assert float(light["opacity"]) < float(dark["opacity"])


def test_lost_numbers_stand_on_those_kept() -> None:
    html = exponent_chart("Sizes", [row({}, {}), row({0: 6, 3: 1}, {0: 2})], FORMATS["float16"])
    bars = tags(html, "rect")[2:]
    assert [bar["fill"] for bar in bars] == [KEPT, LOST, KEPT]
    floor = 2 * (HEAD + TALL)
    for bar, place, foot, count in zip(bars, (0, 0, 3), (0, 6, 0), (6, 2, 1), strict=True):
        assert float(bar["x"]) == pytest.approx(BIN * (place - LOW), abs=0.1)
        assert float(bar["height"]) == pytest.approx(TALL * count / 8, abs=0.1)
        bottom = float(bar["y"]) + float(bar["height"])
        assert bottom == pytest.approx(floor - TALL * foot / 8, abs=0.11)
    assert tags(html, "svg")[0]["aria-label"] == "Sizes: gradients; gradients"


def test_one_of_very_many_can_be_seen() -> None:
    bars = tags(exponent_chart("Sizes", [row({0: 9999, 1: 1}, {})], FORMATS["float16"]), "rect")[2:]
    assert [float(bar["height"]) for bar in bars] == [TALL, 1.0]


def test_powers_below_the_axis() -> None:
    html = exponent_chart("Sizes", [row({}, {})], FORMATS["float16"])
    labels = [text(own) for own in inside(html, "text")[1:]]
    assert labels == ["2⁻⁴⁰", "2⁻³⁰", "2⁻²⁰", "2⁻¹⁰", "1", "2¹⁰", "2²⁰"]
    places = [float(own["x"]) for own in tags(html, "text")[1:]]
    assert places == pytest.approx([BIN * (power - LOW) for power in range(-40, 21, 10)], abs=0.1)
    assert [power_of_two(power) for power in (-9, 0.0, 4)] == ["2⁻⁹", "1", "2⁴"]
