"""Distances as published models count them: exact when near, by logarithms far away."""

from __future__ import annotations

import math
import re
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from ncd import Axes, Map, compile
from ncd.systems.language_models import bert, decoder, t5
from ncd.systems.language_models.model_parts import Rotary


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


@pytest.mark.parametrize("magnitude", [1, 2, 0.5])
def test_turned_features_are_multiplied_by_their_magnitude(magnitude: float) -> None:
    turn, x = Rotary("(0.3 + r)", magnitude), torch.randn(5, 4)
    angle = torch.arange(5)[:, None] * torch.tensor([0.3, 1.3])
    cos, sin, (a, b) = angle.cos(), angle.sin(), x.chunk(2, 1)
    wanted = magnitude * torch.cat((a * cos - b * sin, b * cos + a * sin), 1)
    torch.testing.assert_close(compile(Axes(t=5, k=4)(turn.term()))(x), wanted)


def angles(turn: Rotary, pairs: int) -> Tensor:
    """The angles by which pairs of features rotate at position 1."""
    found: Tensor = compile(Axes(t=2, r=pairs)(Map("-> t r", f"t * {turn.turns}", "angle")))()
    return found[1].double()


def plain_angles(base: float, pairs: int) -> Tensor:
    return base ** (-torch.arange(pairs, dtype=torch.float64) / pairs)


@pytest.mark.parametrize("positions", [512, 8192])
def test_llama_3_stretches_long_waves(positions: int) -> None:
    """Restated from Llama 3.1's published code, wave by wave."""
    wanted = []
    for turn in plain_angles(10000, 32).tolist():
        wave = 2 * math.pi / turn
        part = (positions / wave - 1) / (4 - 1)
        between = (1 - part) * turn / 8 + part * turn
        wanted.append(turn if wave < positions / 4 else turn / 8 if wave > positions else between)
    found = angles(Rotary.llama3(10000, 8, 1, 4, positions), 32)
    torch.testing.assert_close(found, torch.tensor(wanted).double(), rtol=1e-4, atol=1e-8)
    plain = angles(Rotary.interpolated(10000, 8), 32)
    torch.testing.assert_close(plain, plain_angles(10000, 32) / 8, rtol=1e-4, atol=1e-8)


@pytest.mark.parametrize(
    ("base", "positions", "fast", "slow", "whole"),
    [(10000, 2048, 32, 1, True), (150000, 4096, 32, 1, False), (100, 64, 8, 2, True)],
)
def test_yarn_stretches_pairs_with_few_turns(
    base: float, positions: int, fast: float, slow: float, whole: bool
) -> None:
    """Restated from the published code of YaRN, with the features of a head in place of pairs."""
    features = 32

    def place(turns: float) -> float:
        return features * math.log(positions / (turns * 2 * math.pi)) / (2 * math.log(base))

    low, high = place(fast), place(slow)
    if whole:
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, features - 1)
    ramp = ((torch.arange(features // 2).double() - low) / (high - low)).clamp(0, 1)
    plain = plain_angles(base, features // 2)
    found = angles(Rotary.yarn(base, 4, positions, fast, slow, whole=whole), features // 2)
    wanted = plain / 4 * ramp + plain * (1 - ramp)
    torch.testing.assert_close(found, wanted, rtol=1e-4, atol=1e-8)
    assert 0 < ramp.sum() < len(ramp)


@pytest.mark.parametrize("order", ["after", "before"])
@pytest.mark.parametrize("heads", [4, 6])
def test_scores_fall_with_the_distance_before_or_after_they_are_scaled(
    order: str, heads: int
) -> None:
    """By the slopes of ALiBi's published code, for any number of heads."""
    whole = 2 ** math.floor(math.log2(heads))
    slopes = [2 ** (-8 * (h + 1) / whole) for h in range(whole)]
    slopes += [2 ** (-4 * (2 * h + 1) / whole) for h in range(heads - whole)]
    t, k = 5, 3
    fall = torch.tensor(slopes) * (torch.arange(t)[:, None] - torch.arange(t))[..., None]
    query, key, value = torch.randn(t, 2, heads // 2, k), torch.randn(t, 2, k), torch.randn(t, 2, k)
    scores = torch.einsum("ygqk,xgk->yxgq", query, key)
    fall = fall.unflatten(-1, (2, heads // 2))
    scores = scores / k**0.5 - fall if order == "after" else (scores - fall) / k**0.5
    wanted = torch.einsum("yxgq,xgk->ygqk", scores.softmax(1), value)
    own = decoder._scores(decoder.Heads(rotary=None, distances=order, causal=False), False)
    term = Axes(y=t, x=t, g=2, q=heads // 2, k=k)(own)
    torch.testing.assert_close(compile(term)(query, key, value), wanted)


def test_where_each_layer_has_a_table_of_distances_they_are_one_table_if_all_are_equal() -> None:
    """UMT5 with the tables of T5, once for each layer, is T5."""
    sizes = {"n": 2, "l": 2, "s": 3, "t": 4, "m": 6, "h": 2, "k": 3, "d": 5, "v": 7}
    one, other = (
        compile(t5.t5(**sizes, style=replace(t5.PLAIN_STYLE, table_per_layer=own)))
        for own in (False, True)
    )
    numbers = dict(one.named_parameters())
    with torch.no_grad():
        for name, weight in other.named_parameters():
            table = name.endswith(".relative_attention_bias")
            weight.copy_(numbers[re.sub(r"\.block\.\d", "", name) if table else name])
    words = torch.tensor([1, 2, 3]), torch.tensor([0, 4, 5, 6])
    torch.testing.assert_close(other(*words), one(*words))
