"""Distances as published models count them: exact when near, by logarithms far away."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from ncd import Axes, Map, compile
from ncd.systems.language_models import bert, t5


def log_buckets(distance: Tensor, buckets: int, far: int) -> Tensor:
    """``make_log_bucket_position`` of the authors of DeBERTa."""
    middle = buckets // 2
    near = (distance < middle) & (distance > -middle)
    away = torch.where(near, torch.tensor(middle - 1), distance.abs()).double()
    grown = torch.ceil(torch.log(away / middle) / math.log((far - 1) / middle) * (middle - 1))
    return torch.where(away <= middle, distance, (grown + middle) * distance.sign()).long()


@pytest.mark.parametrize(("buckets", "far"), [(256, 512), (32, 128), (4, 16)])
def test_distances_of_deberta_are_those_of_its_authors(buckets: int, far: int) -> None:
    t = 2 * far + 3
    numbers = Map("-> t x#z", bert._place(bert.Distances(buckets, far)), "distance")
    found = compile(Axes(t=t, x=t, z=2 * buckets)(numbers))()
    at = torch.arange(t)
    distance = log_buckets(at[:, None] - at, buckets, far)
    assert found.equal((distance + buckets).clamp(0, 2 * buckets - 1))


def relative_buckets(distance: Tensor, causal: bool, count: int, far: int) -> Tensor:
    """``_relative_position_bucket`` of T5: of the key's place less that of the query."""
    buckets = torch.zeros_like(distance)
    if causal:
        away = -torch.minimum(distance, torch.zeros_like(distance))
    else:
        count //= 2
        buckets = (distance > 0).long() * count
        away = distance.abs()
    near = count // 2
    grown = torch.log(away.clamp(1).double() / near) / math.log(far / near) * (count - near)
    later = (near + grown.long()).clamp(max=count - 1)
    return buckets + torch.where(away < near, away, later)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("buckets", "far"), [(32, 128), (8, 20)])
def test_distances_of_t5_are_those_of_its_authors(buckets: int, far: int, causal: bool) -> None:
    t = 2 * far + 3
    style = replace(t5.PLAIN_STYLE, buckets=buckets, far=far)
    module = compile(Axes(x=t, y=t, z=buckets, h=1)(t5._bias("x", "y", style, causal)))
    (table,) = module.parameters()
    with torch.no_grad():
        table.copy_(torch.arange(float(buckets))[:, None])  # each row of the table is its number
        found = module()[..., 0].long()
    at = torch.arange(t)
    assert found.equal(relative_buckets(at - at[:, None], causal, buckets, far))
