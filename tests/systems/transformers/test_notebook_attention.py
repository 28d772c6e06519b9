"""Figures 20 and 21: the notebook's attention, retyped."""

from __future__ import annotations

import math

import einops
import pytest
import torch
from torch import Tensor, nn

import ncd
from tests.systems.retyped import given, in_order, layers, same

SIZES = ({}, {"y": 3, "x": 7, "k": 5, "h": 3, "m": 9}, {"y": 1, "x": 1, "k": 1, "h": 1, "m": 3})
EVERY = pytest.mark.parametrize("sizes", SIZES, ids=str)


def step_by_step(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """yk, xk, xk -> yk"""
    klength = k.size()[-1]
    k = einops.einsum(k, "... x k -> ... k x")
    x = einops.einsum(q, k, "... y k, ... k x -> ... y x")
    x = x / math.sqrt(klength)
    x = torch.nn.Softmax(-1)(x)
    return einops.einsum(x, v, "... y x, ... x k -> ... y k")


def at_once(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """yk, xk, xk -> yk"""
    klength = k.size()[-1]
    x = einops.einsum(q, k, "... y k, ... x k -> ... y x")
    x = torch.nn.Softmax(-1)(x / math.sqrt(klength))
    return einops.einsum(x, v, "... y x, ... x k -> ... y k")


@pytest.mark.parametrize("hand", [step_by_step, at_once])
@EVERY
def test_scaled_dot_product_attention(sizes: dict[str, int], hand: object) -> None:
    entry = ncd.catalogue["scaled-dot-product-attention"]
    n = entry.settings({name: size for name, size in sizes.items() if name not in "hm"})
    shapes = ([n["y"], n["k"]], [n["x"], n["k"]], [n["x"], n["k"]])
    same(ncd.compile(entry.build(**n)), hand, given(*shapes))


def multi_head(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """ykh, xkh, xkh -> ykh"""
    klength = k.size()[-2]
    x = einops.einsum(q, k, "... y k h, ... x k h -> ... y x h")
    x = torch.nn.Softmax(-2)(x / math.sqrt(klength))
    return einops.einsum(x, v, "... y x h, ... x k h -> ... y k h")


class MultiHeadAttention(nn.Module):
    def __init__(self, m: int, k: int, h: int) -> None:
        super().__init__()
        self.m, self.k, self.h = m, k, h
        self.Lq = nn.Linear(m, k * h, False)
        self.Lk = nn.Linear(m, k * h, False)
        self.Lv = nn.Linear(m, k * h, False)
        self.Lo = nn.Linear(k * h, m, False)

    def forward(self, Eym: Tensor, Xxm: Tensor) -> Tensor:
        """y m, x m -> y m"""

        def unbind(x: Tensor) -> Tensor:
            return einops.rearrange(x, "... (k h)->... k h", h=self.h)

        q, k, v = unbind(self.Lq(Eym)), unbind(self.Lk(Xxm)), unbind(self.Lv(Xxm))
        o = multi_head(q, k, v)
        return self.Lo(einops.rearrange(o, "... k h-> ... (k h)", h=self.h))


@pytest.mark.parametrize("batch", [(), (3,)])
@EVERY
def test_multi_head_attention(sizes: dict[str, int], batch: tuple[int, ...]) -> None:
    entry = ncd.catalogue["multi-head-attention"]
    n = entry.settings(sizes)
    module, hand = ncd.compile(entry.build(**n), seed=1), MultiHeadAttention(n["m"], n["k"], n["h"])
    pairs = in_order([module.Q, module.K, module.V, module.O], layers(hand))
    same(module, hand, given([*batch, n["y"], n["m"]], [*batch, n["x"], n["m"]]), pairs)
