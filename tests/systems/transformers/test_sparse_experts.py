"""A mixture of experts against plain torch, and its published sizes."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ncd
from tests.systems.transformers.against_torch import equals_torch

ENTRY = ncd.catalogue["mixture-of-experts"]
SIZES = (
    {"t": 5, "m": 6, "d": 7, "e": 4, "c": 2},
    {"t": 1, "m": 1, "d": 1, "e": 4, "c": 4},
    {"t": 4, "m": 3, "d": 2, "e": 5, "c": 1},
)


def by_torch(module: nn.Module, sizes: dict[str, int], x: Tensor) -> Tensor:
    """Equation 1 of Shazeer et al., with every expert computed and most of them weighted by 0."""
    w = {name.rpartition("_")[2].rpartition(".")[2]: p for name, p in module.named_parameters()}
    gate = next(p for name, p in module.named_parameters() if "gate" in name)
    scores, places = (x @ gate.T).topk(sizes["c"])
    shares = torch.zeros(len(x), sizes["e"], dtype=x.dtype).scatter(1, places, scores.softmax(-1))
    every = F.silu(torch.einsum("tm,emd->etd", x, w["w1"])) * torch.einsum(
        "tm,emd->etd", x, w["w3"]
    )
    return torch.einsum("te,etd,edm->tm", shares, every, w["w2"])


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_it_equals_torch(sizes: dict[str, int]) -> None:
    equals_torch(ENTRY, sizes, by_torch)


@pytest.mark.parametrize(
    ("preset", "published"),
    [("mixtral-8x7b", 8 * 3 * 4096 * 14336), ("qwen3-30b-a3b", 128 * 3 * 2048 * 768)],
)
def test_a_layer_has_the_published_experts_and_a_router(preset: str, published: int) -> None:
    sizes = ENTRY.preset(preset).knobs
    router = sizes["m"] * sizes["e"]
    assert ncd.cost(ENTRY.build(**sizes)).parameters == published + router
