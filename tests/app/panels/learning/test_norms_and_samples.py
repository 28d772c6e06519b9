"""Norms, gradients of examples, classes and masks: what is said, against plain torch."""

from __future__ import annotations

import re
from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
import torch

from ncd.app.panels.learning import per_sample_gradients
from ncd.app.panels.learning.norm_panels import (
    COLOURS,
    NORM_BY_HAND,
    NORM_STATISTICS,
    STEPS,
    TALL,
    WIDE,
    NormStatistics,
    _cut,
    _number,
    chart,
    norms,
    statistics,
)
from ncd.app.scene.scene import Scene
from ncd.app.state import selection
from ncd.run.seeding import generator
from ncd.systems.training.trained_weights import TrainedWeights
from tests.app.panels.views import bars, check_columns, inside, scene, shown, tags, text


def three(x: float) -> str:
    return f"{x:.3f}".replace("-", "−")


# --- layer norm by hand ---------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "at"), [(4, 2), (12, 0), (13, 1)])
def test_a_norm_by_hand_is_torchs_with_the_biased_variance(m: int, at: int) -> None:
    here = scene("layer-norm", m=m, t=3)
    told, x = shown(NORM_BY_HAND, here, position=at), here.inputs[0]
    row, n = x[at], min(m, 12)
    theirs = torch.nn.functional.layer_norm(x, (m,))
    unbiased = (x - x.mean(-1, True)) / (x.var(-1, keepdim=True) + 1e-5).sqrt()
    names = ("x", "nn.LayerNorm", "by hand, biased", "by hand, unbiased")
    rows = told.rows[1:]
    for cells, name, wanted in zip(rows, names, (x, theirs, theirs, unbiased), strict=True):
        assert cells[0] == name
        numbers = [float(cell.replace("−", "-")) for cell in cells[1 : 1 + n]]
        assert numbers == pytest.approx(wanted[at, :n].tolist(), abs=1e-3)
    assert [cells[-1] for cells in rows[:2]] == ["", ""]
    assert float(rows[3][-1]) == pytest.approx(float((unbiased - theirs).abs().max()), rel=0.01)
    found = norms(here, at)
    assert (found.biased_variance, found.unbiased_variance) == pytest.approx(
        (float(row.var(correction=0)), float(row.var()))
    )
    assert found.differences[0] < 1e-5
    assert f"over m = {m} (biased)" in told.text and f"over m − 1 = {m - 1} (unbiased)" in told.text
    assert (f"The first {n} of {m} features." in told.text) == (m > 12)
    assert told.sliders == {"position": (0, at, 2)} and f"position t = {at}" in told.html


def test_one_feature_has_no_unbiased_variance() -> None:
    told = shown(NORM_BY_HAND, scene("layer-norm", m=1, t=2))
    assert "not defined over m − 1 = 0" in told.text
    assert told.rows[-1][1:] == ["–", "not defined"]


# --- batch norm and layer norm --------------------------------------------------------------------


def test_a_batch_norm_evens_channels_and_a_layer_norm_places() -> None:
    x = torch.randn(5, 3, 4, 4, generator=torch.Generator().manual_seed(1))
    found = statistics(x, 0, 1.5, -0.5)
    before, batch, layer = zip(*found.channels, strict=True)
    for (mean, spread), (own, width) in zip(before, batch, strict=True):
        assert own == pytest.approx(-0.5, abs=1e-4) and width == pytest.approx(1.5, abs=1e-2)
        assert abs(mean) > 1e-3 and spread == pytest.approx(1, abs=0.3)
    assert any(abs(mean + 0.5) > 0.05 for mean, _ in layer)
    places = list(zip(*found.places, strict=True))
    assert len(places[0]) == 5 and len(before) == 3
    for mean, spread in places[2]:
        assert mean == pytest.approx(-0.5, abs=1e-4) and spread == pytest.approx(1.5, abs=1e-2)
    assert any(abs(mean + 0.5) > 0.05 for mean, _ in places[1])
    assert found.use == 0 and found.train > 0.01 and found.bias < 1e-4
    assert len(found.running) == STEPS
    for c, goal in enumerate(found.means):
        assert before[c][0] == pytest.approx(goal, abs=0.6)
        assert found.running[0][c] == pytest.approx(0.1 * goal, abs=0.1)
        assert found.running[-1][c] == pytest.approx(goal * (1 - 0.9**STEPS), abs=0.3)


def test_the_rest_of_a_batch_matters_in_training_alone() -> None:
    """All numbers beside plain torch: the images are moved by 2 normal numbers a channel."""
    x, draw = torch.randn(3, 9, 2, 2), generator(5, "batches")
    offsets = 2 * torch.randn(9, generator=generator(5, "offsets"))
    found = statistics(x, 5, 1.5, 0.5)
    torch.randn(9, generator=draw)  # the bias
    batches = [torch.randn(x.shape, generator=draw) + offsets[:, None, None] for _ in range(STEPS)]
    moved = x + offsets[:, None, None]
    other = torch.cat((moved[:1], batches[-1][1:]))
    one, two = (1.5 * torch.nn.functional.batch_norm(a, None, None, training=True)[0]
                for a in (moved, other))  # fmt: skip
    assert found.train == pytest.approx(float((one - two).abs().max()), rel=1e-3)
    assert found.means == pytest.approx(offsets[:8].tolist())
    assert found.running[0] == pytest.approx(
        (batches[0].mean((0, 2, 3)) / 10)[:8].tolist(), abs=1e-5
    )
    rows = ((found.channels, moved.transpose(0, 1).flatten(1)), (found.places, moved[..., 0, 0]))
    for own, numbers in rows:
        every = zip(numbers.mean(1).tolist(), numbers.std(1, correction=0).tolist(), strict=True)
        wanted = [n for pair in every for n in pair][: 2 * 8]
        assert [n for moments in own for n in moments[0]] == pytest.approx(wanted, abs=1e-4)


def test_small_numbers_are_rounded_and_many_images_are_cut() -> None:
    assert [text(_number(n)) for n in (5e-4, -4e-4, -1.5)] == ["0.001", "0.000", "−1.500"]
    for shape, said in (
        ((64, 32, 32, 32), ""),
        ((65, 1, 1, 1), "Of the images at most 64 × 32 × 32 × 32 numbers are taken. "),
    ):
        assert _cut(cast(Scene, SimpleNamespace(inputs=[torch.zeros(shape)]))) == said


def test_names_of_running_means_stay_inside_and_apart() -> None:
    means = (1.0, -1.0, -1.01, -1.02, 5.0)
    found = NormStatistics((), (), (means,) * STEPS, means, 0, 0, 0)
    assert [own["stroke"] for own in tags(chart(found), "polyline")] == [*COLOURS]
    heights = [float(own["y"]) for own in tags(chart(found), "text")]
    assert max(heights) <= TALL and heights == sorted(heights)
    assert min(np.diff(heights)) > 8


def test_running_means_are_drawn_towards_their_goals() -> None:
    found = statistics(torch.randn(4, 2, 3, 3), 3, 1.0, 0.0)
    svg = chart(found)
    zero, *goals = (float(re.findall("M0 ([\\d.]+)H", own["d"])[0]) for own in tags(svg, "path"))
    values = [*found.means, *(n for step in found.running for n in step), 0.0]
    low, high = min(values), max(values)
    unit = (TALL - 16) / (high - low)
    assert goals == pytest.approx([zero - unit * mean for mean in found.means], abs=0.2)
    ends = [8, TALL - 8]
    heights = []
    for c, line in enumerate(tags(svg, "polyline")):
        places = [tuple(map(float, own.split(","))) for own in line["points"].split()]
        assert len(places) == STEPS + 1 and places[0] == (0, zero) and places[-1][0] == WIDE
        gaps = np.diff([x for x, _ in places])
        assert gaps == pytest.approx([WIDE / STEPS] * STEPS, abs=0.11)
        wanted = [zero - unit * step[c] for step in found.running]
        assert [y for _, y in places[1:]] == pytest.approx(wanted, abs=0.2)
        heights += [y for _, y in places]
    heights += [*goals, zero]
    assert [min(heights), max(heights)] == pytest.approx(ends, abs=0.1)
    assert [float(own["y"]) - 4 for own in tags(svg, "text")] == pytest.approx(goals, abs=0.11)


def test_the_panel_of_norms_says_its_numbers() -> None:
    here = scene("batch-norm", b=3, c=2)
    told = shown(NORM_STATISTICS, here)
    found = statistics(here.inputs[0], 0, 1.0, 0.0)
    wanted = [
        [f"{name} = {i}", *(three(0.0 if abs(n) < 5e-4 else n) for pair in own for n in pair)]
        for name, every in (("c", found.channels), ("b", found.places))
        for i, own in enumerate(every)
    ]
    assert [row for row in told.rows if "=" in row[0]] == wanted
    assert len([row for row in told.rows if "=" in row[0]]) == 2 + 3
    lit = shown(NORM_STATISTICS, here, **{selection.AXES: "c"}).html
    pressed = [own for own in tags(lit, "button") if own.get("aria-pressed") == "true"]
    assert all(own["data-pick"] == f"{selection.AXES}=c" for own in pressed)


# --- the gradient of each example -----------------------------------------------------------------


def test_gradients_of_examples_have_their_mean_in_the_batch() -> None:
    answers, found = torch.tensor([1.0, 0.0, 2.0]), torch.tensor([0.5, 0.0, 3.0])
    each = torch.tensor([[3.0, 4.0], [0.0, 0.0], [3.0, -4.0]])
    own = per_sample_gradients._gradient_summary(answers, found, each, each.mean(0))
    assert own.losses == pytest.approx((0.25, 0, 1)) and own.norms == pytest.approx((5, 0, 5))
    assert own.shares == pytest.approx((0.5, 0, 0.5)) and own.norm == pytest.approx(2)
    assert own.gradient_difference == 0
    still = per_sample_gradients._gradient_summary(
        answers, found, torch.zeros(3, 2), torch.zeros(2)
    )
    assert still.shares == (0, 0, 0)
    html = per_sample_gradients._table(own)
    check_columns(html)
    rows = [[text(cell) for cell in inside(row, "td")] for row in inside(html, "tr")][1:]
    assert [row[:4] for row in rows] == [
        ["0", "1.000", "0.500", "0.250"],
        ["1", "0.000", "0.000", "0.000"],
        ["2", "2.000", "3.000", "1.000"],
    ]
    assert [row[5] for row in rows] == ["50.0%", "0.0%", "50.0%"]
    assert bars(html) == [1, 1]
    here = scene("module-or-function", b=3)
    told = text(per_sample_gradients._summary_html(here, own))
    assert "The norms sum to 10, but the gradients sum to one of norm 6: 60% is left" in told
    assert "drawn from seed 0, untrained" in told and "The first" not in told
    learned = replace(
        here, loaded_weights=TrainedWeights(b"", "trained here"), settings={**here.settings, "b": 4}
    )
    assert "Weights trained here, on" in text(per_sample_gradients._summary_html(learned, own))
    assert "The first 3 of them." in text(per_sample_gradients._summary_html(learned, own))


def test_the_share_of_examples_is_that_of_autograd() -> None:
    here = scene("module-or-function")
    own = per_sample_gradients.samples(here)
    assert sum(own.shares) == pytest.approx(1, abs=1e-4) and own.gradient_difference < 1e-5
    assert len(own.norms) == min(here.settings["b"], 64)
    losses = [(a - f) ** 2 for a, f in zip(own.answers, own.predictions, strict=True)]
    assert own.losses == pytest.approx(losses, rel=1e-4)
