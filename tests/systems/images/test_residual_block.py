"""A residual block against the notebook's own modules (figure 26), with the same weights."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import ncd

ENTRY = ncd.catalogue["residual-block"]


class NormActivate(nn.Sequential):
    def __init__(self, nf: int) -> None:
        super().__init__(nn.BatchNorm2d(nf), nn.ReLU())


class ResidualConnection(nn.Module):
    def __init__(self, mainline: nn.Module, connection: nn.Module) -> None:
        super().__init__()
        self.main = mainline
        self.secondary = connection

    def forward(self, x: Tensor) -> Tensor:
        return self.main(x) + self.secondary(x)


def by_hand(s: int, n0: int, n1: int) -> nn.Sequential:
    """The first of the notebook's Block."""
    nb = n1 // 4
    return nn.Sequential(
        NormActivate(n0),
        ResidualConnection(
            nn.Sequential(
                nn.Conv2d(n0, nb, 1, s),
                NormActivate(nb),
                nn.Conv2d(nb, nb, 3, padding=1),
                NormActivate(nb),
                nn.Conv2d(nb, n1, 1),
            ),
            nn.Conv2d(n0, n1, 1, s),
        ),
    )


NAMES = {
    "norm_0": "0.0",
    "conv_1": "1.main.0",
    "norm_1": "1.main.1.0",
    "conv_2": "1.main.2",
    "norm_2": "1.main.3.0",
    "conv_3": "1.main.4",
    "skip.conv": "1.secondary",
}


def twins(**knobs: int) -> tuple[nn.Module, nn.Module, Tensor]:
    settings = ENTRY.settings(knobs)
    term = ENTRY.build(**settings)
    module = ncd.compile(term, seed=1)
    hand = by_hand(settings["s"], settings["n0"], settings["n1"])
    assert set(dict(module.named_children())) == {name.partition(".")[0] for name in NAMES}
    for ours, theirs in NAMES.items():
        hand.get_submodule(theirs).load_state_dict(module.get_submodule(ours).state_dict())
    (x,) = ncd.example_inputs(term, seed=2)
    return module, hand, x.requires_grad_()


KNOBS = [{}, {"s": 2}, {"s": 3, "x": 7}, {"b": 2, "n0": 1, "n1": 4, "x": 1}, {"n0": 5, "n1": 12}]


@pytest.mark.parametrize("knobs", KNOBS, ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_outputs_and_gradients_are_the_notebooks(knobs: dict[str, int], training: bool) -> None:
    module, hand, x = twins(**knobs)
    module.train(training)
    hand.train(training)
    ours, theirs = module(x), hand(x)
    assert tuple(ours.shape) == module.term.cod[0].shape
    torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-5)
    upstream = torch.randn(ours.shape, generator=torch.Generator().manual_seed(0))
    own = [p for name in NAMES for p in module.get_submodule(name).parameters()]
    other = [p for name in NAMES.values() for p in hand.get_submodule(name).parameters()]
    assert len(own) == len(list(module.parameters()))
    for one, two in zip(
        torch.autograd.grad(ours, [x, *own], upstream),
        torch.autograd.grad(theirs, [x, *other], upstream),
        strict=True,
    ):
        torch.testing.assert_close(one, two, rtol=1e-4, atol=1e-5)


def test_running_statistics_are_kept_as_torch_keeps_them() -> None:
    module, hand, x = twins()
    module(x)
    hand(x)
    torch.testing.assert_close(module.norm_0.running_mean, hand[0][0].running_mean)
    torch.testing.assert_close(module.norm_0.running_var, hand[0][0].running_var)


def test_both_paths_start_at_the_same_activation() -> None:
    """With the residual component switched off, what is left is the skip of the activation."""
    module, _, x = twins()
    with torch.no_grad():
        module.conv_3.weight.zero_()
        module.conv_3.bias.zero_()
    activation = torch.relu(module.norm_0(x))
    torch.testing.assert_close(module(x), module.skip.conv(activation))
