"""The scaled loss beside that of torch, with its gradients; what a scale changes, and what not."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from torch.nn import functional as F

import ncd
from ncd.systems.networks.low_precision_step import BATCHES, SCALE_NAMES, SCALES

ENTRY = ncd.catalogue["low-precision"]


@pytest.mark.parametrize(("n", "s"), [*product((0, 3, 4), (0, 2, 5))])
def test_it_is_the_loss_written_in_torch(n: int, s: int) -> None:
    term = ENTRY.build(b=5, m=4, d=6, k=3, n=n, s=s)
    module, (x, y) = ncd.compile(term, seed=1), ncd.example_inputs(term, 2)
    weights = [module.W_1.weight, module.W_2.weight]
    ours = module(x, y)
    hidden = F.linear(x, weights[0]).relu()
    theirs = SCALES[s] * 5 / BATCHES[n] * F.mse_loss(F.linear(hidden, weights[1]), y)
    torch.testing.assert_close(ours, theirs)
    found, wanted = (torch.autograd.grad(made, weights) for made in (ours, theirs))
    for one, two in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-6 * float(two.abs().max()))


def test_the_gradient_of_the_term_is_that_of_torch() -> None:
    term = ENTRY.build(s=2)
    module, inputs = ncd.compile(term, seed=1), ncd.example_inputs(term, 2)
    back = ncd.compile(ncd.gradient(term, "parameters"))
    back.load_state_dict(module.state_dict())
    wanted = torch.autograd.grad(module(*inputs), [*module.parameters()])
    for one, two in zip(back(*inputs, torch.ones(())), wanted, strict=True):
        torch.testing.assert_close(one, two)


def test_as_many_examples_as_the_mean_has_are_the_mean() -> None:
    term = ENTRY.build(b=BATCHES[0], m=2, d=2, k=2, n=0)
    module, (x, y) = ncd.compile(term), ncd.example_inputs(term)
    hidden = F.linear(F.linear(x, module.W_1.weight).relu(), module.W_2.weight)
    torch.testing.assert_close(module(x, y), F.mse_loss(hidden, y))
    with pytest.raises(ncd.NCDError, match="b is 65, but it goes from 1 to 64"):
        ENTRY.build(b=65)


def test_the_preset_is_torch_s_first_scale() -> None:
    assert SCALES[ENTRY.preset("grad-scaler").knobs["s"]] == torch.amp.GradScaler("cpu").get_scale()


def test_the_names_of_the_scales_are_their_numbers() -> None:
    powers = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
    for name, scale in zip(SCALE_NAMES, SCALES, strict=True):
        base, above = name[:1], name[1:].translate(powers)
        said = int(base) ** int(above) if name != (base + above) else int(name.replace(",", ""))
        assert said == scale
