"""Norms, gradients of examples, classes and masks: what is said, against plain torch."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from ncd.app.panels.images import classification
from ncd.app.panels.images.classification import Masks, _html, _kinds, _summary_html, measure
from ncd.app.panels.learning import per_sample_gradients
from ncd.app.panels.learning.norm_panels import (
    NORM_BY_HAND,
    NORM_STATISTICS,
    STEPS,
    TALL,
    WIDE,
    chart,
    norms,
    statistics,
)
from ncd.app.state import selection
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.training.trained_weights import TrainedWeights
from tests.app.panels.views import bars, check_columns, images, inside, scene, shown, tags, text


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
    assert (found.biased, found.unbiased) == pytest.approx(
        (float(row.var(correction=0)), float(row.var()))
    )
    assert found.apart[0] < 1e-5
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
    own = per_sample_gradients._summed(answers, found, each, each.mean(0))
    assert own.losses == pytest.approx((0.25, 0, 1)) and own.norms == pytest.approx((5, 0, 5))
    assert own.shares == pytest.approx((0.5, 0, 0.5)) and own.norm == pytest.approx(2)
    assert own.apart == 0
    still = per_sample_gradients._summed(answers, found, torch.zeros(3, 2), torch.zeros(2))
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
    assert sum(own.shares) == pytest.approx(1, abs=1e-4) and own.apart < 1e-5
    assert len(own.norms) == min(here.settings["b"], 64)
    losses = [(a - f) ** 2 for a, f in zip(own.answers, own.found, strict=True)]
    assert own.losses == pytest.approx(losses, rel=1e-4)


# --- classes --------------------------------------------------------------------------------------


def test_a_batch_shows_the_likeliest_classes_of_each_picture() -> None:
    shares = torch.tensor([[0.1, 0.6, 0.0005, 0.2995]]).repeat(17, 1)
    pictures = torch.rand(17, 1, 4, 4)
    html = classification._batch(pictures, shares, "From here.")
    assert html.count("<img") == 16 and "The first 16 of 17 pictures." in html
    assert "goes in as 1 × 4 × 4 pixels" in html
    rows = [[text(cell) for cell in inside(row, "td")] for row in inside(html, "tr")]
    assert rows[:3] == [["1", "", "60.0 %"], ["3", "", "29.9 %"], ["0", "", "10.0 %"]]
    assert len(rows) == 48 and html.count("<strong>1</strong>") == 16
    few = classification._batch(pictures[:16], shares[:16], "")
    assert "The first" not in few
    assert text(inside(html, "h2")[0]) == "Class 1, with 60.0 %"
    alone = classification._alone(torch.rand(3, 5, 6), shares[0], "From here.")
    assert len(inside(alone, "tr")) == 4 and "as it goes in: 3 × 5 × 6 pixels" in alone
    assert "&lt; 0.1 %" in alone and bars(alone) == pytest.approx([1 / 6, 1, 0, 0.5], abs=0.01)
    assert classification._percent(0.001) == "0.1 %"


def test_a_picture_keeps_its_colours_or_its_own_ends() -> None:
    colours = torch.rand(3, 4, 5)
    (seen,) = images(classification._picture(colours, 8))
    assert np.allclose(seen, 255 * np.moveaxis(colours.numpy(), 0, -1), atol=1)
    wide = torch.tensor([[-1.0, 3.0], [1.0, 0.0]])
    (seen,) = images(classification._picture(wide, 8))
    assert np.allclose(seen[..., 0], [[0, 255], [127, 63]], atol=1)
    (seen,) = images(classification._picture(wide[None], 8))
    assert np.allclose(seen[..., 0], [[0, 255], [127, 63]], atol=1)


# --- masks ----------------------------------------------------------------------------------------


def test_a_mask_counts_what_is_wrong_where_the_answer_is_known() -> None:
    found = torch.tensor([[[1, 1]], [[0, 1]], [[2, 2]]])
    masks = Masks(torch.zeros(3, 1, 2), found, torch.tensor([[[0, 1]], [[1, 1]]]), 0.5)
    assert masks.own == 1
    assert [masks.said(i) for i in range(3)] == ["what goes in", "0 wrong", "2 wrong"]
    assert masks.wrong(0) is None
    here = scene("unet")
    for at, count in ((0, 2), (1, 3), (2, 3)):
        html = shown_masks(here, masks, at)
        figures = [text(own) for own in inside(html, "figcaption")]
        assert figures == ["The picture", "What the network finds", "What is there"][:count]
        pressed = [own["aria-pressed"] for own in tags(html, "button") if "aria-pressed" in own]
        assert pressed == [str(n == at).lower() for n in range(3)]
    assert "in 2 pictures made up from seed 0: <b>0.50</b>. " in html and "Train them" in html
    trained = replace(here, loaded_weights=TrainedWeights(b"", "trained here"))
    told = _summary_html(trained, masks)
    assert "Weights trained here; it has learned" in text(told) and "Train them" not in told


def shown_masks(here: object, masks: Masks, at: int) -> str:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("streamlit.session_state", {"masked": str(at)})
        return _html(here, masks)  # type: ignore[arg-type]


def test_masks_are_measured_on_pictures_that_nobody_has_seen() -> None:
    here = scene("unet", x=16)
    found = measure(here)
    assert len(found.pictures) == len(found.found) in (1, 8) and found.own == 0
    assert 0 <= found.iou <= 1
    own = replace(here, inputs_spec=InputSpec())
    assert measure(own).own == 0


@pytest.mark.parametrize("classes", [2, 4, 7])
def test_the_legend_names_each_class_but_the_ground(classes: int) -> None:
    html = _kinds(classes)
    assert html.count('class="kind"') == classes - 1
    assert ("kind 6" in html) == (classes == 7)
