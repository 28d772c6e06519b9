"""The views of the language models: their numbers against the run and against published ones."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import ncd
from ncd.answers.model_memory import model_memory
from ncd.app.panels.attention import token_reach
from ncd.app.panels.attention.kv_cache import cache_ways
from ncd.app.panels.attention.position_panels import STACKS, _bias_summary, biases
from ncd.app.panels.attention.token_reach import moves
from ncd.app.panels.language_models import model_size
from ncd.app.panels.language_models.model_size import _summary_html, _table
from ncd.circuit.costs import cached_numbers_by_axis
from tests.app.page.test_pages import fine, page
from tests.app.panels.attention.test_language_panels import scene

PANELS = {
    **{"gpt-2": "Next word", "bert": "Both sides", "t5": "Distances", "llama": "Memory"},
    **{"gemma": "Layers", "mixtral": "Memory", "deepseek": "Cache size"},
}


@pytest.mark.parametrize("name", PANELS)
def test_a_view_stands_at_the_least_sizes(name: str) -> None:
    least = {knob.name: str(knob.min) for knob in ncd.catalogue[name].knobs}
    fine(page(name, panel=PANELS[name], **least))


@pytest.mark.parametrize("name", PANELS)
def test_parts_and_work_are_those_of_the_term(name: str) -> None:
    entry = ncd.catalogue[name]
    for preset in entry.presets[:1]:
        term = entry.build(**preset.knobs | {"n": 2})
        parts = model_size.parts(ncd.elaborate(term))
        assert sum(parts.values()) == ncd.cost(term).parameters
        assert min(parts.values()) > 0
    here = scene(name)
    used = model_size.work(here)
    for t in (5, 9):
        sizes = dict.fromkeys(("s", "t") if name == "t5" else ("t",), t)
        term = entry.build(**sizes)
        assert ncd.cost(term).flops == used.once + used.per_position * t + used.pairs * t * t


def test_llama_3_keeps_128_kib_of_a_token() -> None:
    """32 layers of 8 keys and values with 128 features, at 2 bytes: 131,072 bytes."""
    here = scene("llama", **ncd.catalogue["llama"].preset("llama-3-8b").knobs)
    formats = ncd.Formats(cache="bfloat16", cached=here.entry.cached)
    assert ncd.cost(here.term, formats).cache_bytes == 131_072
    assert token_reach.kept_positions(here, 100) == 100 * 65_536


def test_t5_keeps_keys_and_values_of_both_texts_in_its_decoder_alone() -> None:
    """Those of 12 layers with 12 heads of 64 features: 18,432 numbers for a word of each text."""
    preset = ncd.catalogue["t5"].preset("t5-base").knobs
    here = scene("t5", **{**preset, "n": 3})  # the layers of the encoder keep nothing
    assert cached_numbers_by_axis(here.circuit, here.entry.cached) == {"t": 18_432, "s": 18_432}
    formats = ncd.Formats(cache="int8", cached=here.entry.cached)
    assert ncd.cost(here.term, formats).cache_bytes == 36_864
    told = model_size._facts(here, model_size.Work(0, 0, 0), 1024)
    assert told.count("18,432 numbers") == 2
    assert "Cache of both texts</td><td>sum of bytes × T</td>" in told
    assert "<b>75.5 MB</b>" in told  # 1,024 of each, at 2 bytes


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


def test_what_fits_says_the_longest_and_the_most_texts_for_each_format() -> None:
    preset = ncd.catalogue["llama"].preset("llama-3-8b").knobs
    here = scene("llama", **preset)
    found = model_memory(here.circuit, here.entry.cached)
    told = _summary_html(found, here)  # of 8,192 tokens in 24 GB, as the panel begins
    assert "takes <b>17.8 GB</b> in bfloat16, of which 1.07 GB are the cache: it fits" in told
    plain, half, *_ = _table(found).split("<tr>")[2:]
    assert "does not fit" in plain and plain.count("none") == 2
    assert "<td>fits</td>" in half and ">36,572<" in half and ">4<" in half
    assert found.total(36_572, 1) <= 24 * 10**9 < found.total(36_573, 1)
