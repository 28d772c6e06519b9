"""Every further layer of a model is as large as the one before, from its first one on."""

from __future__ import annotations

from itertools import pairwise

import pytest

import ncd
from ncd.systems.language_models.deepseek import DeepSeekDesign, deepseek

COUNTS = [
    (name, knob.name)
    for name, entry in ncd.catalogue.items()
    if "language_models" in entry.system.__module__
    for knob in entry.knobs
    if knob.name in ("n", "l")
]


def size(term: ncd.Term) -> int:
    return ncd.cost(term).parameters


@pytest.mark.parametrize(("name", "knob"), COUNTS)
def test_a_layer_more_is_as_large_as_the_last_one(name: str, knob: str) -> None:
    entry = ncd.catalogue[name]
    found = [size(entry.build(**{knob: n})) for n in range(1, 5)]
    assert len({more - less for less, more in pairwise(found)}) == 1 and found[0] < found[1]


def test_the_first_layers_of_deepseek_are_dense() -> None:
    every = {
        (n, dense): size(deepseek(n=n, design=DeepSeekDesign(dense=dense)))
        for n in (1, 2, 3)
        for dense in (0, 1, 2, 5)
    }
    sparse = every[2, 0] - every[1, 0]
    plain = every[2, 5] - every[1, 5]
    rest = every[1, 0] - sparse
    assert sparse != plain
    for (n, dense), found in every.items():
        own = min(n, dense)
        assert found == rest + own * plain + (n - own) * sparse
