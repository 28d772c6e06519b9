"""LoRA against plain torch, and merged against unmerged."""

from __future__ import annotations

import pytest
import torch.nn.functional as F
from torch import Tensor, nn

import ncd
from ncd.app.panels.language_models import merged_weights
from tests.app.panels.attention.test_language_panels import scene
from tests.systems.transformers.against_torch import equals_torch

ENTRY = ncd.catalogue["lora"]
SIZES = (
    {"r": 2, "a": 3, "m": 7, "d": 5, "t": 4},
    {"r": 1, "a": 1, "m": 1, "d": 1, "t": 1},
    {"r": 9, "a": 2, "m": 4, "d": 6, "t": 3, "merged": 0},  # more than the map's own rank
    {"m": 7, "d": 5, "t": 4, "merged": 1},
)


def by_torch(module: nn.Module, sizes: dict[str, int], x: Tensor) -> Tensor:
    """Equation 3: W x + α/r B A x."""
    if sizes["merged"]:
        return F.linear(x, module.W.weight)
    update = sizes["a"] / sizes["r"] * module.B.weight @ module.A.weight
    return F.linear(x, module.W.weight) + F.linear(x, update)


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_it_equals_torch(sizes: dict[str, int]) -> None:
    equals_torch(ENTRY, sizes, by_torch)


@pytest.mark.parametrize("knobs", [{}, {"merged": 1}, {"r": 16, "m": 64, "d": 64}], ids=str)
def test_merged_is_unmerged(knobs: dict[str, int]) -> None:
    found = merged_weights.compare_merged(scene("lora", **knobs))
    assert found.output_difference < 1e-5
    assert found.gradients < 1e-4
    assert found.flops > found.flops_merged
    rank = int(found.update.double().svd().S.gt(1e-5).sum())
    assert rank == scene("lora", **knobs).settings["r"]


def test_what_learns_is_r_times_both_sides() -> None:
    sizes = dict(ENTRY.preset("gpt-2-medium").knobs)
    counted = (
        ncd.cost(ENTRY.build(**sizes)).parameters
        - ncd.cost(ENTRY.build(**sizes, merged=1)).parameters
    )
    assert counted == 4 * (1024 + 1024)
