"""The mask of an example and the results under many masks, as they are listed and drawn."""

from __future__ import annotations

from unittest.mock import patch

import pytest
import torch

from ncd.app.panels.learning import dropout_masks
from ncd.app.panels.learning.dropout_masks import DROPOUT_MASKS, MAX_ROWS, MaskedSum
from ncd.app.parts.bin_chart import WIDE, bin_chart
from ncd.site import markup
from ncd.systems.networks.dropout_layer import RATES
from tests.app.panels.views import Shown, scene, shown, tags


def panel(example: int = 0, result: int = 0, **at: int) -> Shown:
    return shown(DROPOUT_MASKS, scene("dropout", **at), example=example, result=result)


@pytest.mark.parametrize("example", [0, 3])
@pytest.mark.parametrize("p", [0, 2, 3])
def test_each_unit_has_its_number_its_mask_and_what_is_left(p: int, example: int) -> None:
    here = scene("dropout", p=p)
    before, after = (here.trace.values[id][example].tolist() for id in ("v3", "v4"))
    rows = shown(DROPOUT_MASKS, here, example=example).rows[1:]
    assert len(rows) == len(before) == 16
    for (_, one, mask, two, _), a, b in zip(rows, before, after, strict=True):
        assert one == markup.digits(a)
        if not a:
            assert (mask, two) == ("–", "0")
        elif not b:
            assert (mask, two) == ("0", "left out")
        else:
            assert mask == markup.digits(1 / (1 - float(RATES[p]))) and two == markup.digits(b)
    assert [row[0] for row in rows] == [str(n + 1) for n in range(16)]


def test_in_evaluation_every_mask_is_1() -> None:
    found = panel(mode=1)
    assert {row[2] for row in found.rows[1:]} <= {"1", "–"}
    assert "Here nothing is left out, as after training." in found.text
    assert "Here nothing" not in panel().text


def test_it_says_what_the_masks_give_on_average() -> None:
    here = scene("dropout")
    found = dropout_masks._result(here, here.trace.values["v3"][1], 2, 0.5)
    said = panel(1, 2).text
    assert f"mean under all masks, {markup.digits(found.mean)}, is what evaluation gives" in said
    assert f"If nothing were divided it would be {markup.digits(found.unscaled_mean(0.5))}" in said
    assert f"= {markup.digits(found.expected_deviation)}." in said
    assert panel(1, 2).sliders == {"example": (0, 1, 3), "result": (0, 2, 2)}


def test_of_many_units_the_first_have_rows() -> None:
    found = panel(d=40)
    assert len(found.rows) == MAX_ROWS + 1 and "The first 16 of 40 units." in found.text


def test_a_result_that_no_unit_reaches_is_drawn_as_well() -> None:
    """With one hidden unit that is 0 all masks give the bias."""
    for seed in range(6):
        found = shown(DROPOUT_MASKS, scene("dropout", seed=seed, d=1, b=1))
        assert "nan" not in found.html and len(tags(found.html, "rect")) == dropout_masks.BINS


def test_without_a_division_the_mean_is_smaller_but_for_the_bias() -> None:
    found = MaskedSum(5.0, 1.0, torch.tensor([3.0, 5.0]), 0.0)
    assert (found.mean, found.deviation, found.unscaled_mean(0.25)) == (4.0, 1.0, 3.25)


@pytest.mark.parametrize(("units", "masks"), [(8, 12), (9, 11), (2, 20), (200, 1)])
def test_so_many_masks_are_drawn(units: int, masks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dropout_masks, "MASK_COUNT", 20)
    monkeypatch.setattr(dropout_masks, "DRAWN_NUMBERS", 100)
    ones = torch.ones(units)
    found = dropout_masks.masked_sum(ones, ones, 0.5, 0.5, torch.Generator().manual_seed(0))
    assert len(found.under_masks) == masks and found.full_sum == units + 0.5
    assert found.expected_deviation == pytest.approx(units**0.5)


@pytest.mark.parametrize(
    ("full", "sums", "ends"),
    [(9.0, (3.0, 5.0), (1, 9)), (2.0, (-8.0, 16.0), (-8, 16)), (0.0, (0.0, 0.0), (-1, 1))],
)
def test_the_chart_reaches_from_the_least_to_the_largest(
    full: float, sums: tuple[float, float], ends: tuple[float, float]
) -> None:
    found = MaskedSum(full, 0.0, torch.tensor(sums), 0.0)
    with patch.object(dropout_masks, "bin_chart", return_value="") as chart:
        dropout_masks._chart(scene("dropout"), found, 0.75)
    _, counts, between, marks, _ = chart.call_args.args
    assert between == ends and sum(counts) == 2
    assert marks == {"not divided": found.mean / 4, "evaluation": full}


# --- The chart


def test_bars_are_as_tall_as_their_counts_and_marks_stand_at_their_numbers() -> None:
    html = bin_chart(
        "A <b>", [1, 4, 2, 0], (0.0, 4.0), {"far right": 3.9, "one": 1.0, "two": 2.0}, "teal"
    )
    heights = [float(bar["height"]) for bar in tags(html, "rect")]
    assert [h / heights[1] for h in heights] == pytest.approx([0.25, 1, 0.5, 0], abs=0.01)
    assert "<b>" not in html
    places = [path["d"].split()[0] for path in tags(html, "path")]
    assert places == [f"M{WIDE * share:.1f}" for share in (3.9 / 4, 1 / 4, 2 / 4)]
    words = [text.get("text-anchor") for text in tags(html, "text")]
    assert words == ["end", "end", None, None, "end"]  # no room at its right, the first, others
