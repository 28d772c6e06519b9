"""The point-wise feed-forward: convolutions of width 1 and linear maps, against torch."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import ncd
from ncd.app.panels.tensors.three_ways import twos
from tests.systems.retyped import given, same

# The first position of the notebook, its sum, and what its convolution gives.
X = [-0.4513, 0.0353, 0.1270, 0.4740, 0.8944, 1.1747]
OUT = [2.2543, 4.5085, 2.2543, 2.2543, 2.2543, 2.2543]


@pytest.mark.parametrize("conv", [0, 1])
@pytest.mark.parametrize(("t", "m", "d"), [(4, 6, 6), (1, 3, 5), (7, 2, 9)])
def test_it_is_two_layers_at_every_position(t: int, m: int, d: int, conv: int) -> None:
    ours = ncd.compile(ncd.catalogue["pointwise-feed-forward"].build(t=t, m=m, d=d, conv=conv))
    layers = (
        (nn.Conv1d(m, d, 1), nn.Conv1d(d, m, 1)) if conv else (nn.Linear(m, d), nn.Linear(d, m))
    )
    weights = list(
        zip(ours.parameters(), [p for layer in layers for p in layer.parameters()], strict=True)
    )
    with torch.no_grad():
        for mine, its in weights:
            its.copy_(mine)

    def theirs(x: Tensor) -> Tensor:
        x = x.swapaxes(-1, -2) if conv else x
        x = layers[1](layers[0](x).relu())
        return x.swapaxes(-1, -2) if conv else x

    same(ours, theirs, given([t, m]), weights)


def test_ones_with_twos_in_the_second_channel() -> None:
    found = twos(torch.tensor([X]))
    torch.testing.assert_close(found, torch.tensor([OUT]), rtol=0, atol=7e-4)
