"""The parameters of every published size of a model in the catalogue, by its folder."""

from __future__ import annotations

from collections.abc import Mapping

import ncd
from ncd.systems.catalogue_entry import Entry, Preset
from tests.systems.stored_terms import FOLDERS

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
Sizes = list[tuple[Entry, Preset]]
PRESETS: Mapping[str, Sizes] = {
    folder: [
        (ncd.catalogue[n], one) for n in names if n in NAMES for one in ncd.catalogue[n].presets
    ]
    for folder, names in FOLDERS.items()
}


def assert_published(entry: Entry, preset: Preset) -> None:
    cost = ncd.cost(entry.build(**preset.knobs))
    assert cost.parameters == PARAMETERS[preset.name]
