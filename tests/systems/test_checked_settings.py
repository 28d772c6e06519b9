"""Entries and the fields of configurations at the edges of what they take."""

from __future__ import annotations

from typing import Any

import pytest

import ncd
from ncd.circuit.knob import Knob
from ncd.errors import NCDError, SizeError, UnknownNameError
from ncd.read.configs.config_fields import Fields
from ncd.systems.catalogue_entry import Catalogue, Entry, Preset


def picked(v: int = 5, i: int = 2, n: int = 8) -> ncd.Term:
    return ncd.Index(f"v:{v} n:{n}", v=i)


ENTRY = Entry(
    "picked-row",
    "Picked row",
    "none",
    (Knob("v", 1, 9, 5), Knob("i", 0, 8, 2, below="v"), Knob("n", 1, 9, 8)),
    picked,
    type="v n -> n",
    presets=(Preset("small", {"v": 3}, "none"),),
    notes=lambda v, i, n: {"a": f"{v} {i} {n}"},
    bands=True,
)


def test_an_entry_builds_its_term_at_checked_settings() -> None:
    assert ENTRY.settings({}) == {"v": 5, "i": 2, "n": 8}
    assert ENTRY.settings({"i": 1}) == {"v": 5, "i": 1, "n": 8}
    assert (ENTRY.key, ENTRY.identifier) == (("picked-row", ""), "picked_row")
    assert [array.shape for array in ENTRY.build(v=4, n=3).dom] == [(4, 3)]
    assert ENTRY.with_clamped_indexes({"v": 3, "i": 7, "n": 2}) == {"v": 3, "i": 2, "n": 2}
    assert ENTRY.build(v=3, i=2)
    with pytest.raises(SizeError) as error:
        ENTRY.build(v=3, i=3)
    assert str(error.value) == "i is 3, but below v: 2 at most here. Try i = 2."
    assert ENTRY.preset("small").knobs == {"v": 3}
    for wrong in ("smal", 3):
        with pytest.raises(UnknownNameError):
            ENTRY.preset(wrong)  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="there is no knob 'w'"):
        ENTRY.settings({"w": 1})
    assert ENTRY.callouts({"v": 7}) == {"a": "7 2 8"}
    look = {"title": "Picked row", "bands": True, "cells": False, "width": 1280.0}
    assert ENTRY.look({}) == {"notes": {"a": "5 2 8"}, **look}
    assert ENTRY.look({}, notes=False) == {"notes": {}, **look}


@pytest.mark.parametrize("name", ["multi-head-attention", "rotary", "unet"])
def test_what_is_changed_in_a_look_is_no_other_s(name: str) -> None:
    entry = ncd.catalogue[name]
    before = dict(entry.callouts({}))
    own = entry.look({})
    own["notes"] |= {"Q": "what is looked for"}
    assert dict(entry.callouts({})) == before == entry.look({})["notes"]


def test_a_catalogue_names_the_nearest_system_or_the_one_of_a_topic() -> None:
    own = Catalogue([ENTRY])
    assert [*own] == ["picked-row"] and own.sections == {"": (ENTRY,)}
    for name, cure in (("picked-raw", "picked-row"), ("self-attention", "multi-head-attention"),
                       ("Self Attention", "multi-head-attention")):  # fmt: skip
        with pytest.raises(UnknownNameError) as error:
            own[name]
        assert error.value.cure == cure


# --- configurations -------------------------------------------------------------------------------

READ = Fields({"a": 3, "none": None, "yes": True, "half": 0.5, "text": "x", "inner": {"b": 2}})


@pytest.mark.parametrize("value", [0, -1, True, "3", 2.0, 10**8 + 1, []])
def test_a_size_is_a_whole_number_from_one_to_its_most(value: Any) -> None:
    with pytest.raises(NCDError):
        Fields({"a": value}).integer("a")
    assert Fields({"a": 1}).integer("a") == 1 and Fields({"a": 10**8}).integer("a") == 10**8
    assert Fields({"a": 256}).integer("a", most=256) == 256
    with pytest.raises(SizeError):
        Fields({"a": 257}).integer("a", most=256)


def test_the_first_field_with_a_value_counts_and_all_that_are_read_are_known() -> None:
    assert READ.name_of("none", "a") == "a" and READ.name_of("none", "b") == "none"
    assert READ.get("b", "none", "a") == 3 and READ.get("b") is None
    assert READ.integer("b", "a") == 3 and READ.integer("b", default=7) == 7
    assert READ.flag("yes") and not READ.flag("no") and READ.flag("no", default=True)
    assert READ.inner("inner").integer("b") == 2 and READ.inner("a").values == {}
    READ.check_consistent("a", 3)
    READ.check_consistent("missing", 9)
    with pytest.raises(SizeError, match="a is 3, but another field says 4"):
        READ.check_consistent("a", 4)
    own = Fields({"a": 1, "b": 2})
    own.integer("z", "b")
    assert own.read_names == {"b"}


@pytest.mark.parametrize("value", [0, -0.5, True, "1", float("inf"), float("nan"), 2e30, []])
def test_a_number_is_finite_and_above_zero(value: Any) -> None:
    with pytest.raises(SizeError):
        Fields({"eps": value}).number("eps", default=1e-5)
    assert READ.number("half", default=1.0) == 0.5 and READ.number("a", default=1.0) == 3.0
    assert READ.number("missing", default=1e-5) == 1e-5
    assert Fields({"eps": 1e30}).number("eps", default=1.0) == 1e30


def test_heads_divide_the_features_and_groups_the_heads() -> None:
    assert READ.heads(64, 4) == 16 and Fields({"head_dim": 24}).heads(64, 4) == 24
    assert Fields({"head_dim": 24}).heads(65, 4) == 24
    with pytest.raises(SizeError) as error:
        READ.heads(65, 4)
    assert "4 heads do not divide 65 features" in str(error.value)
    assert error.value.cure == "64 features"
    assert Fields({"g": 2}).groups(8, "g") == (2, 4) and READ.groups(8, "g") == (8, 1)
    with pytest.raises(SizeError, match="3 heads of keys do not divide 8 heads of queries"):
        Fields({"g": 3}).groups(8, "g")
    assert READ.choice("text", default="y", known=("x", "y")) == "x"
    assert READ.choice("missing", default="y", known=("x", "y")) == "y"
    with pytest.raises(UnknownNameError):
        READ.choice("text", default="y", known=("y",))
