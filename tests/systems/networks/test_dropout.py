"""Dropout beside torch's: under the same mask, in evaluation, and on average."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional as F

import ncd
from ncd.app.panels.learning.dropout_masks import masked_sum
from ncd.systems.networks.dropout_layer import EVAL, RATES, TRAIN

ENTRY = ncd.catalogue["dropout"]


@pytest.mark.parametrize("mode", [TRAIN, EVAL], ids=["train", "eval"])
@pytest.mark.parametrize("p", range(len(RATES)), ids=RATES)
def test_it_is_torch_s_under_the_same_mask(p: int, mode: int) -> None:
    """Torch draws what is kept, and divides; the other weights get gradients through it alone."""
    term = ENTRY.build(b=5, m=3, d=40, k=2, p=p, mode=mode)
    module, (x,) = ncd.compile(term, seed=1), ncd.example_inputs(term, 2)
    leaves = [x.requires_grad_(), *module.parameters()]
    trace = ncd.trace(module, x)
    hidden = F.linear(x, module.W_1.weight, module.W_1.bias).relu()
    kept = trace.values["v4"].detach() != 0
    rate = float(RATES[p])
    scaled = hidden * kept / (1 - rate) if mode == TRAIN else hidden
    theirs = F.linear(scaled, module.W_2.weight, module.W_2.bias)
    torch.testing.assert_close(trace.outputs[0], theirs)
    last = torch.randn(theirs.shape)
    found, wanted = (
        torch.autograd.grad(made, leaves, last, retain_graph=True)
        for made in (trace.outputs[0], theirs)
    )
    for one, two in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, two)
    alive = hidden.detach() > 0
    share = 1 - float(kept[alive].float().mean())
    assert abs(share - rate) < 0.15 if mode == TRAIN else share == 0


def test_torch_s_own_dropout_is_divided_alike() -> None:
    torch.manual_seed(0)
    ones = torch.ones(50_000)
    for rate in map(float, RATES):
        made = F.dropout(ones, rate)
        assert set(made.unique().tolist()) == {0.0, float(torch.tensor(1 / (1 - rate)))}
        assert float(made.mean()) == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("rate", [*map(float, RATES)])
def test_the_mean_is_that_of_evaluation_and_the_deviation_follows_from_p(rate: float) -> None:
    draw = torch.Generator().manual_seed(3)
    hidden, weight = torch.randn(2, 200, generator=draw)
    found = masked_sum(hidden, weight, 0.5, rate, draw)
    assert found.full_sum == pytest.approx(float(hidden @ weight) + 0.5, rel=1e-4)
    count = len(found.under_masks)
    assert abs(found.mean - found.full_sum) < 4 * found.expected_deviation / count**0.5
    assert found.deviation == pytest.approx(found.expected_deviation, rel=0.1)
    assert found.unscaled_mean(rate) == pytest.approx((found.mean - 0.5) * (1 - rate) + 0.5)


def test_of_many_units_there_are_fewer_masks() -> None:
    many, few = torch.ones(4_000), torch.ones(4)
    draw = torch.Generator().manual_seed(0)
    assert len(masked_sum(many, many, 0, 0.5, draw).under_masks) == 500
    assert len(masked_sum(few, few, 0, 0.5, draw).under_masks) == 1000
