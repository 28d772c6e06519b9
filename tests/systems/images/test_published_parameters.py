"""Every published size of a model has the published number of parameters."""

import pytest

from ncd.systems.catalogue_entry import Entry, Preset
from tests.systems.published_parameters import PRESETS, assert_published


@pytest.mark.parametrize(("entry", "preset"), PRESETS["images"], ids=lambda part: part.name)
def test_a_published_model_has_its_published_parameters(entry: Entry, preset: Preset) -> None:
    assert_published(entry, preset)
