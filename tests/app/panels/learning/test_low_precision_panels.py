"""What the panels of low precision show, beside torch and counted by hand."""

from __future__ import annotations

from math import inf, isnan, nan
from unittest.mock import patch

import pytest
import torch
from torch.nn import functional as F

import ncd
from ncd.app.panels.learning import number_ranges, running_sum, vanishing_update
from ncd.app.panels.learning.number_bits import BITS, EXAMPLES, PARTS
from ncd.app.panels.learning.number_ranges import (
    FORMAT,
    GROUPS,
    RANGE,
    SATURATED_TEXT,
    TOO_LARGE_TEXT,
    Losses,
    backward_module,
    losses,
    losses_of_run,
    percent,
    verdict,
)
from ncd.app.panels.learning.running_sum import COLOURS, MOST, SUM, addends
from ncd.app.panels.learning.vanishing_update import RATES, UPDATE, WeightStep, descent
from ncd.app.parts.exponent_chart import HIGH, LOW
from ncd.app.state import knobs
from ncd.language.number_formats import Formats
from ncd.run.calculation import number_text
from ncd.run.float_formats import FORMATS, rounded_run
from ncd.site import markup
from ncd.systems.networks.low_precision_step import BATCHES, SCALES
from tests.app.panels.views import Shown, inside, scene, shown, tags, text

NAMES = [format.name for format in FORMATS.values()]
FLOAT16 = FORMATS["float16"]


# --- Range


def test_numbers_are_told_kept_from_lost() -> None:
    plain = torch.tensor([0.0, 1.0, 1.5, -3.0, 2.0**-25, -(2.0**-30), 65504.0, 65535.0, -1e30])
    found = losses(plain, FLOAT16.round(plain), FLOAT16)
    kept = {power: n for power, n in enumerate(found.kept_counts, LOW) if n}
    lost = {power: n for power, n in enumerate(found.lost_counts, LOW) if n}
    assert kept == {0: 2, 1: 1, 15: 1} and lost == {-30: 1, -25: 1, 15: 1, HIGH - 1: 1}
    assert (found.zero_share, found.overflow_share) == (2 / 8, 2 / 8)
    assert found.median_error == 0
    tiny = torch.tensor([1e-40, 2.0**-60])
    assert losses(tiny, FLOAT16.round(tiny), FLOAT16).lost_counts[0] == 2


def test_a_number_at_the_largest_of_a_format_without_infinity_is_too_large() -> None:
    plain, format = torch.tensor([448.0, 500.0, 1.0625]), FORMATS["e4m3"]
    found = losses(plain, format.round(plain), format)
    assert found.overflow_share == pytest.approx(1 / 3) and sum(found.kept_counts) == 2
    assert found.median_error == 0  # of 448, which stays, and 1.0625, which becomes 1


def test_the_error_is_the_median_of_what_is_kept() -> None:
    plain = torch.tensor([1.0, 2.0, 4.0])
    found = losses(plain, torch.tensor([1.5, 2.2, 3.0]), FLOAT16)
    assert found.median_error == pytest.approx(0.25)
    assert isnan(losses(plain, torch.zeros(3), FLOAT16).median_error)
    nothing = losses(torch.zeros(2), torch.zeros(2), FLOAT16)
    assert (nothing.zero_share, nothing.overflow_share) == (0, 0)
    no_number = losses(plain, torch.tensor([nan, inf, 4.0]), FLOAT16)
    assert no_number.overflow_share == pytest.approx(2 / 3)


def written_out(key: str, s: int) -> dict[str, torch.Tensor]:
    """The arrays of a run in torch, with what each op gives cast; gradients by hand."""
    term = ncd.catalogue["low-precision"].build(s=s)
    module, (x, y) = ncd.compile(term), ncd.example_inputs(term)
    near = FORMATS[key].round
    x, y, w, v = map(near, (x, y, module.W_1.weight, module.W_2.weight))
    z = near(F.linear(x, w))
    hidden = near(z.relu())
    apart = near(near(F.linear(hidden, v)) - y)
    b, k = y.shape
    each = near(near(torch.full((b, k), SCALES[s] / BATCHES[4])) / k)
    do = near(2 * apart * each)
    dh = near(do @ v)
    dz = near(dh * (z > 0))
    return {"W": near(dz.T @ x), "V": near(do.T @ hidden), "dh": dh, "dz": dz, "do": do}


@pytest.mark.parametrize("s", [0, 2, 5])
@pytest.mark.parametrize("key", FORMATS)
def test_the_gradients_of_a_run_are_those_written_in_torch(key: str, s: int) -> None:
    here = scene("low-precision", s=s)
    back = backward_module(here.module)
    found = rounded_run(back, (*here.inputs, torch.ones(())), FORMATS[key])
    wanted = written_out(key, s)
    of_w, of_v = (found[value.id] for value in back.circuit.outputs)
    ids = number_ranges.group_ids(back.circuit)
    every = [found[id] for id in ids["gradients of activations"]]
    for name, own in (("W", of_w), ("V", of_v)):
        assert same(own, wanted[name]), name
    for name in ("do", "dh", "dz"):
        assert any(same(own, wanted[name]) for own in every), name


def same(one: torch.Tensor, two: torch.Tensor) -> bool:
    """Whether numbers are the same, or a sum in another order fell on a neighbour."""
    if one.shape != two.shape or not torch.equal(one.isfinite(), two.isfinite()):
        return False
    finite = one.isfinite()
    if not finite.any():
        return True
    near = torch.isclose(one[finite], two[finite], rtol=0.3, atol=2.0**-16)
    return bool(near.all()) and float((one[finite] == two[finite]).float().mean()) > 0.9


def test_every_array_is_in_one_group() -> None:
    back = backward_module(scene("low-precision", b=5, m=4, d=6, k=3).module)
    ids = number_ranges.group_ids(back.circuit)
    shapes = {group: [found.array.shape for found in map(back.circuit.values.get, own)]
              for group, own in ids.items()}  # fmt: skip
    assert tuple(ids) == GROUPS
    assert shapes["weights"] == [(6, 4), (3, 6)] and len(shapes["gradients of weights"]) == 2
    assert sorted(shapes["gradients of weights"]) == [(3, 6), (6, 4)]
    assert shapes["activations"] == [(5, 6), (5, 6), (5, 3), (5, 3)]
    assert sorted(shapes["gradients of activations"]) == [(5,), (5, 3), (5, 3), (5, 6), (5, 6)]


def range_panel(key: str = "float16", **at: int) -> Shown:
    return shown(RANGE, scene("low-precision", **at), format=key)


def test_it_opens_in_float16_and_tells_what_vanishes() -> None:
    found, here = shown(RANGE, scene("low-precision")), scene("low-precision")
    own = losses_of_run(backward_module(here.module), here.inputs)
    shares = [percent(own["float16"][group].zero_share) for group in GROUPS]
    assert shares[:2] == ["0%", "0%"]
    labels = [tag["aria-label"] for tag in tags(found.html, "svg")]
    assert labels == [
        "Forward, in float16: weights: all kept; activations: all kept",
        f"Backward, in float16: gradients of activations: {shares[2]} become 0; "
        f"gradients of weights: {shares[3]} become 0",
    ]
    assert found.sliders == {"s": (0, 0, len(SCALES) - 1)}
    head, *rows = found.rows
    assert head[:4] == ["format", "become 0", "too large", "error"]
    assert [row[0] for row in rows] == NAMES and rows[3][1] == shares[2]
    assert rows[3][4:] == ["65504", "2⁻¹⁴", "2⁻²⁴", "2⁻¹⁰", "5 + 10"]
    assert rows[0][1:4] == ["0%", "0%", "0.00%"] and rows[4][1:4] == ["100%", "0%", "–"]
    pressed = [tag for tag in tags(found.html, "button") if tag["aria-pressed"] == "true"]
    assert [tag["data-pick"] for tag in pressed] == 2 * ["format=float16"]


@pytest.mark.parametrize(
    ("key", "s", "said"),
    [("float16", 0, "✗ Gradients vanish. What is not above 2⁻²⁵, half of the smallest number of "
      "float16, becomes 0."),
     ("float16", 2, "✓ The gradients arrive. The step divides by 65,536 again."),
     ("float32", 0, "✓ The gradients arrive."),
     ("float16", 5, f"✗ Too large. The largest number of float16 is 65504. {text(TOO_LARGE_TEXT)}"),
     ("e4m3", 5, f"✗ Too large. The largest number of float8 E4M3 is 448. {SATURATED_TEXT}")],
)  # fmt: skip
def test_it_says_what_becomes_of_the_gradients(key: str, s: int, said: str) -> None:
    found = range_panel(key, s=s).text
    assert said in found
    assert ("divides" in found) == (s == 2)


def test_the_verdict_at_its_limits() -> None:
    def lost(vanished: float, large: float = 0.0) -> dict[str, Losses]:
        own = Losses((), (), vanished, large, 0.0)
        return dict.fromkeys(GROUPS, own)

    assert "arrive" in verdict(lost(0.0099), FLOAT16, "1")
    assert "vanish" in verdict(lost(0.01), FLOAT16, "1")
    assert "Too large" in verdict(lost(0.5, 1e-9), FLOAT16, "1")
    only_forward = {**lost(0.0), "activations": Losses((), (), 1.0, 1.0, 0.0)}
    assert "arrive" in verdict(only_forward, FLOAT16, "1")


def test_formats_of_the_page_do_not_change_what_is_compared() -> None:
    here = scene("low-precision")
    other = ncd.app.scene.scene.replace(here, formats=Formats("int4", "int4"))
    assert number_ranges.losses_by_format(other) == number_ranges.losses_by_format(here)
    assert vanishing_update.descent(other).weights.equal(descent(here).weights)


def test_a_press_chooses_the_loss_scale() -> None:
    pick = shown(RANGE, scene("low-precision")).pick
    with patch.object(knobs, "set_values") as put:
        for picked in ("s=2", "s=x", "s"):
            pick(picked)
    put.assert_called_once_with({"s": 2})


# --- Bits


def cards(found: Shown) -> list[str]:
    return [text(part) for part in found.html.split("<div>")[1:]]


def test_each_format_has_its_bits() -> None:
    found = shown(BITS, scene("low-precision"), calculation="2048+1")
    assert "2048 + 1 = 2049 " in found.text
    pictures = tags(found.html, "svg")
    for format, picture in zip(FORMATS.values(), pictures, strict=True):
        bits = format.bits(2049.0)
        said = ", ".join(f"{part} {own}" for part, own in zip(PARTS, bits, strict=True))
        assert picture["aria-label"] == said
        assert picture["width"] == str(10 * format.width + 1)
    results = ["2049", "2048", "2048", "2048", "2048", "448"]
    spacing = ["0.000244140625", "2", "16", "2", "512", "32"]
    for card, name, result, step in zip(cards(found), NAMES, results, spacing, strict=True):
        assert card.startswith(f"{name}") and f"{result} spacing {step}" in card
    digits = [text(own) for own in inside(found.html, "svg")]
    assert digits[3] == "".join(FLOAT16.bits(2049.0))


def test_what_is_infinite_has_no_spacing() -> None:
    found = cards(shown(BITS, scene("low-precision"), calculation="65504 * 2"))
    assert "∞" in found[3] and "spacing" not in found[3] and "131072 spacing 1024" in found[2]
    assert "448 spacing 32" in found[5]


def test_it_offers_calculations_and_a_field() -> None:
    found = shown(BITS, scene("low-precision"), calculation="<b>")
    picked = [own["data-pick"] for own in tags(found.html, "button")]
    assert picked[: len(EXAMPLES)] == [f"calculation={example}" for example in EXAMPLES]
    field = tags(found.html, "input")[0]
    assert field["data-set"] == "calculation" and field["value"] == "0.1"  # as that is none
    assert "sign exponent mantissa" in found.text and "0.1 " in found.text
    assert "0.1 =" not in found.text


# --- Update


def test_the_step_is_that_of_torch() -> None:
    here = scene("low-precision", n=1, s=2)
    module, (x, y) = ncd.compile(here.term), ncd.example_inputs(here.term)
    result = F.linear(F.linear(x, module.W_1.weight).relu(), module.W_2.weight)
    weights = [module.W_1.weight, module.W_2.weight]
    gradients = torch.autograd.grad(F.mse_loss(result, y), weights)
    step = descent(here)
    assert torch.equal(step.weights, torch.cat([w.detach().flatten() for w in weights]))
    torch.testing.assert_close(step.change, -torch.cat([g.flatten() for g in gradients]))
    torch.testing.assert_close(descent(scene("low-precision")).change, step.change)


def test_weights_that_stay() -> None:
    step = WeightStep(torch.tensor([1.0, 1.0, 256.0, -4.0]), torch.tensor([1.0, 0.0, 1.0, -0.01]))
    assert step.unchanged_share(1.0, FORMATS["float32"]) == 0.25
    assert step.unchanged_share(1.0, FORMATS["bfloat16"]) == 0.75
    assert step.unchanged_share(0.0, FORMATS["float32"]) == 1
    odd = WeightStep(torch.tensor([0.1]), torch.tensor([0.0]))
    assert odd.unchanged_share(1.0, FORMATS["e4m3"]) == 1  # it was rounded, and did not move


def test_one_weight_is_shown_before_and_after() -> None:
    step = WeightStep(torch.tensor([1.0, 2.0, 4.0, 0.0]), torch.tensor([8.0, 2.0, 0.4, 0.0]))
    assert step.middle() == (4.0, pytest.approx(0.4))
    here = scene("low-precision")
    found, own = shown(UPDATE, here, learning_rate=2), descent(here)
    head, *rows = found.rows
    weight, change = own.middle()
    sign = "+" if change > 0 else "−"
    assert head == [
        "format",
        "unchanged",
        "a weight",
        f"{sign} {markup.digits(abs(1e-3 * change))}",
    ]
    assert [row[0] for row in rows] == [name for name in NAMES if name != "tf32"]
    for row, (key, format) in zip(rows, vanishing_update._weight_formats().items(), strict=True):
        before = format.round_number(weight)
        assert key != "tf32" and row[1] == percent(own.unchanged_share(1e-3, format))
        after = format.round_number(before + 1e-3 * change)
        assert row[2:] == [number_text(before), number_text(after)]
    assert found.sliders == {"learning_rate": (0, 2, len(RATES) - 1)}
    assert "learning rate 0.001" in found.html


def test_the_chart_has_all_weights_and_half_of_each_epsilon() -> None:
    step = WeightStep(torch.tensor([1.0, 1.0, 1.0, 1.0]), torch.tensor([0.25, -0.25, 1e-30, 0.0]))
    with patch.object(vanishing_update, "bin_chart") as chart:
        vanishing_update._chart(step, 1.0)
    (_, counts, ends, marks, _, write), _ = chart.call_args
    assert ends == (-30, 4) and sum(counts) == 3
    assert counts[0] == 1 and counts[28] == 2 and write(-30) == "2⁻³⁰"
    assert marks == {"float32": -24, "float16": -11, "bfloat16": -8, "E4M3": -4, "E5M2": -3}
    assert [*marks.values()] == sorted(marks.values())


# --- Sum


def test_a_sum_stays_where_the_spacing_is_too_large() -> None:
    ones = torch.ones(300)
    ends = {key: running_sum.running_sum(ones, FORMATS[key])[-1] for key in COLOURS}
    assert ends == {"float32": 300, "bfloat16": 256, "float16": 300, "e5m2": 8, "e4m3": 16}
    thirds = running_sum.running_sum(torch.full((3,), 1 / 3), FLOAT16)
    one = torch.tensor(1 / 3).half()
    assert thirds == [float(one), float(one + one), float(one + one + one)]


def test_the_hidden_units_are_added_up() -> None:
    here = scene("low-precision", b=2, d=10)
    term = here.term
    module, (x, _) = ncd.compile(term), ncd.example_inputs(term)
    hidden = F.linear(x, module.W_1.weight).relu().detach().flatten()
    assert torch.equal(addends(here), hidden)
    assert len(addends(scene("low-precision", b=20))) == MOST
    found = shown(SUM, here, format="e5m2")
    _, *rows = found.rows
    exact = float(hidden.double().sum())
    for row, key in zip(rows, COLOURS, strict=True):
        end = running_sum.running_sum(hidden, FORMATS[key])[-1]
        off = f"{end / exact - 1:+.1%}".replace("-", "−")
        assert row == [
            FORMATS[key].name,
            number_text(end),
            "0.0%" if off[1:] == "0.0%" else off,
            number_text(FORMATS[key].spacing(end)),
        ]
    assert "The 20 hidden units of all examples" in found.text
    lines = tags(found.html, "polyline")
    assert [line["stroke-width"] for line in lines] == 4 * ["1.6"] + ["3.2"]
    assert lines[-1]["stroke"] == COLOURS["e5m2"]


def test_units_that_are_all_zero_have_no_error() -> None:
    here = scene("low-precision", b=1, d=1, seed=0)
    with patch.object(running_sum, "addends", lambda scene: torch.zeros(3)):
        assert [row[2] for row in shown(SUM, here).rows[1:]] == 5 * ["–"]


def test_shares_in_percent() -> None:
    shares = (0.0, 1e-9, 0.0099, 0.01, 0.2249, 0.99, 0.9901, 1.0)
    said = ["0%", "under 1%", "under 1%", "1%", "22%", "99%", "over 99%", "100%"]
    assert [*map(percent, shares)] == said


def test_every_panel_keeps_the_chosen_format() -> None:
    assert all(FORMAT in panel.controls for panel in (RANGE, BITS, UPDATE, SUM))
