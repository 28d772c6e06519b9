"""The plain recurrent network beside ``torch.nn.RNN``, and its steps one by one."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import ncd
from ncd.systems.recurrent.plain_recurrence import GAINS, rnn, unrolled_rnn

SIZES = {"t": 7, "m": 5, "h": 6}


@pytest.mark.parametrize("gain", range(len(GAINS)))
def test_states_and_gradients_are_those_of_torch(gain: int) -> None:
    module, layer = ncd.compile(rnn(**SIZES, gain=gain), 4), nn.RNN(5, 6)
    own = dict(module.named_parameters())
    with torch.no_grad():
        for name, there in layer.named_parameters():
            kind, which, _ = name.split("_")
            there.copy_(own[f"rnn.{which}.{kind}"])
    x = torch.randn(7, 5, generator=torch.Generator().manual_seed(gain)).requires_grad_()
    states, (expected, _) = module(x), layer(x)
    torch.testing.assert_close(states, expected)
    pull = torch.randn(7, 6, generator=torch.Generator().manual_seed(1))
    ours, theirs = (
        torch.autograd.grad((made * pull).sum(), (x, *weights))
        for made, weights in (
            (states, [own[name] for name in sorted(own)]),
            (expected, [own_of(layer, name) for name in sorted(own)]),
        )
    )
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-5)


def own_of(layer: nn.RNN, name: str) -> nn.Parameter:
    """The weight of torch's layer that has a name in the circuit."""
    _, which, kind = name.split(".")
    found: nn.Parameter = getattr(layer, f"{kind}_{which}_l0")
    return found


def test_the_steps_one_by_one_are_the_loop() -> None:
    """Each step of the drawing runs with the weights of the loop."""
    loop, steps = ncd.compile(rnn(**SIZES), 2), ncd.compile(unrolled_rnn(7, 5, 6))
    own = dict(loop.named_parameters())
    with torch.no_grad():
        for name, there in steps.named_parameters():
            which = "hh" if "hh" in name else "ih"
            there.copy_(own[f"rnn.{which}.{name.rpartition('.')[2]}"])
    assert len(dict(steps.named_parameters())) == 7 * len(own)
    x = torch.randn(7, 5)
    torch.testing.assert_close(steps(*x), loop(x)[-1])


def test_a_gain_is_how_much_longer_a_state_becomes() -> None:
    for gain, said in enumerate(GAINS):
        weight = ncd.compile(rnn(h=256, gain=gain), 0).get_parameter("rnn.hh.weight").detach()
        states = torch.randn(256, 500, generator=torch.Generator().manual_seed(3))
        grown = (weight @ states).norm() / states.norm()
        assert float(grown) == pytest.approx(float(said), rel=0.02)


def test_its_steps_are_boxes() -> None:
    assert [fence.title for fence in ncd.elaborate(unrolled_rnn(3, 16, 32)).fences] == ["Step"] * 3
