"""Positions: the formulas retyped, and what attention can tell apart."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

import ncd
from ncd.systems.transformers.position_encoding import KINDS, rope, sinusoids

ENTRY = ncd.catalogue["positional-embedding"]


def test_the_sinusoids_are_those_of_the_paper() -> None:
    t, m = 9, 10
    table = ncd.compile(ncd.Axes(t=ncd.seq(t), m=m)(sinusoids()))()
    for pos in range(t):
        for i in range(m // 2):
            angle = pos / 10000 ** (2 * i / m)
            assert table[pos, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-5)
            assert table[pos, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-5)


@pytest.mark.parametrize("kind", range(len(KINDS)))
def test_only_without_positions_is_a_permuted_sequence_the_same(kind: int) -> None:
    module = ncd.compile(ENTRY.build(kind=kind, t=7), seed=2)
    (x,) = ncd.example_inputs(module.term, seed=3)
    order = torch.tensor([3, 0, 6, 1, 5, 2, 4])
    apart = (module(x[order]) - module(x)[order]).abs().max().item()
    assert apart < 1e-6 if kind == 0 else apart > 1e-3


def test_pairs_of_features_turn_by_the_angles_of_the_paper() -> None:
    t, k = 7, 6
    x = torch.randn(t, 1, k, generator=torch.Generator().manual_seed(0))
    turned = ncd.compile(ncd.Axes(t=ncd.seq(t), h=1, k=k)(ncd.Id("t h k") >> rope()))(x)
    angles = torch.arange(t)[:, None] * 10000.0 ** (-torch.arange(k // 2) / (k // 2))
    one, two = x[:, 0].chunk(2, -1)
    cos, sin = angles.cos(), angles.sin()
    expected = torch.cat((one * cos - two * sin, one * sin + two * cos), -1)
    torch.testing.assert_close(turned[:, 0], expected, rtol=1e-5, atol=1e-5)


def test_a_turned_inner_product_depends_on_the_distance_alone() -> None:
    turn = ncd.compile(ncd.Axes(t=ncd.seq(8), h=1, k=6)(ncd.Id("t h k") >> rope()))
    q, k = torch.randn(2, 6, generator=torch.Generator().manual_seed(0))

    def turned(x: Tensor) -> Tensor:
        return turn(x.expand(8, 1, 6))[:, 0]

    scores = turned(q) @ turned(k).T
    for distance in range(-5, 6):
        line = scores.diagonal(distance)
        torch.testing.assert_close(line, line[:1].expand_as(line), rtol=1e-4, atol=1e-5)
    assert scores[0].std() > 1e-2
