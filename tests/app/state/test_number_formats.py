"""The number formats in the session: read, put right, shown and chosen."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import MagicMock, patch

import pytest
import streamlit as st

import ncd
from ncd.app.state.knobs import NOTES, _choose, formats, render_formats, widget_values
from ncd.app.state.link_text import LinkParameter
from ncd.language.number_formats import Formats

ENTRY = ncd.catalogue["multi-head-attention"]
PLAIN = replace(ENTRY, cached=())


@pytest.fixture
def session() -> Iterator[dict[str, Any]]:
    state: dict[str, Any] = {}
    with patch.object(st, "session_state", state):
        yield state


def test_what_cannot_be_read_becomes_float32_with_a_note(session: dict[str, Any]) -> None:
    assert formats(ENTRY) == Formats(cached=ENTRY.cached) and session == {}
    session["formats"] = "weights=int8,activations=float32"
    assert formats(ENTRY).weights == "int8"
    assert session["formats"] == "weights=int8"
    session["formats"] = "weights=int3"
    assert formats(ENTRY).is_float32
    assert session["formats"] == "" and "int3" in session[NOTES]["formats"]


@pytest.mark.parametrize(("entry", "count"), [(ENTRY, 3), (PLAIN, 2)])
def test_there_is_a_choice_for_each_kind_of_numbers(
    entry: ncd.Entry, count: int, session: dict[str, Any]
) -> None:
    session["formats"] = "weights=int8,activations=bfloat16"
    with (
        patch.object(st, "expander", MagicMock()) as expander,
        patch.object(st, "selectbox") as box,
        patch.object(st, "caption") as caption,
    ):
        render_formats(entry)
    assert expander.call_args.args == ("Number formats: weights int8, activations bfloat16",)
    assert [call.args[0] for call in box.call_args_list] == ["Weights", "Activations", "Cache"][
        :count
    ]
    assert session["format of weights"] == "int8"
    assert not caption.called
    assert widget_values(entry) == {
        "format of weights": "int8",
        "format of activations": "bfloat16",
        "format of cache": "float32",
    }


def test_choices_are_taken_over(session: dict[str, Any]) -> None:
    session |= {"format of weights": "int4", "format of cache": "float8", NOTES: {"formats": "n"}}
    _choose()
    assert session["formats"] == "weights=int4,cache=float8"
    assert session[NOTES] == {}
    with (
        patch.object(st, "expander", MagicMock()) as expander,
        patch.object(st, "selectbox"),
        patch.object(st, "caption") as caption,
    ):
        session["formats"] = "cache=none"
        render_formats(ENTRY)
    assert expander.call_args.args == ("Number formats: float32",)
    assert caption.called


@pytest.mark.parametrize(
    ("kept", "text", "value"),
    [
        (LinkParameter(False), "TRUE", True),
        (LinkParameter(True), "0", False),
        (LinkParameter(True), "no", None),
        (LinkParameter(4, max_length=3), "12345", "123"),
        (LinkParameter("a", ("a", "b")), "b", "b"),
        (LinkParameter("a", ("a", "b")), "c", None),
        (LinkParameter("", max_length=3), "abc", "abc"),
        (LinkParameter("", max_length=3), "abcd", None),
        (LinkParameter("", is_compressed=True), "z.AAAA", None),
        (LinkParameter("", max_length=3, is_compressed=True), "abcd", "abcd"),
    ],
)
def test_a_key_of_the_link_takes_its_own_values(
    kept: LinkParameter, text: str, value: object
) -> None:
    assert kept.read(text) == value
