"""What is selected on a page: ids, axes and folded blocks that it has, and a width."""

from __future__ import annotations

from types import SimpleNamespace
from unittest.mock import patch

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

import ncd
from ncd.app.state import selection

ENTRY = ncd.catalogue["encoder-block"]
CIRCUIT = ncd.elaborate(ENTRY.build())


def test_what_can_be_selected() -> None:
    known = selection.selectable_ids(CIRCUIT)
    assert {cell.id for cell in CIRCUIT.cells} <= known
    assert {"s" + cell.id[1:] for cell in CIRCUIT.cells} <= known
    assert {fence.id for fence in CIRCUIT.fences} <= known
    assert set(CIRCUIT.values) <= known
    assert not {"n9999", "s9999", "f9999", "v9999", ""} & known


def test_folded_blocks_are_those_that_a_circuit_has() -> None:
    ids = sorted(fence.id for fence in CIRCUIT.fences)[:2]
    assert selection.folded_in(CIRCUIT, ",".join(ids)) == frozenset(ids)
    assert selection.folded_in(CIRCUIT, f"{ids[0]},f9999") == frozenset(ids[:1])
    assert selection.folded_in(CIRCUIT, "none") == frozenset()
    assert selection.folded_in(CIRCUIT, "f9999") == selection.folded_in(CIRCUIT, "auto") == "auto"


def test_four_axes_have_colours() -> None:
    names = list(dict.fromkeys(axis.name for axis in CIRCUIT.axes))[:5]
    assert len(names) == 5
    assert selection.known_axes(CIRCUIT, ENTRY, ",".join(names)) == ",".join(names[:4])
    text = f",{names[0]},,nothing"
    assert selection.known_axes(CIRCUIT, ENTRY, text) == f",{names[0]}"


@pytest.mark.parametrize("width", selection.WIDTHS)
def test_a_width_is_one_of_those_that_are_drawn(width: int) -> None:
    assert selection.parse_width(str(width)) == width
    assert selection.parse_width(str(width + 1)) == max(selection.WIDTHS)


def page() -> None:
    """Clicks as the session says, and shows what is selected then."""
    import streamlit as st

    from ncd.app.state import selection

    if (wish := st.session_state.get("wish")) is not None:
        del st.session_state["wish"]
        maps = {"n6": ("Maps", {"map": "n6"})}
        selection.apply_event(wish, lambda id: maps.get(id, ("Values", {})))
    st.text(repr([st.session_state.get(k) for k in ("select", "panel", "axes")]))
    st.text(repr([st.session_state.get("map"), st.session_state.get(selection.PANEL_BY_HAND)]))


@pytest.mark.parametrize(
    ("before", "wish", "after"),
    [
        ({}, {"id": "n1"}, ["n1", None, None]),
        ({"select": "n1"}, {"id": "n1"}, ["", None, None]),
        ({"select": "n2"}, {"id": "n1"}, ["n1", None, None]),
        ({}, {"id": "n1", "open": True}, ["n1", "Values", None]),
        ({"panel": "Cost"}, {"id": "n1", "open": False}, ["n1", "Cost", None]),
        ({"select": "n1", "panel": "Cost"}, {"id": "n1", "open": True}, ["n1", "Values", None]),
        ({"select": "n1", "panel": "Values"}, {"id": "n1", "open": True}, ["", "Values", None]),
        ({"quiz": "1"}, {"id": "n1", "open": True}, ["n1", None, None]),
        ({}, {"id": "save-v7"}, ["v7", None, None]),
        ({}, {"id": "load-v7~"}, ["v7", None, None]),
        ({}, {"axes": "k,h", "id": 3}, [None, None, "k,h"]),
        ({"axes": "k"}, {"axes": None}, [None, None, "k"]),
    ],
)
def test_a_click_selects_or_clears_and_may_open_the_card(
    before: dict[str, str], wish: dict[str, object], after: list[str | None]
) -> None:
    app = AppTest.from_function(page)
    for key, value in before.items():
        app.session_state[key] = value
    app.session_state["wish"] = wish
    app.run()
    assert not app.exception
    assert app.text[0].value == repr(after)


HAND = {selection.PANEL_BY_HAND: True}


@pytest.mark.parametrize(
    ("before", "id", "panel", "map", "by_hand"),
    [
        ({"panel": "Cost"}, "n6", "Maps", "n6", None),
        ({"panel": "Maps", "map": "n2"}, "n6", "Maps", "n6", None),
        ({"panel": "Cost", "select": "n1", **HAND}, "n6", "Cost", None, True),
        ({"panel": "Maps", "select": "n1", **HAND}, "n6", "Maps", "n6", True),
        ({"panel": "Cost", "select": "n6", **HAND}, "n6", "Cost", None, False),
        ({"panel": "Cost", "select": "n1", **HAND}, "", "Cost", None, False),
    ],
)
def test_the_panel_follows_until_a_tab_is_pressed_by_hand(
    before: dict[str, object], id: str, panel: str, map: str | None, by_hand: bool | None
) -> None:
    app = AppTest.from_function(page)
    for key, value in before.items():
        app.session_state[key] = value
    app.session_state["wish"] = {"id": id, "open": True}
    app.run()
    assert not app.exception
    assert app.session_state["panel"] == panel
    assert app.text[1].value == repr([map, by_hand])


@pytest.mark.parametrize("selected", ["", "n1"])
def test_a_tab_pressed_by_hand_counts_while_something_is_selected(selected: str) -> None:
    with patch.object(st, "session_state", {"select": selected}) as state:
        selection.keep_panel()
    assert state[selection.PANEL_BY_HAND] is bool(selected)


def test_only_an_id_of_the_circuit_is_selected() -> None:
    for id, found in (("n1", "n1"), ("n9999", ""), ("", "")):
        with patch.object(st, "session_state", {"select": id}):
            assert selection.selected_id(CIRCUIT) == found


@pytest.mark.parametrize(
    ("chosen", "cookie", "width"),
    [
        ("620", "340", 620),
        ("", "340", 340),
        (None, "340", 340),
        (None, "", 1280),
        ("9", "340", 1280),
    ],
)
def test_the_width_is_the_measured_one_and_first_that_of_the_cookie(
    chosen: str | None, cookie: str, width: int
) -> None:
    cookies = {selection.COOKIE: cookie} if cookie else {}
    with (
        patch.object(st, "session_state", {selection.WIDTH_KEY: chosen}),
        patch.object(st, "context", SimpleNamespace(cookies=cookies)),
    ):
        assert selection.width() == width
