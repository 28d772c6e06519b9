"""A separable convolution beside ``torch.nn``, and the cost of both ways as published."""

from __future__ import annotations

import re

import pytest
import torch
from torch import nn

import ncd
from ncd.app.panels.images.separable_cost import BOTH_WAYS
from tests.app.panels.views import scene, shown

ENTRY = ncd.catalogue["depthwise-separable"]


@pytest.mark.parametrize("knobs", [{}, {"k": 5, "s": 2, "x": 11, "c": 4, "f": 3}], ids=str)
def test_it_is_two_layers_of_torch(knobs: dict[str, int]) -> None:
    own = ENTRY.settings(knobs)
    k, s, c, f = (own[name] for name in "kscf")
    term = ENTRY.build(**knobs)
    module = ncd.compile(term, seed=3)
    layers = nn.Sequential(
        nn.Conv2d(c, c, k, s, k // 2, groups=c, bias=False), nn.Conv2d(c, f, 1, bias=False)
    )
    with torch.no_grad():
        for theirs, ours in zip(layers.parameters(), module.parameters(), strict=True):
            theirs.copy_(ours)
    (x,) = ncd.example_inputs(term, 1)
    one, two = x.clone().requires_grad_(), x.clone().requires_grad_()
    ours, theirs = module(one), layers(two)
    torch.testing.assert_close(ours, theirs)
    found = torch.autograd.grad(ours.square().sum(), (one, *module.parameters()))
    wanted = torch.autograd.grad(theirs.square().sum(), (two, *layers.parameters()))
    for a, b in zip(found, wanted, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "knobs", [{}, {"k": 7, "s": 3, "c": 5, "f": 2}, {"k": 2}, {"k": 1}], ids=str
)
def test_the_panel_counts_both_ways(knobs: dict[str, int]) -> None:
    own = scene("depthwise-separable", **knobs)
    k, c, f = (own.settings[name] for name in "kcf")
    dense = nn.Conv2d(c, f, k, bias=False).weight.numel()
    rows = shown(BOTH_WAYS, own).rows[1:]
    assert [row[2] for row in rows] == [
        f"{n:,}" for n in (dense, k * k * c, c * f, k * k * c + c * f)
    ]
    places = own.term.cod[0][-1].numel
    assert [row[3] for row in rows] == [
        f"{2 * places * n:,}" for n in (dense, k * k * c, c * f, k * k * c + c * f)
    ]
    share = re.search(r"= ([0-9.e+]+) %", shown(BOTH_WAYS, own).text)
    assert share and float(share[1]) == pytest.approx(100 * (1 / f + 1 / k**2), rel=1e-2)


def test_a_published_layer_saves_what_is_published() -> None:
    """Howard et al. 2017, section 3.1 and table 1: eight to nine times fewer multiply-adds."""
    cost = ncd.cost(ENTRY.build(**ENTRY.preset("mobilenet-middle").knobs))
    assert cost.parameters == 9 * 512 + 512 * 512
    assert 8 < 2 * 14 * 14 * 9 * 512 * 512 / cost.flops < 9
