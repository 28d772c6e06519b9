"""Cross-entropy at all settings beside torch, in values and gradients, and where it overflows."""

from __future__ import annotations

from math import inf, isnan

import pytest
import torch
from torch.nn import functional as F

import ncd
from ncd.app.panels.learning.cross_entropy import WAYS, example_loss, loss_and_gradient
from ncd.systems.networks.cross_entropy_loss import SMOOTHINGS, TEMPERATURES

ENTRY = ncd.catalogue["cross-entropy"]


@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("t", range(len(TEMPERATURES)))
@pytest.mark.parametrize("e", range(len(SMOOTHINGS)))
def test_it_is_the_loss_of_torch(t: int, e: int, form: int) -> None:
    """Its written gradient, autograd's through it, and torch's own are p − q alike."""
    term = ENTRY.build(b=3, v=5, t=t, e=e, form=form)
    scores, right = ncd.example_inputs(term, 1)
    temperature, smoothing = float(TEMPERATURES[t]), float(SMOOTHINGS[e])
    one, two = scores.clone().requires_grad_(), scores.clone().requires_grad_()
    ours = ncd.compile(term)(one, right)
    theirs = F.cross_entropy(two / temperature, right, label_smoothing=smoothing)
    torch.testing.assert_close(ours, theirs)
    (found,), (wanted,) = torch.autograd.grad(ours, one), torch.autograd.grad(theirs, two)
    torch.testing.assert_close(found, wanted)
    for i, row in enumerate(scores):
        each = example_loss(row, int(right[i]), temperature, smoothing)
        assert each.loss == pytest.approx(each.torch_loss)
        torch.testing.assert_close((each.p - each.q).float() / temperature / 3, wanted[i])


@pytest.mark.parametrize(
    ("kind", "large"), [(torch.float32, 200), (torch.bfloat16, 200), (torch.float16, 40)]
)
def test_only_as_one_op_does_it_never_overflow(kind: torch.dtype, large: float) -> None:
    scores = torch.tensor([large, 0.0, -1.0]).to(kind)
    (first, a), (second, b), (third, c) = (loss_and_gradient(way, scores, 1) for way in WAYS)
    assert first == second == inf and a.isnan().any() and b.isnan().any()
    assert third == large and c.tolist() == [1, -1, 0]
    likely = [loss_and_gradient(way, scores, 0)[0] for way in WAYS]
    assert isnan(likely[0]) and likely[1:] == [0, 0]


def test_the_form_at_once_survives_scores_that_the_other_does_not() -> None:
    scores, right = torch.tensor([[200.0, 0.0]]), torch.tensor([1])
    apart, once = (ncd.compile(ENTRY.build(b=1, v=2, form=n))(scores, right) for n in (0, 1))
    assert apart == inf and once == 200
