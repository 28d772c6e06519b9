"""Controls of panels: what they take, what they store, and what stands on the page for them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
import streamlit as st

from ncd.app.state.controls import (
    Choice,
    Control,
    GridPlace,
    Place,
    Range,
    Switches,
    TextControl,
    pick,
    slider,
)

CHOICE = Choice("shown", ("state", "change"), "state")
RANGE = Range("beta", range(-20, 21), 5)
SWITCHES = Switches("off", 7)
PATTERN = TextControl("patch", r"[0-9]+", 4, "none")


@pytest.fixture
def session() -> Iterator[dict[str, Any]]:
    state: dict[str, Any] = {}
    with patch.object(st, "session_state", state):
        yield state


@pytest.mark.parametrize(
    ("control", "valid", "not_valid"),
    [
        (CHOICE, ["state", "change"], ["", "State", "nonsense"]),
        (RANGE, ["-20", "0", "20"], ["-21", "21", "", "1e1", "9" * 10, "+1"]),
        (Place("head"), ["0", "3", "9" * 9], ["", "-1", "9" * 10, "٣", "1.0"]),
        (Place("head", None), ["", "0", "3"], ["-1", "x"]),
        (SWITCHES, ["", "a,b", "a" * 7], ["a" * 8]),
        (PATTERN, ["1", "1234", "none"], ["", "12345", "1a", "nones"]),
    ],
)
def test_a_control_takes_its_own_values_only(
    control: Control, valid: list[str], not_valid: list[str], session: dict[str, Any]
) -> None:
    for text in valid:
        assert control.read(text) == text
        session[control.name] = text
        assert control.value == text
    for text in not_valid:
        assert control.read(text) is None
        session[control.name] = text
        assert control.value == control.default
    session.clear()
    assert control.value == control.default


def test_a_value_that_is_not_valid_changes_nothing(session: dict[str, Any]) -> None:
    CHOICE.put("change")
    CHOICE.put("nonsense")
    assert session == {"shown": "change"}


def test_a_click_sets_the_control_of_its_name(session: dict[str, Any]) -> None:
    assert pick((RANGE, CHOICE), "shown", "change") is True
    assert pick((RANGE, CHOICE), "other", "1") is False
    assert session == {"shown": "change"}


def test_buttons_say_which_one_is_pressed(session: dict[str, Any]) -> None:
    session["shown"] = "change"
    first, second = CHOICE.html().split("</button>")[:2]
    assert 'data-pick="shown=state" aria-pressed="false">state' in first
    assert 'data-pick="shown=change" aria-pressed="true">change' in second
    assert ">Its state<" in Choice("shown", {"state": "Its state"}, "state").html()
    assert "aria-pressed" not in CHOICE.button("state", "state")


def test_a_slider_stands_at_its_number_between_its_ends(session: dict[str, Any]) -> None:
    session["beta"] = "-7"
    whole = RANGE.html("Beta")
    assert 'type="range" min="-20" max="20" value="-7" data-set="beta"' in whole
    assert 'aria-valuetext="Beta"' in whole and '<label class="cut">Beta <' in whole
    assert 'min="-8" max="3" value="-7"' in RANGE.html("Beta", numbers=range(-8, 4))
    assert '"cut"><b>β</b> <' in RANGE.html("Beta", "<b>β</b>")
    assert '"number" min="-20" max="20" value="-7" data-set="beta"' in RANGE.number_field("Beta")
    assert slider("One", "x", range(1), 0) == slider("None", "x", range(0), 0) == ""
    assert 'min="0" max="1" value="1"' in Place("x").html("Two", 2, 1)


@pytest.mark.parametrize(
    ("chosen", "start", "count", "place", "stored"),
    [
        (None, 0, 3, 0, None),
        ("2", 0, 3, 2, "2"),
        ("3", 0, 3, 2, "2"),
        ("9", 0, 1, 0, "0"),
        *((wrong, 1, 3, 1, wrong) for wrong in ("9" * 5000, "-1", "x", "٣")),
        (None, 2, 3, 2, None),
        (None, 3, 3, 2, None),  # the panel's own start is no choice that the link tells
        ("1", 2, 3, 1, "1"),
    ],
)
def test_a_place_beyond_the_last_becomes_the_last_in_the_link_too(
    chosen: str | None,
    start: int,
    count: int,
    place: int,
    stored: str | None,
    session: dict[str, Any],
) -> None:
    control = Place("head", None)
    if chosen is not None:
        session["head"] = chosen
    with patch.object(st, "rerun") as again:
        assert control.among(count, start) == place
    assert session.get("head") == stored
    assert again.called == (chosen != stored)


@pytest.mark.parametrize(
    ("chosen", "place", "stored"),
    [
        ("", None, ""),
        ("1.2", (1, 2), "1.2"),
        ("2.4", (2, 4), "2.4"),
        ("3.4", (2, 4), "2.4"),
        ("2.5", (2, 4), "2.4"),
        ("0.99", (0, 4), "0.4"),
        ("x", None, "x"),
    ],
)
def test_a_place_of_a_grid_beyond_its_end_becomes_the_last_in_the_link_too(
    chosen: str, place: tuple[int, int] | None, stored: str, session: dict[str, Any]
) -> None:
    session["patch"] = chosen
    with patch.object(st, "rerun") as again:
        assert GridPlace("patch").among(3, 5) == place
    assert session["patch"] == stored
    assert again.called == (chosen != stored)


def test_a_choice_of_streamlit_has_the_options_and_the_first_value() -> None:
    with patch.object(st, "segmented_control") as shown:
        CHOICE.segments("What is shown", print)
    assert shown.call_args.args == ("What is shown", ["state", "change"])
    assert shown.call_args.kwargs == {
        "default": "state", "required": True, "key": "shown", "on_change": print
    }  # fmt: skip


def test_a_switch_is_turned_by_a_click_and_all_are_cleared_at_once(
    session: dict[str, Any],
) -> None:
    assert SWITCHES.names == ()
    for clicked, names in (("b", ("b",)), ("a", ("b", "a")), ("b", ("a",)), ("c", ("a", "c"))):
        SWITCHES.put(clicked)
        assert SWITCHES.names == names
    SWITCHES.put("too long a name")
    assert SWITCHES.names == ("a", "c")
    SWITCHES.put("")
    assert SWITCHES.names == ()
    SWITCHES.set(("x", "y"))
    assert SWITCHES.names == ("x", "y")
    session["off"] = "a,,b,a"
    assert SWITCHES.names == ("a", "b")
