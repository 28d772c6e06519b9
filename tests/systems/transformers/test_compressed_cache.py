"""Latent attention against plain torch, written from the equations of DeepSeek-V2's appendix C."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import ncd
from ncd.app.panels.attention.kv_cache import cache_ways
from tests.app.panels.attention.test_language_panels import scene
from tests.systems.transformers.against_torch import equals_torch

ENTRY = ncd.catalogue["latent-attention"]
SIZES = (
    {"h": 3, "k": 5, "b": 4, "c": 7, "d": 6, "m": 9, "t": 6},
    {"h": 1, "k": 1, "b": 2, "c": 1, "d": 1, "m": 1, "t": 1},
    {"h": 2, "k": 4, "b": 6, "c": 3, "d": 5, "m": 8, "t": 4},
)


def rms(x: Tensor, gain: Tensor) -> Tensor:
    return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * gain


def turned(x: Tensor) -> Tensor:
    """RoPE of ``t … b``, whose pairs stand half of the features apart."""
    t, half = len(x), x.shape[-1] // 2
    angles = torch.arange(t)[:, None] * 10000.0 ** (-torch.arange(half).double() / half)
    turn = torch.polar(torch.ones_like(angles), angles).view(t, *[1] * (x.ndim - 2), half)
    z = torch.complex(*x.chunk(2, -1)) * turn
    return torch.cat((z.real, z.imag), -1)


def by_torch(module: nn.Module, sizes: dict[str, int], x: Tensor) -> Tensor:
    """Equations 37 to 47: queries and keys are two parts side by side."""
    h, k, b, t = (sizes[name] for name in "hkbt")
    few = rms(module.DQ(x), module.q_norm.weight)
    kept = rms(module.DKV(x), module.kv_norm.weight)
    queries = torch.cat(
        (module.UQ(few).view(t, h, k), turned(module.QR(few).view(t, h, b))), dim=-1
    )
    shared = turned(module.KR(x))[:, None].expand(t, h, b)
    keys = torch.cat((module.UK(kept).view(t, h, k), shared), dim=-1)
    values = module.UV(kept).view(t, h, k)
    scores = torch.einsum("yhk,xhk->hyx", queries, keys) / (k + b) ** 0.5
    hidden = torch.ones(t, t).triu(1).bool()
    weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
    return module.O(torch.einsum("hyx,xhk->yhk", weights, values).flatten(1))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_it_equals_torch(sizes: dict[str, int]) -> None:
    equals_torch(ENTRY, sizes, by_torch)


def test_the_cache_is_that_of_the_papers_table() -> None:
    """Table 1: 2 h k for multi-head attention, and c + b here, which is 9/2 k."""
    here = scene(ENTRY.name, **ENTRY.preset("deepseek-v2").knobs)
    ways = cache_ways(here, ("h",), "latent")
    assert ways[0].numbers == 32768
    assert ways[-1].numbers == 576 == 9 * 128 // 2
    assert [way.title for way in ways if way.is_current] == ["latent"]
    assert [way.groups for way in ways[:-1]] == [128, 64, 32, 16, 8, 4, 2, 1]
