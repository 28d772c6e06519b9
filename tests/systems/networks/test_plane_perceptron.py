"""The perceptron of the plane, against its formula in plain torch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import ncd
from ncd.systems.networks.perceptrons import ACTIVATIONS, scores

BENDS = {"none": lambda z: z, "tanh": torch.tanh, "relu": torch.relu, "sigmoid": torch.sigmoid}


def formula(module: torch.nn.Module, x: Tensor, bend: str) -> Tensor:
    """W₂ g(W₁ x + b₁) + b₂."""
    w1, b1, w2, b2 = module.parameters()
    return BENDS[bend](x @ w1.T + b1) @ w2.T + b2


@pytest.mark.parametrize("g", range(len(ACTIVATIONS)))
@pytest.mark.parametrize("n", [2, 3, 4])
def test_it_is_the_formula_of_the_notes(g: int, n: int) -> None:
    x = torch.randn(5, 2)
    module = ncd.compile(ncd.catalogue["mlp-geometry"].build(p1=3, g=g, n=n))
    found = formula(module, x, ACTIVATIONS[g])
    right = found.sign() if n == 2 else found.softmax(-1)
    assert found.shape == (5, 1 if n == 2 else n)
    torch.testing.assert_close(module(x), right, atol=1e-6, rtol=0)


@pytest.mark.parametrize("g", range(len(ACTIVATIONS)))
def test_what_is_trained_is_the_same_without_its_last_step(g: int) -> None:
    whole = ncd.compile(ncd.catalogue["mlp-geometry"].build(g=g), seed=3)
    before = ncd.compile(scores(g=g), seed=3)
    x = torch.randn(5, 2)
    assert torch.equal(whole(x), before(x).sign())
    twin = formula(whole, x, ACTIVATIONS[g])
    gradients = (
        torch.autograd.grad(found.square().sum(), list(module.parameters()))
        for found, module in ((before(x), before), (twin, whole))
    )
    for mine, its in zip(*gradients, strict=True):
        torch.testing.assert_close(mine, its, atol=1e-5, rtol=1e-5)
