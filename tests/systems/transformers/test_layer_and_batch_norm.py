"""The norms against torch's modules, outputs and gradients."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor, nn

import ncd
from ncd.app.panels.learning.norm_panels import LARGEST, by_hand, statistics
from tests.systems.retyped import given, same


@pytest.mark.parametrize(("t", "m"), [(4, 6), (1, 5), (7, 2)])
def test_layer_norm_on_both_sides(t: int, m: int) -> None:
    ours = ncd.compile(ncd.catalogue["layer-norm"].build(t=t, m=m))
    layer, hand = nn.LayerNorm(m), nn.LayerNorm(m)
    weights = [
        (ours.get_parameter(name), module.get_parameter(other))
        for name, module, other in (
            ("norm.weight", layer, "weight"),
            ("norm.bias", layer, "bias"),
            ("gamma", hand, "weight"),
            ("beta", hand, "bias"),
        )
    ]
    same(ours, lambda x: (layer(x), hand(x)), given([t, m]), weights)


@pytest.mark.parametrize(("b", "c", "x"), [(8, 3, 4), (2, 1, 1), (3, 5, 2)])
def test_batch_norm_and_layer_norm_of_one_array(b: int, c: int, x: int) -> None:
    ours = ncd.compile(ncd.catalogue["batch-norm"].build(b=b, c=c, x=x))
    batch, layer = nn.BatchNorm2d(c), nn.LayerNorm(c)

    def theirs(images: Tensor) -> tuple[Tensor, ...]:
        return batch(images), layer(images.movedim(1, -1)).movedim(-1, 1)

    weights = list(zip(ours.parameters(), (*batch.parameters(), *layer.parameters()), strict=True))
    same(ours, theirs, given([b, c, x, x]), weights)


def test_by_hand_as_in_the_notebook() -> None:
    """Its line is the biased variance; the unbiased one is smaller by √((m − 1) / m)."""
    (x,) = given([4, 6])
    layer = nn.LayerNorm(6)
    manual = (x - x.mean(-1, keepdim=True)) / torch.sqrt(
        x.var(dim=-1, unbiased=False, keepdim=True) + layer.eps
    )
    torch.testing.assert_close(by_hand(x, unbiased=False), manual)
    torch.testing.assert_close(by_hand(x, unbiased=False), layer(x))
    unbiased = by_hand(x, unbiased=True)
    torch.testing.assert_close(unbiased, manual * math.sqrt(5 / 6), rtol=1e-4, atol=1e-5)


def test_what_a_batch_a_bias_gamma_and_beta_do() -> None:
    x = torch.randn(8, 3, 4, 4, generator=torch.Generator().manual_seed(1))
    found = statistics(x, 0, gamma=2.0, beta=-1.0)
    for normed in ([batch for _, batch, _ in found.channels], [by for *_, by in found.places]):
        assert {(round(mean, 4), round(spread, 3)) for mean, spread in normed} == {(-1.0, 2.0)}
    for left in ([by for *_, by in found.channels], [batch for _, batch, _ in found.places]):
        assert all(abs(mean + 1) > 1e-3 for mean, _ in left)
    assert found.bias < 1e-5
    assert found.train > 1e-3
    assert found.use == 0
    last = torch.tensor(found.running[-1])
    torch.testing.assert_close(last, torch.tensor(found.means), rtol=0, atol=0.1)


def test_a_batch_of_any_size_costs_no_more_than_one_of_the_sliders() -> None:
    images = torch.randn(70, 3, 4, 4, generator=torch.Generator().manual_seed(1))
    many = images.repeat(1000, 1, 1, 1)
    first = statistics(images[: LARGEST[0]], 0, 1.0, 0.0)
    assert statistics(many, 0, 1.0, 0.0) == first
