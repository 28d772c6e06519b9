"""What a panel does with what its component sent: a control is set, or the panel is told."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import streamlit as st

from ncd.app.parts import html_panel
from ncd.app.parts.html_panel import StaticFile, read_static
from ncd.app.state.controls import Range

BETA = Range("beta", range(5), 0)


@pytest.mark.parametrize(
    ("sent", "beta", "told"),
    [
        ("beta=3", "3", []),
        ("beta=9", None, []),
        ("other=1", None, ["other=1"]),
        ("play", None, ["play"]),
        (None, None, []),
        (7, None, []),
    ],
)
def test_a_click_sets_a_control_or_is_told_to_the_panel(
    sent: object, beta: str | None, told: list[str]
) -> None:
    given: dict[str, Any] = {}
    heard = list[str]()
    session: dict[str, Any] = {"k": SimpleNamespace(pick=sent, select={"id": "n1"})}
    with (
        patch.object(st, "session_state", session),
        patch.object(html_panel, "_html_component", lambda **options: given.update(options)),
    ):
        html_panel.render("<p>text</p>", "k", (BETA,), heard.append)
        assert (given["key"], given["data"]) == ("k", {"html": "<p>text</p>", "part": "k"})
        given["on_pick_change"]()
        assert (session.get("beta"), heard) == (beta, told)
        given["on_select_change"]()
        assert session["select"] == "n1"
        html_panel.render("", "k")
        given["on_pick_change"]()  # nobody to tell


def test_what_was_not_sent_is_none() -> None:
    with patch.object(st, "session_state", {"k": SimpleNamespace(pick="a")}):
        assert html_panel.sent_value("k", "pick") == "a"
        assert html_panel.sent_value("k", "select") is None
        assert html_panel.sent_value("other", "pick") is None
        html_panel.apply_component_selection("k")  # no selection came
        assert "select" not in st.session_state


def test_a_static_file_has_the_hash_of_its_text_as_its_name() -> None:
    one, other = (
        StaticFile.from_text("css", "text/css", "a{}"),
        StaticFile.from_text("css", "text/css", "b{}"),
    )
    assert one.name.startswith("ncd-") and one.name.endswith(".css") and len(one.name) == 20
    assert one.name != other.name and one == StaticFile.from_text("css", "text/css", "a{}")
    assert read_static("parts/editor.css", "parts/sketch_pad.css") == (
        read_static("parts/editor.css") + read_static("parts/sketch_pad.css")
    )
