"""A letter stands for one size on a page: on its sliders, on its wires and on its chips."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

import pytest

import ncd
from ncd.errors import NCDError
from ncd.systems.catalogue_entry import Entry

PLAIN = str.maketrans("", "", "_\N{COMBINING MACRON}")  # n1 is the slider of n_1


def meanings(entry: Entry, **knobs: int) -> dict[str, set[str]]:
    """The sizes for which each letter stands, as a reader sees it; a square is its side."""
    settings = entry.settings(knobs)
    found: dict[str, set[str]] = defaultdict(set)
    for knob in entry.knobs:
        if knob.is_size and not knob.names:
            found[knob.name.translate(PLAIN)].add(str(settings[knob.name]))
    for axis in ncd.elaborate(entry.build(**knobs)).axes:
        # λ is another number in each body of a loop, and a figure may name an axis by its size
        if axis.size is None or "λ" in axis.display_name or axis.display_name.isdecimal():
            continue
        sides = set(axis.size_text.split("×"))
        found[axis.display_name.translate(PLAIN)].add(
            sides.pop() if len(sides) == 1 else axis.size_text
        )
    return found


def moved(entry: Entry) -> Iterator[dict[str, int]]:
    """The defaults, and each knob by itself one step further, or back."""
    yield {}
    for knob in entry.knobs:
        if not knob.names:
            values = (knob.nearest(knob.default + way * knob.step) for way in (1, -1))
            yield {knob.name: next((v for v in values if v != knob.default), knob.default)}


@pytest.mark.parametrize("entry", ncd.catalogue.values(), ids=lambda entry: entry.name)
def test_a_letter_stands_for_one_size(entry: Entry) -> None:
    for knobs in moved(entry):
        try:
            found = meanings(entry, **knobs)
        except NCDError:  # such as a picture that no longer halves
            continue
        assert {name: sizes for name, sizes in found.items() if len(sizes) > 1} == {}, knobs
