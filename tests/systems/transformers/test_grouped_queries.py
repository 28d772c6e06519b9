"""Grouped queries against torch's own attention with shared keys: outputs, gradients, the cache."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import ncd
from ncd.app.panels.attention.kv_cache import cache_ways
from ncd.circuit.costs import cached_numbers
from tests.app.panels.attention.test_language_panels import scene
from tests.systems.transformers.against_torch import equals_torch

ENTRY = ncd.catalogue["grouped-queries"]
SIZES = (
    {"g": 2, "q": 3, "k": 5, "m": 7, "t": 6},
    {"g": 1, "q": 4, "k": 3, "m": 5, "t": 4},  # multi-query
    {"g": 4, "q": 1, "k": 3, "m": 5, "t": 4},  # multi-head
    {"g": 1, "q": 1, "k": 1, "m": 1, "t": 1},
)


def by_torch(module: nn.Module, sizes: dict[str, int], x: Tensor) -> Tensor:
    """torch's attention, whose keys and values are repeated for the queries of a group."""
    g, q = sizes["g"], sizes["q"]
    queries = module.Q(x).unflatten(-1, (g * q, -1)).transpose(0, 1)
    keys, values = (f(x).unflatten(-1, (g, -1)).transpose(0, 1) for f in (module.K, module.V))
    keys, values = (a.repeat_interleave(q, 0) for a in (keys, values))
    out = F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
    return module.O(out.transpose(0, 1).flatten(1))


@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_it_equals_torch(sizes: dict[str, int]) -> None:
    equals_torch(ENTRY, sizes, by_torch)


def test_the_cache_is_q_times_smaller() -> None:
    circuit = ncd.elaborate(ENTRY.build(g=2, q=4, k=16))
    assert cached_numbers(circuit, ENTRY.cached) == 2 * 2 * 16
    ways = cache_ways(scene("grouped-queries", g=2, q=4, k=16), ("g", "q"))
    assert [(way.groups, way.numbers) for way in ways] == [(8, 256), (4, 128), (2, 64), (1, 32)]
    assert [way.groups for way in ways if way.is_current] == [2]


@pytest.mark.parametrize("preset", ENTRY.presets, ids=lambda preset: preset.name)
def test_a_preset_has_a_row_of_its_own(preset: ncd.Preset) -> None:
    """All presets, of which some have more query heads than there are rows."""
    ways = cache_ways(scene(ENTRY.name, **preset.knobs), ("g", "q"))
    assert len([way for way in ways if way.is_current]) == 1
    assert ways[0].groups == preset.knobs["g"] * preset.knobs["q"]
    torch.testing.assert_close(ways[0].numbers, 2 * ways[0].groups * preset.knobs["k"])
