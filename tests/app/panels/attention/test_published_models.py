"""What published models keep of a token, where they look, and how distance counts."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ncd
from ncd.app.panels.attention import token_reach
from ncd.app.panels.attention.kv_cache import cache_ways
from ncd.app.panels.attention.position_panels import STACKS, _bias_summary, biases
from ncd.app.panels.attention.token_reach import moves
from tests.app.panels.attention.test_language_panels import scene


def test_llama_3_keeps_128_kib_of_a_token() -> None:
    """32 layers of 8 keys and values with 128 features, at 2 bytes: 131,072 bytes."""
    here = scene("llama", **ncd.catalogue["llama"].preset("llama-3-8b").knobs)
    formats = ncd.Formats(cache="bfloat16", cached=here.entry.cached)
    assert ncd.cost(here.term, formats).cache_bytes == 131_072
    assert token_reach.kept_positions(here, 100) == 100 * 65_536


def test_gemma_keeps_a_window_in_every_second_layer() -> None:
    here = scene("gemma", n=4, w=3)
    assert token_reach.layer_windows(here.circuit) == (3, 0, 3, 0)
    each = 2 * 2 * 16  # keys and values of 2 heads
    assert token_reach.kept_positions(here, 1024) == each * (2 * 3 + 2 * 1024)
    assert token_reach.kept_positions(here, 2) == each * 4 * 2


def test_deepseek_keeps_what_is_compressed() -> None:
    """Appendix B of DeepSeek-V2: 512 + 64 numbers, where 16 heads would keep 4,096."""
    here = scene("deepseek", **ncd.catalogue["deepseek"].presets[0].knobs)
    ways = cache_ways(here, ("h",), "latent")
    assert (ways[0].numbers, ways[-1].numbers) == (4096, 576)


def test_bert_sees_both_sides_and_not_what_is_hidden() -> None:
    found = moves(scene("bert", t=7), range(7))
    assert np.isnan(found.diagonal()).all()
    assert (found[~np.eye(7, dtype=bool)] > 1e-4).all()


@pytest.mark.parametrize("stack", STACKS)
def test_distances_have_the_numbers_of_their_buckets(stack: str) -> None:
    here = scene("t5", s=9, t=9)
    grid, distances = biases(here, stack)
    table = here.module.get_parameter(f"{stack}.relative_attention_bias").detach().numpy()
    assert grid.shape == (4, len(distances)) and distances[0] == -8
    assert distances[-1] == (8 if stack == "encoder" else 0)
    last = "+8" if stack == "encoder" else "0"
    assert f"(−8 to {last} here;" in _bias_summary(here, distances, stack)
    half = len(table) // 2
    for d in (-3, -1, 0):  # near distances have a bucket each
        np.testing.assert_allclose(grid[:, distances.index(d)], table[-d])
    if stack == "encoder":
        np.testing.assert_allclose(grid[:, distances.index(2)], table[half + 2])


@torch.no_grad()
def test_how_far_a_hidden_word_moves_is_what_one_exchange_gives() -> None:
    here = scene("bert", n=1, t=6)
    (words, sentences), at, other = here.inputs, 4, 2
    hidden = words.clone()
    hidden[at] = 0
    changed = hidden.clone()
    changed[other] = (changed[other] + 1 + here.settings["v"] // 2) % here.settings["v"]
    before, after = (here.module(text, sentences)[0][at] for text in (hidden, changed))
    grid = moves(here, range(3, 5))
    assert grid[at, other] == pytest.approx(float((after - before).norm()), rel=1e-4)
    assert np.isnan(grid.diagonal()).all()
    assert [bool(row.all()) for row in np.isnan(grid)] == [True, True, True, False, False, True]
