"""The setting that a page is compared with: its text in the link, and the scene at it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
import streamlit as st

import ncd
from ncd.app.parts.input_feed import read
from ncd.app.scene import own_entry, pin
from ncd.app.scene.pin import Pin
from ncd.app.scene.refusal import Refusal
from ncd.app.scene.scene import Scene
from ncd.app.state.knobs import NOTES
from ncd.circuit.knob import Knob
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.training.sequence_data import SEQUENCES
from tests.app.panels.views import scene

ATTENTION, LSTM = ncd.catalogue["multi-head-attention"], ncd.catalogue["lstm"]


@pytest.fixture
def session() -> Iterator[dict[str, Any]]:
    state: dict[str, Any] = {}
    with patch.object(st, "session_state", state):
        yield state


@pytest.mark.parametrize(
    ("text", "settings", "seed", "note"),
    [
        ("k=8,causal=true,seed=3", {"k": 8, "causal": 1}, 3, ""),
        ("h=4", {}, 0, ""),
        ("multi-head-attention:h=8", {"h": 8}, 0, ""),
        ("preset=transformer-base", {"h": 8, "k": 64, "m": 512}, 0, ""),
        ("preset=transformer-base,h=2", {"h": 2, "k": 64, "m": 512}, 0, ""),
        ("h=0", {"h": 1}, 0, "h cannot be 0: it is 1 or more. The nearest is 1."),
        ("h=8,q=2", {"h": 8}, 0, "The pin has q, which this page does not know."),
        (
            "h=8,a=1,b=2,c=3,d=4",
            {"h": 8},
            0,
            "The pin has a, b, c, which this page does not know.",
        ),
    ],
)
def test_a_pin_is_read_from_the_link(
    text: str, settings: dict[str, int], seed: int, note: str
) -> None:
    found, told = pin.parse_pin(ATTENTION, text)
    assert found == Pin(ATTENTION.settings(settings), seed)
    assert told == note


@pytest.mark.parametrize("text", ["nothing", "q=2", "", "yours~z.damaged:h=2"])
def test_a_text_without_a_setting_is_no_pin(text: str) -> None:
    found, note = pin.parse_pin(ATTENTION, text)
    assert found is None
    assert bool(note) == bool(text)


def test_a_pin_may_be_of_another_system(session: dict[str, Any]) -> None:
    found, note = pin.parse_pin(ATTENTION, "lstm:h=7,seed=2")
    assert (found, note) == (Pin(LSTM.settings({"h": 7}), 2, LSTM), "")
    assert found is not None and pin.pin_text(ATTENTION, found) == "lstm:h=7,seed=2"
    assert pin.parse_pin(ATTENTION, "lstm:zzz")[0] is None
    own = own_entry.custom_entry('Id("~y:5 m:8") >> Linear("m -> k:2", "W")')
    text = pin.pin_text(ATTENTION, Pin(own.settings({"m": 3}), 0, own))
    assert text.startswith("yours~") and text.endswith(":m=3")
    again, _ = pin.parse_pin(ATTENTION, text)
    assert again is not None and again.other_entry is not None
    assert (again.other_entry.text, again.settings["m"]) == (own.text, 3)
    carried = pin.with_page_name("yours", own.text, "m=3")
    assert carried == text
    assert pin.with_page_name("yours", own.text, "lstm:h=7") == "lstm:h=7"
    assert pin.without_page_name("yours", "lstm:h=7") == "lstm:h=7"


def test_the_sessions_pin_is_put_right_with_a_note(session: dict[str, Any]) -> None:
    assert pin.current_pin(ATTENTION) is None and session == {}
    session["pin"] = "h=0,seed=0"
    found = pin.current_pin(ATTENTION)
    assert found == Pin(ATTENTION.settings({"h": 1}), 0)
    assert session["pin"] == "h=1"
    assert "h cannot be 0" in session[NOTES]["pin"]
    session["pin"] = "nonsense"
    assert pin.current_pin(ATTENTION) is None and session["pin"] == ""
    pin.set_pin(ATTENTION, Pin(ATTENTION.settings({"k": 2}), 0))
    assert (session["pin"], session[NOTES]) == ("k=2", {})
    pin.set_pin(ATTENTION, None)
    assert session["pin"] == ""


def test_values_are_said_as_the_sidebar_shows_them() -> None:
    switch, named = Knob("c", 0, 1, 0, switch=True), Knob("w", 0, 1, 0, names=("few", "many"))
    assert [pin.display_value(switch, 0), pin.display_value(switch, 1)] == ["off", "on"]
    assert [pin.display_value(named, 0), pin.display_value(named, 1)] == ["few", "many"]
    assert pin.display_value(Knob("y", 1, 9, 3), 4096) == "4,096"


def test_the_pinned_scene_has_its_own_settings_and_no_selection(session: dict[str, Any]) -> None:
    now = replace(scene("multi-head-attention", seed=5), selected_id="n1", dark=True)
    found = pin.pinned_scene(now, Pin(ATTENTION.settings({"h": 2}), 3))
    assert isinstance(found, Scene)
    assert (found.settings["h"], found.seed, found.selected_id, found.dark) == (2, 3, "", True)
    assert found.entry is ATTENTION and found.build_refusal is None
    other = pin.pinned_scene(now, Pin(LSTM.settings({"h": 7}), 1, LSTM))
    assert isinstance(other, Scene)
    assert (other.entry, other.settings["h"], other.inputs_spec) == (LSTM, 7, InputSpec())
    assert other.formats.cached == LSTM.cached


def test_a_pinned_setting_that_cannot_be_built_is_refused_or_drawn_in_part(
    session: dict[str, Any],
) -> None:
    unet = ncd.catalogue["unet"]
    found = pin.pinned_scene(scene("unet"), Pin(unet.settings({}) | {"x": 33}, 0))
    refused = found if isinstance(found, Refusal) else found.build_refusal
    assert refused is not None and "cannot be halved" in refused.error.fact


@pytest.mark.parametrize("name", SEQUENCES)
def test_a_pinned_seed_has_the_symbols_of_the_page_at_that_seed(
    name: str, session: dict[str, Any]
) -> None:
    now, entry = scene(name), ncd.catalogue[name]
    found = pin.pinned_scene(now, Pin({**now.settings, "t": 8}, 3))
    own = read(name, {**now.settings, "t": 8}, 3)
    assert isinstance(found, Scene) and own is not None
    axis = entry.build(**found.settings).dom[0][0]
    assert (axis.name, axis.size) == ("t", 8)
    assert found.inputs_spec == InputSpec({"t": own.words}, numbers=own.numbers)
