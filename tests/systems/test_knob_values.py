"""Knobs and the fields of configurations at the edges of what they take."""

from __future__ import annotations

from typing import Any

import pytest

import ncd
from ncd.errors import NCDError, SizeError, UnknownNameError
from ncd.read.configs.config_fields import Fields
from ncd.systems.catalogue_entry import Catalogue, Entry, Knob, Preset, switch

SIZE = Knob("n", 4, 256, 64, multiple=4, step=8)
FREE, BOUND = Knob("m", 2, 9, 5, least=1), Knob("k", 2, 9, 5, most=12)
CHOICE = Knob("how", 0, 2, 0, names=("sum", "mean", "max"))
SWITCH = switch("causal", 1, "masked", "on or off")


@pytest.mark.parametrize(
    ("knob", "value", "legal"),
    [
        *((SIZE, n, at) for n, at in ((-5, 4), (1, 4), (5, 4), (6, 8), (9, 8), (10, 12), (71, 72),
                                      (4000, 4000))),
        *((FREE, n, at) for n, at in ((-1, 1), (0, 1), (1, 1), (2, 2), (900, 900))),
        *((BOUND, n, at) for n, at in ((1, 2), (2, 2), (12, 12), (13, 12))),
        *((CHOICE, n, at) for n, at in ((-1, 0), (0, 0), (2, 2), (3, 2))),
        *((SWITCH, n, at) for n, at in ((-1, 0), (1, 1), (2, 1))),
        *((Knob("q", 3, 30, 6, multiple=3, most=13), n, at) for n, at in ((1, 3), (12, 12),
                                                                         (13, 12), (14, 12))),
    ],
)  # fmt: skip
def test_the_nearest_legal_value(knob: Knob, value: int, legal: int) -> None:
    assert knob.legal(value) == legal
    if value == legal:
        assert knob.check(value) == value
        return
    with pytest.raises(SizeError) as error:
        knob.check(value)
    assert (error.value.nearest, error.value.axis) == (legal, knob.name)
    verb = "goes" if knob.limits.startswith("from") else "is"
    assert str(error.value) == (
        f"{knob.name} is {value}, but it {verb} {knob.limits}. Try {knob.name} = {legal}."
    )


def test_what_a_knob_is() -> None:
    knobs = SIZE, FREE, BOUND, CHOICE, SWITCH
    assert [knob.bounds for knob in knobs] == [(4, None), (1, None), (2, 12), (0, 2), (0, 1)]
    assert [knob.limits for knob in knobs] == [
        "a multiple of 4, 4 or more", "1 or more", "from 2 to 12", "from 0 to 2", "from 0 to 1",
    ]  # fmt: skip
    assert [knob.is_size for knob in knobs] == [True, True, True, False, False]
    assert [knob.is_fixed for knob in knobs] == [False] * 5
    assert Knob("one", 3, 3, 3, most=3).is_fixed and Knob("how", 0, 0, 0, names=("sum",)).is_fixed
    assert not Knob("one", 3, 3, 3).is_fixed
    with pytest.raises(SizeError, match="how is True, but it is a whole number"):
        CHOICE.check(True)


@pytest.mark.parametrize(
    ("value", "slider"),
    [(-9, 4), (4, 4), (8, 4), (9, 12), (12, 12), (250, 252), (256, 252), (999, 252)],
)
def test_the_nearest_value_of_a_slider(value: int, slider: int) -> None:
    """It begins at 4 and goes by 8, so that its last value is 252."""
    assert SIZE.nearest(value) == slider


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
