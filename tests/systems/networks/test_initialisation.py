"""Stacks of layers beside those of torch: the first weights, outputs and gradients."""

from __future__ import annotations

from itertools import product

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import ncd
from ncd.systems.networks.weight_initialisation import ACTIVATIONS, INITS

ENTRY = ncd.catalogue["initialisation"]
BENDS = (lambda x: x, F.relu, F.tanh, F.gelu)


@pytest.mark.parametrize(("residual", "norm"), [*product((0, 1), (0, 1))])
@pytest.mark.parametrize("g", range(len(ACTIVATIONS)), ids=ACTIVATIONS)
def test_it_is_the_stack_written_in_torch(g: int, residual: int, norm: int) -> None:
    term = ENTRY.build(n=3, m=6, b=4, init=3, g=g, residual=residual, norm=norm)
    module, x = ncd.compile(term, seed=1), ncd.example_inputs(term, 2)[0].requires_grad_()
    weights = [layer.W.weight for layer in module.layers]

    def stack() -> Tensor:
        found = x
        for weight in weights:
            own = BENDS[g](F.linear(F.layer_norm(found, (6,)) if norm else found, weight))
            found = found + own if residual else own
        return found

    ours, theirs = module(x), stack()
    torch.testing.assert_close(ours, theirs)
    last, leaves = torch.randn(ours.shape), (x, *weights)
    found, wanted = (torch.autograd.grad(made, leaves, last) for made in (ours, theirs))
    for one, two in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, two)


STARTS = {
    "0.02": lambda w: nn.init.normal_(w, std=0.02),
    "torch": lambda w: w.copy_(nn.Linear(w.shape[1], w.shape[0]).weight),
    "Xavier": nn.init.xavier_uniform_,
    "Kaiming": lambda w: nn.init.kaiming_normal_(w, nonlinearity="relu"),
    "1": lambda w: nn.init.normal_(w, std=1),
}


@pytest.mark.parametrize("init", range(len(INITS)), ids=INITS)
def test_the_first_weights_are_distributed_as_those_of_torch(init: int) -> None:
    """As many quantiles of 40,000 weights: those far out are where a normal differs most."""
    torch.manual_seed(0)
    ours = ncd.compile(ENTRY.build(n=1, m=200, init=init), seed=3).layers[0].W.weight.detach()
    with torch.no_grad():
        theirs = STARTS[INITS[init]](torch.empty(200, 200))
    parts = torch.tensor([0.001, 0.05, 0.25, 0.5, 0.75, 0.95, 0.999])
    gap = ours.flatten().quantile(parts) - theirs.flatten().quantile(parts)
    assert float(gap.abs().max() / theirs.std()) < 0.1


def test_each_layer_has_weights_of_its_own() -> None:
    module = ncd.compile(ENTRY.build(n=4, m=8))
    firsts = {float(layer.W.weight.detach()[0, 0]) for layer in module.layers}
    assert len(firsts) == 4
