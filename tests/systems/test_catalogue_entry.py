"""The settings of a system: which values a knob takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

import ncd
from ncd import Linear
from ncd.circuit.knob import Knob
from ncd.errors import MismatchError, SizeError
from ncd.systems.catalogue_entry import Entry

SWITCH = Knob("causal", 0, 1, 0, switch=True)


def test_a_switch_is_on_or_off() -> None:
    assert [SWITCH.check(value) for value in (True, False, 1, 0)] == [1, 0, 1, 0]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (2, "causal is 2, but it goes from 0 to 1. Try causal = 1."),
        ("on", "causal is 'on', but it is a whole number. Try causal = 0."),
    ],
)
def test_a_switch_takes_nothing_else(value: Any, message: str) -> None:
    with pytest.raises(SizeError) as error:
        SWITCH.check(value)
    assert str(error.value) == message


def test_a_size_is_not_true_or_false() -> None:
    with pytest.raises(SizeError) as error:
        Knob("h", 1, 8, 4).check(True)
    assert str(error.value) == "h is True, but it is a whole number. Try h = 4."


def test_a_term_has_the_type_that_its_entry_states() -> None:
    entry = Entry("own", "Own", "none", (), lambda: Linear("m:3 -> k:2", "W"), type="m -> k")
    assert entry.build().cod.spec == "k:2"
    with pytest.raises(MismatchError) as error:
        replace(entry, type="m -> n").build()
    assert str(error.value) == (
        "own: it gives (k), but its type says (n). Bound so far: k 2. "
        'Try type="m -> k", or other steps.'
    )


def test_an_index_lies_within_its_axis() -> None:
    entry = ncd.catalogue["indexes"]
    for i, inside in ((0, 0), (1, 1), (2, 1), (3, 1)):
        assert entry.with_clamped_indexes({"a": 2, "b": 3, "i": i}) == {"a": 2, "b": 3, "i": inside}
    assert entry.build(a=2, i=1).cod.spec == 'b"3":3'
    with pytest.raises(SizeError) as error:
        entry.build(a=2, i=2)
    assert str(error.value) == "i is 2, but below a: 1 at most here. Try i = 1."


def test_the_catalogue_is_shown_as_a_table_and_its_entries_short() -> None:
    """As the last line of a cell: no pages of text, and no addresses of functions."""
    head, first, *rest = repr(ncd.catalogue).splitlines()
    assert head.split() == ["name", "title", "sizes", "at", "first"]
    name, entry = next(iter(ncd.catalogue.items()))
    assert first.split()[0] == name and entry.title in first and len(rest) == len(ncd.catalogue) - 1
    for entry in ncd.catalogue.values():
        assert repr(entry).startswith(f"<Entry: {entry.name}; {entry.knobs[0].name} ")
        assert len(repr(entry)) < 100
