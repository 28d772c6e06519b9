"""Every published size of a model in the catalogue has the published number of parameters."""

from __future__ import annotations

import pytest

import ncd
from ncd.systems.catalogue_entry import Entry, Preset
from tests.systems.published_parameters import NAMES, PARAMETERS, PRESETS, assert_published


@pytest.mark.parametrize(
    ("entry", "preset"), PRESETS["language_models"], ids=lambda part: part.name
)
def test_a_published_model_has_its_published_parameters(entry: Entry, preset: Preset) -> None:
    assert_published(entry, preset)


def test_every_published_size_is_counted() -> None:
    assert sorted(PARAMETERS) == sorted(one.name for own in PRESETS.values() for _, one in own)


@pytest.mark.parametrize("name", NAMES)
def test_a_model_opens_with_its_blocks_folded(name: str) -> None:
    """One layer, drawn once, in a few boxes."""
    entry = ncd.catalogue[name]
    drawing = ncd.draw(entry.build(), **entry.look({}))
    assert len(drawing.glyphs) < 40
    assert len(ncd.elaborate(entry.build()).cells) > len(drawing.glyphs)
