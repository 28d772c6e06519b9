"""Pooling at all its settings beside ``torch.nn``: outputs and gradients."""

from __future__ import annotations

import pytest
import torch
from torch import nn

import ncd
from ncd.systems.catalogue_entry import Preset
from ncd.systems.images.convolution_layers import MAX, MEAN

ENTRY = ncd.catalogue["pooling"]
LAYERS = {
    MAX: (nn.MaxPool1d, nn.MaxPool2d, nn.MaxPool3d),
    MEAN: (nn.AvgPool1d, nn.AvgPool2d, nn.AvgPool3d),
}


@pytest.mark.parametrize("kind", [MAX, MEAN])
@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(("k", "s", "p"), [(2, 2, 0), (3, 2, 1), (4, 1, 1), (1, 3, 0)])
def test_it_is_the_layer_of_torch(kind: int, n: int, k: int, s: int, p: int) -> None:
    term = ENTRY.build(k=k, s=s, p=p, n=n, kind=kind, x=9, c=2)
    module, layer = ncd.compile(term), LAYERS[kind][n - 1](k, s, p)
    (x,) = ncd.example_inputs(term, 1)
    one, two = x.clone().requires_grad_(), x.clone().requires_grad_()
    ours, theirs = module(one), layer(two[None])[0]
    torch.testing.assert_close(ours, theirs)
    weigh = torch.randn_like(ours)
    (found,) = torch.autograd.grad((ours * weigh).sum(), one)
    (wanted,) = torch.autograd.grad((theirs * weigh).sum(), two)
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize(("preset", "side"), [*zip(ENTRY.presets, (14, 27, 56), strict=True)])
def test_a_published_pooling_has_its_published_places(preset: Preset, side: int) -> None:
    term = ENTRY.build(**preset.knobs)
    assert term.cod[0][-1].shape == (side, side) and ncd.cost(term).parameters == 0
