"""The views of the language models: their numbers against the run and against published ones."""

from __future__ import annotations

import pytest

import ncd
from ncd.answers.model_memory import model_memory
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


@pytest.mark.parametrize(
    ("name", "texts", "said"),
    [
        ("gemma", 1, ("Cache of the text", "bytes × min(T, w), or × T")),  # some layers see all
        ("gpt-2", 1, ("Cache of the text", "bytes × T")),
        ("gpt-2", 2, ("Cache of both texts", "sum of bytes × T")),
    ],
)
def test_a_cache_is_that_of_a_text_or_of_its_windows(
    name: str, texts: int, said: tuple[str, str]
) -> None:
    assert model_size._whole_cache(scene(name), texts) == said
