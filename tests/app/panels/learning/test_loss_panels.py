"""The loss of one example step by step, and the ways to compute it that overflow."""

from __future__ import annotations

import math
import re
from unittest.mock import patch

import pytest
import torch
from torch.nn import functional as F

from ncd.app.panels.learning import cross_entropy
from ncd.app.panels.learning.cross_entropy import LOSS, MAX_ROWS, OVERFLOW, TIMES
from ncd.app.state import knobs
from ncd.site import markup
from ncd.systems.networks.cross_entropy_loss import SMOOTHINGS, TEMPERATURES
from tests.app.panels.views import scene, shown

FORMATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)


@pytest.mark.parametrize(("example", "t", "e"), [(0, 0, 0), (1, 2, 1), (2, 1, 2)])
def test_each_class_has_its_score_share_logarithm_part_and_gradient(
    example: int, t: int, e: int
) -> None:
    here = scene("cross-entropy", t=t, e=e)
    told = shown(LOSS, here, example=example)
    scores, classes = here.inputs
    tau, smoothing = float(TEMPERATURES[t]), float(SMOOTHINGS[e])
    own, right = scores[example].detach().double() / tau, int(classes[example])
    p, q = own.softmax(0), torch.full((len(own),), smoothing / len(own)).double()
    q[right] += 1 - smoothing
    assert len(told.rows) == len(own) + 1
    for i, (name, a, share, _, log, asked, part, less, _) in enumerate(told.rows[1:]):
        assert name == (f"{i} ✓" if i == right else str(i))
        numbers = own[i], p[i], p[i].log(), q[i], p[i] - q[i]
        assert (a, share, log, asked, less) == tuple(markup.digits(float(n)) for n in numbers)
        assert part == (markup.digits(float(-q[i] * p[i].log())) if q[i] else "0")
    loss = F.cross_entropy(own, torch.tensor(right), label_smoothing=smoothing)
    mean = float(here.trace.outputs[0])
    assert f"loss of example {example + 1} is the sum of the column: {loss:.4f}" in told.text
    assert "gives ✓ the same" in told.text and f"The mean of all is {mean:.4f}." in told.text
    gap = re.search(r"By autograd it is at most (\S+) off", told.text)
    assert gap and float(gap[1]) < 1e-9
    sliders = {"example": (0, example), "t": (0, t), "e": (0, e)}
    found = {name: (least, now) for name, (least, now, _) in told.sliders.items()}
    assert found == sliders
    assert (f"over τ = {tau:g}" in told.text) == (tau != 1)
    assert (f"label_smoothing={smoothing:g}" in told.text) == bool(smoothing)


@pytest.mark.parametrize("v", [MAX_ROWS, MAX_ROWS + 1, 40])
def test_of_many_classes_the_likeliest_and_the_right_one_have_rows(v: int) -> None:
    here = scene("cross-entropy", v=v)
    scores, classes = here.inputs
    names = [row[0].removesuffix(" ✓") for row in shown(LOSS, here).rows[1:]]
    if v <= MAX_ROWS:
        assert names == [str(i) for i in range(v)]
        return
    likely = scores[0].argsort(descending=True)[: MAX_ROWS - 1].tolist()
    assert names == [str(i) for i in sorted({*likely, int(classes[0])})]
    assert len(names) in (MAX_ROWS - 1, MAX_ROWS)


def test_a_picked_knob_is_set_to_its_nearest_legal_value() -> None:
    pick = shown(LOSS, scene("cross-entropy")).pick
    with patch.object(knobs, "set_values") as put:
        for picked in ("t=1", "t=99", "q=1", "t=-1", "t=²", "t=123456", "t"):
            pick(picked)
    last = len(TEMPERATURES) - 1
    assert [call.args[0] for call in put.call_args_list] == [{"t": 1}, {"t": last}]


@pytest.mark.parametrize("times", range(len(TIMES)))
def test_each_way_says_in_each_format_what_it_gives(times: int) -> None:
    """At first the most surprising example, as that is where the ways part."""
    here = scene("cross-entropy")
    told = shown(OVERFLOW, here, times=times)
    scores, classes = here.inputs
    at = int(F.cross_entropy(scores.detach(), classes, reduction="none").argmax())
    own, right = scores[at].detach().double() * TIMES[times], int(classes[at])
    head, *rows = told.rows
    assert head == ["", "float64", "float32", "bfloat16", "float16"]
    assert f"The largest score is {float(own.max()):,.1f}." in told.text
    ways = (
        lambda a: -(a.exp()[right] / a.exp().sum()).log(),
        lambda a: -a.softmax(0)[right].log(),
        lambda a: F.cross_entropy(a, torch.tensor(right)),
    )
    for way, row in zip(ways, rows, strict=True):
        for kind, cell in zip(FORMATS, row[1:], strict=True):
            a = own.to(kind).requires_grad_()
            loss = way(a)
            (gradient,) = torch.autograd.grad(loss, a)
            loss = loss.detach()
            sound = bool(gradient.isfinite().all())
            mark = "✓" if sound and math.isfinite(float(loss)) else "✗"
            assert cell[0] == mark and cell.endswith("p − q" if sound else "nan")
            assert ("no number" in cell) == math.isnan(float(loss))
            assert ("inf" in cell) == math.isinf(float(loss))


def test_the_ways_part_where_the_exponential_overflows() -> None:
    """Scores of two classes, 100 apart: the last way is right in every format, the others never."""
    marks = [
        [cell[0] for cell in (way, scores)]
        for way, scores in (
            (cross_entropy._result(name, torch.tensor([0.0, 800.0]).double(), 0),
             cross_entropy._result(name, torch.tensor([0.0, 8.0]).double(), 0))
            for name in cross_entropy.WAYS
        )
    ]  # fmt: skip
    assert marks == [["✗", "✓"], ["✗", "✓"], ["✓", "✓"]]
