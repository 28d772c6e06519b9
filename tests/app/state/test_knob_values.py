"""Values of knobs in the session: put right, typed, dragged, reset, and with their notes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
import streamlit as st

import ncd
from ncd.app.state import knobs
from ncd.app.state.knobs import MAX_SLIDER_VALUE, NOTES, RANGES, SEED, TYPED
from ncd.circuit.knob import Knob
from ncd.language.number_formats import Formats
from ncd.systems.catalogue_entry import Preset

ATTENTION = ncd.catalogue["multi-head-attention"]
BLOCK = ncd.catalogue["residual-block"]
CAUSAL = next(knob for knob in ATTENTION.knobs if knob.switch)
H = Knob("h", 1, 16, 4)


@pytest.fixture
def session() -> Iterator[dict[str, Any]]:
    state: dict[str, Any] = {}
    with patch.object(st, "session_state", state):
        yield state


@pytest.mark.parametrize(
    ("knob", "asked", "value", "note"),
    [
        (H, "1", 1, ""),
        (H, "1,024", 1024, ""),
        (H, "-0.4", 1, "h cannot be -0.4: it is 1 or more. The nearest is 1."),
        (H, "1e9", MAX_SLIDER_VALUE, ""),
        (
            H,
            "1000000001",
            MAX_SLIDER_VALUE,
            "h cannot be 1000000001: it is 1 or more. The nearest is {most}.",
        ),
        (
            H,
            "2147483647",
            MAX_SLIDER_VALUE,
            "h cannot be 2147483647: it is 1 or more. The nearest is {most}.",
        ),
        (H, "2147483648", 4, "2147483648 is more than fits in here. h is 4."),
        (H, "-2147483648", 4, "-2147483648 is more than fits in here. h is 4."),
        (H, "1" * 400, 4, f"{'1' * 20} is more than fits in here. h is 4."),
        (H, "1e400", 4, "“1e400” is no whole number. h is 4."),
        (H, "1234.5", 1234, "h is a whole number: 1234.5 became 1,234."),
        (Knob("n_1", 0, 2, 1, most=3), "4", 3, "n₁ cannot be 4: it goes from 0 to 3. {nearest} 3."),
        (SEED, "2147483647", 2147483647, ""),
        (SEED, "1000000001", 1000000001, ""),
        (SEED, "-1", 0, "seed cannot be -1: it goes from 0 to 2147483647. {nearest} 0."),
        (CAUSAL, "TRUE", 1, ""),
        (CAUSAL, "1", 1, ""),
        (CAUSAL, "false", 0, ""),
        (CAUSAL, "0", 0, ""),
        (CAUSAL, "2", 0, "causal is true or false, and “2” is neither."),
    ],
)
def test_a_text_becomes_the_nearest_legal_value_with_a_note(
    knob: Knob, asked: str, value: int, note: str
) -> None:
    told = note.format(most=f"{MAX_SLIDER_VALUE:,}", nearest="The nearest is")
    assert knobs.nearest_legal(knob, asked) == (value, told)


def test_what_the_session_holds_is_put_right(session: dict[str, Any]) -> None:
    session |= {
        "h": 0,
        "k": "abc",
        "m": 2 * MAX_SLIDER_VALUE,
        "causal": "1",
        "seed": 2**31 - 1,
        "device": "warp",
    }
    found = knobs.current(ATTENTION)
    assert (found["h"], found["k"], found["m"], found["causal"]) == (1, 16, MAX_SLIDER_VALUE, 1)
    assert found == {name: int(session[name]) for name in found}
    assert session["causal"] is True
    assert session["y"] == ATTENTION.settings({})["y"]
    assert knobs.seed() == 2**31 - 1
    assert knobs.device() == session["device"] == "cpu"
    assert session[NOTES] == {
        "k": "“abc” is no whole number. k is 16.",
        "device": "There is no device “warp” here. It runs on cpu.",
    }
    assert knobs.device() == "cpu"


def test_a_link_begins_without_old_notes_and_ranges(session: dict[str, Any]) -> None:
    session |= {NOTES: {"h": "old"}, RANGES: {"h": (1, 99)}, "k": "x"}
    knobs.parse_all(ATTENTION)
    assert session[RANGES] == {}
    assert list(session[NOTES]) == ["k"]
    assert (session["seed"], session["device"]) == (0, "cpu")


@pytest.mark.parametrize(
    ("text", "sizes", "words"),
    [
        ("h=96 m=12,288", {"h": "96", "m": "12,288"}, []),
        ("h: 96; m 12,2", {"h": "96", "m": "12"}, ["2"]),
        ("c₁₂=3,m=4", {"c12": "3", "m": "4"}, []),
        ("h=-3 wide", {"h": "-3"}, ["wide"]),
        ("e stride=2", {"stride": "2"}, ["e"]),
        ("e stride 2 h: 96", {"stride": "2", "h": "96"}, ["e"]),
        ("e  stride : 2, causal true", {"stride": "2", "causal": "true"}, ["e"]),
        ("h many", {"h": "many"}, []),
        ("  ", {}, []),
        ("7", {}, ["7"]),
    ],
)
def test_sizes_are_read_from_a_line(text: str, sizes: dict[str, str], words: list[str]) -> None:
    assert knobs.parse_sizes(text) == (sizes, words)


def test_typed_sizes_are_set_and_what_is_no_size_is_told(session: dict[str, Any]) -> None:
    session |= {TYPED: "h=96 num_heads=97 d_model=0", NOTES: {TYPED: "old"}}
    knobs.apply_typed_sizes(ATTENTION)
    assert (session["h"], session["m"], session[TYPED]) == (97, 1, "")
    assert session[NOTES] == {"m": "m cannot be 0: it is 1 or more. The nearest is 1."}
    text = f"h=3 stride=2 a=1 c=1 {'z' * 30}"
    session[TYPED] = text
    knobs.apply_typed_sizes(ATTENTION)
    assert (session["h"], session[TYPED]) == (3, text)
    assert session[NOTES][TYPED] == (
        f"There is no size “{'z' * 20}”, “stride”, “a” here. Type h=8, for example; "
        "there are h, k, m, y, x, causal."
    )
    session[TYPED] = "h=5 " + " " * 196 + "m=9"  # only the first 200 characters are read
    knobs.apply_typed_sizes(ATTENTION)
    assert (session["h"], session["m"]) == (5, 1)


def test_dragged_sizes_are_set_if_they_are_sizes_of_the_page(session: dict[str, Any]) -> None:
    knobs.apply_dragged_sizes(ATTENTION, {"h": 7, "k": 2.6, "m": "9", "causal": 1, "q": 3})
    assert session["h"] == 7 and session["k"] == 3
    assert not {"m", "causal", "q"} & set(session)
    assert list(session[NOTES]) == ["k"]
    for nothing in (None, "h=3", [("h", 3)]):
        knobs.apply_dragged_sizes(ATTENTION, nothing)
    assert session["h"] == 7


def test_reset_sets_all_to_their_defaults(session: dict[str, Any]) -> None:
    session |= {"h": 9, "seed": 5, "preset": "x", "formats": "y", NOTES: {"h": "n"}, RANGES: {1: 2}}
    knobs.reset(ATTENTION, {"input": "words"})
    assert {name: session[name] for name in ATTENTION.settings({})} == ATTENTION.settings({})
    assert (session["seed"], session["device"], session["input"]) == (0, "cpu", "words")
    assert (session["preset"], session["formats"]) == (None, "")
    assert session[NOTES] == session[RANGES] == {}


def test_a_preset_sets_its_knobs_and_all_others_to_their_defaults(
    session: dict[str, Any],
) -> None:
    preset = ATTENTION.presets[0]
    session |= {"h": 99, "causal": True, NOTES: {"h": "n"}}
    knobs.apply_preset(ATTENTION, preset.name)
    assert {name: session[name] for name in ATTENTION.settings({})} == {
        **ATTENTION.settings({}),
        **preset.knobs,
    }
    assert "h" not in session[NOTES]
    knobs.apply_preset(ATTENTION, None)
    assert session["h"] == 4


def test_of_several_presets_that_one_that_fixes_most_is_chosen() -> None:
    few, more = Preset("few", {"h": 8}, ""), Preset("more", {"h": 8, "k": 2}, "")
    entry = ncd.Entry(
        "some", "Some", "", (H, Knob("k", 1, 4, 2)), ATTENTION.system, presets=(few, more)
    )
    assert knobs.matching_preset(entry, {"h": 8, "k": 2}) == more
    assert knobs.matching_preset(entry, {"h": 8, "k": 3}) == few
    assert knobs.matching_preset(entry, {"h": 7, "k": 2}) is None


@pytest.mark.parametrize(
    ("value", "range_"),
    [
        (1, (1, 16)),
        (16, (1, 16)),
        (17, (1, 32)),
        (32, (1, 32)),
        (33, (1, 64)),
        (0, (0, 16)),
        (MAX_SLIDER_VALUE, (1, MAX_SLIDER_VALUE)),
        (MAX_SLIDER_VALUE - 1, (1, MAX_SLIDER_VALUE)),
    ],
)
def test_a_slider_reaches_as_far_as_a_value_that_was_asked(
    value: int, range_: tuple[int, int], session: dict[str, Any]
) -> None:
    assert knobs.slider_range(H, value) == range_
    assert knobs.slider_range(H, 5) == range_  # it stays
    assert knobs.slider_range(Knob("i", 0, 3, 0, most=5), 4) == (0, 4)
    assert knobs.slider_range(Knob("j", 0, 3, 0, most=20), 17) == (0, 20)


def test_a_note_stands_beside_its_knob_until_that_moves(session: dict[str, Any]) -> None:
    knobs.clear_notice("h")
    knobs.set_notice("h", "")
    assert knobs.notice_markdown("h") == "" and knobs.notices_and_ranges(["h"]) == {
        NOTES: {},
        RANGES: {},
    }
    knobs.set_notice("h", "a*b <c>")
    knobs.set_notice("k", "other")
    knobs.slider_range(H, 20)
    assert knobs.notice_markdown("h") == r"a\*b \<c\>"
    assert knobs.notices_and_ranges(["h", "m"]) == {NOTES: {"h": "a*b <c>"}, RANGES: {"h": (1, 32)}}
    knobs.set_values({"h": 4})
    assert session[NOTES] == {"k": "other"}


def test_a_switch_is_put_as_a_switch(session: dict[str, Any]) -> None:
    session["causal"] = False
    knobs.set_values({"causal": 1})
    assert session["causal"] is True
    session["causal"] = False  # what the browser showed before
    assert knobs.keeps_newer_value("causal") is True
    assert session["causal"] is True
    session["causal"] = "moved on"
    assert knobs.keeps_newer_value("causal") is False
    assert knobs.keeps_newer_value("never set") is False


def test_what_was_set_counts_until_a_busy_browser_shows_it(session: dict[str, Any]) -> None:
    now = [100.0]
    with patch.object(knobs.time, "monotonic", lambda: now[0]):
        session["h"] = 4
        knobs.set_values({"h": 8})
        knobs.mark_sent()
        for later, holds in ((knobs.BROWSER_LAG / 2, True), (knobs.BROWSER_LAG / 2, False)):
            now[0] += later
            session["h"] = 4  # as the browser shows it still
            assert knobs.keeps_newer_value("h") is holds
            assert session["h"] == (8 if holds else 4)


@pytest.mark.parametrize(
    ("picked", "value"),
    [
        ("h=3", 3),
        ("h=0", 1),
        ("h=99999", 99999),
        *((wrong, None) for wrong in ("h=100000", "h=-1", "h=", "h", "h=1.5", "h=٣", "z=3", "")),
    ],
)
def test_a_pick_in_a_panel_sets_its_knob(
    picked: str, value: int | None, session: dict[str, Any]
) -> None:
    knobs.apply_pick(ATTENTION, picked)
    assert session.get("h") == value and "z" not in session


def test_formats_that_cannot_be_read_become_plain_with_a_note(session: dict[str, Any]) -> None:
    session[knobs.FORMATS] = "weights=int3"
    assert knobs.formats(ATTENTION) == Formats(cached=ATTENTION.cached)
    assert session[knobs.FORMATS] == ""
    assert knobs.formats(ATTENTION) == Formats(cached=ATTENTION.cached)
    assert session[NOTES][knobs.FORMATS] == "weights: there is no format 'int3'. Try int8."
    session[knobs.FORMATS] = "weights=int8"
    assert knobs.formats(ATTENTION).weights == "int8"
    assert session[knobs.FORMATS] == "weights=int8"


def test_chosen_formats_stand_in_the_link(session: dict[str, Any]) -> None:
    session |= {"format of weights": "int8", NOTES: {knobs.FORMATS: "there is none"}}
    knobs._choose()
    assert session[knobs.FORMATS] == "weights=int8" and not session[NOTES].get(knobs.FORMATS)
    session["format of cache"] = "float16"
    knobs._choose()
    assert session[knobs.FORMATS] == "weights=int8,cache=float16"
    assert knobs.widget_values(ATTENTION) == {
        "format of weights": "int8",
        "format of activations": "float32",
        "format of cache": "float16",
    }
