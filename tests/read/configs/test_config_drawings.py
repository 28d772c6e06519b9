"""The diagram of every published model is legible at the widths of a page."""

from __future__ import annotations

import json

import pytest

import ncd
from ncd.drawing.lint.lint import lint
from ncd.read.configs.config_reader import READERS, read_config
from tests.read.configs.test_config_reader import BY_TYPE

# What a row of this width does not have room for: one crossing more than the least.
CROSSED = {
    ("siglip_vision_model", 860): [
        "the wires of n54 (einsum, contracts q: i h q, i q h k to i h k) cross 7 times, "
        "where 6 would do"
    ]
}


@pytest.mark.few(18)
@pytest.mark.parametrize("width", [340, 860, 1280])
@pytest.mark.parametrize("kind", READERS)
def test_nothing_overlaps(kind: str, width: int) -> None:
    entry = read_config(json.dumps(BY_TYPE[kind])).entry("own")
    term = entry.build(**entry.preset("small").knobs)
    assert lint(ncd.draw(term, width=width)) == CROSSED.get((kind, width), [])
