"""Every published size of a model in the catalogue has the published number of parameters."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

import ncd
from ncd.systems.catalogue_entry import Entry

NAMES = ("gpt-2", "bert", "t5", "llama", "gemma", "mixtral", "deepseek", "vit", "mamba")
# What the published weights hold, by their own index or by the library that publishes them.
PARAMETERS: Mapping[str, int] = {
    "gpt-2-small": 124_439_808,
    "gpt-2-medium": 354_823_168,
    "gpt-2-large": 774_030_080,
    "gpt-2-xl": 1_557_611_200,
    "bert-base": 109_482_240,
    "bert-large": 335_141_888,
    "t5-small": 60_506_624,
    "t5-base": 222_903_552,
    "t5-large": 737_668_096,
    "llama-3-8b": 8_030_261_248,
    "llama-2-7b": 6_738_415_616,
    "mistral-7b": 7_241_732_096,
    "gemma-2-2b": 2_614_341_888,
    "gemma-2-9b": 9_241_705_984,
    "mixtral-8x7b": 46_702_792_704,
    "deepseek-v2-lite": 15_706_484_224,
    "mamba-130m": 129_135_360,
    "mamba-370m": 371_516_416,
    "mamba-790m": 793_204_224,
    "mamba-1.4b": 1_372_178_432,
    "mamba-2.8b": 2_768_345_600,
    "vit-b-16": 86_567_656,
    "vit-b-32": 88_224_232,
    "vit-l-16": 304_326_632,
    "vit-h-14": 632_045_800,
}
ENTRIES = [ncd.catalogue[name] for name in NAMES]
PRESETS = [(entry, preset) for entry in ENTRIES for preset in entry.presets]


@pytest.mark.parametrize(("entry", "preset"), PRESETS, ids=lambda part: part.name)
def test_a_published_model_has_its_published_parameters(entry: Entry, preset: ncd.Preset) -> None:
    cost = ncd.cost(entry.build(**preset.knobs))
    assert cost.parameters == PARAMETERS[preset.name]


def test_every_published_size_is_counted() -> None:
    assert sorted(PARAMETERS) == sorted(preset.name for _, preset in PRESETS)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_opens_with_its_blocks_folded(name: str) -> None:
    """One layer, drawn once, in a few boxes."""
    entry = ncd.catalogue[name]
    drawing = ncd.draw(entry.build(), **entry.look({}))
    assert len(drawing.glyphs) < 40
    assert len(ncd.elaborate(entry.build()).cells) > len(drawing.glyphs)
