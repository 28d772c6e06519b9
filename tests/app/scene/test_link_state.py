"""The link of a page: what it takes from the address, what pages share, what it says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import streamlit as st

import ncd
from ncd.app.runtime import streamlit_internals
from ncd.app.scene import own_entry, url
from ncd.app.scene.edited_system import EDITS_KEY, write_edits
from ncd.app.scene.panel import Panel
from ncd.app.scene.url import PageState
from ncd.app.state.knobs import NOTES
from ncd.rewrite.rewriting import Rewrite

ATTENTION, BLOCK = ncd.catalogue["multi-head-attention"], ncd.catalogue["encoder-block"]
CHAIN = 'Linear("~t:5 m:4 -> t k:3", "Q") >> Elementwise("relu") >> Linear("k -> n:2", "P")'
OWN = 'Id("~y:5 m:8") >> Linear("m -> k:2", "W")'


class Browser(SimpleNamespace):
    """A visitor's session, and the address that is asked for."""

    def __init__(self) -> None:
        super().__init__(state=State(), query=Query(), back=False, reconnected=False)

    def open(self, page: ncd.Entry | str, back: bool = False, **query: str) -> PageState:
        self.query.clear()
        self.query.update(query)
        self.back = back
        url.load(page)
        found: PageState = self.state[url.STATE]
        return found

    @property
    def note(self) -> str:
        return str(self.state.get(NOTES, {}).get("", ""))


class State(dict[str, Any]):
    def to_dict(self) -> dict[str, Any]:
        return dict(self)


class Query(dict[str, str]):
    def to_dict(self) -> dict[str, str]:
        return dict(self)


@pytest.fixture
def browser() -> Iterator[Browser]:
    own = Browser()
    with (
        patch.object(st, "session_state", own.state),
        patch.object(st, "query_params", own.query),
        patch.object(streamlit_internals, "went_back", lambda: own.back),
        patch.object(streamlit_internals, "has_reconnected", lambda: own.reconnected),
        patch.object(streamlit_internals, "session_id", lambda: "s"),
    ):
        yield own


def test_an_address_is_read_once_and_told_again(browser: Browser) -> None:
    browser.open(ATTENTION, h="8", causal="true", labels="both", present="1")
    assert (browser.state["h"], browser.state["causal"], browser.state["labels"]) == (
        8,
        True,
        "both",
    )
    assert browser.note == ""
    assert url.query() == "?h=8&causal=true&labels=both"
    browser.state["h"] = 9
    browser.open(ATTENTION, h="8")  # its own address again, as in every run
    assert browser.state["h"] == 9
    browser.open(ATTENTION, back=True, h="7")
    assert (browser.state["h"], url.query()) == (7, "?h=7")
    browser.open(ATTENTION, h="6", go="1")
    assert browser.state["h"] == 6
    browser.state["h"] = 5
    browser.open(ATTENTION, h="6", go="1")  # the mark of the same click
    assert browser.state["h"] == 5
    browser.open(ATTENTION, h="6", go="2")
    assert browser.state["h"] == 6


def test_a_followed_link_has_a_mark_that_is_new(browser: Browser) -> None:
    assert url.opened_by_link() is False
    browser.query["go"] = "1"
    assert url.opened_by_link() is True
    browser.open(ATTENTION, go="1")
    browser.query["go"] = "1"
    assert url.opened_by_link() is False
    browser.query["go"] = "2"
    assert url.opened_by_link() is True


def test_pages_share_what_means_the_same(browser: Browser) -> None:
    browser.open(ATTENTION, h="8", seed="5", labels="both", select="n1", pin="k=8", causal="true")
    url.query()
    browser.open(BLOCK)
    assert browser.state["seed"] == 5 and browser.state["labels"] == "both"
    assert browser.state["pin"] == "multi-head-attention:k=8"
    assert browser.state["h"] == 8  # heads are heads
    assert "select" not in browser.state and "causal" not in browser.state
    url.query()
    browser.state["labels"] = "names"
    url.query()
    browser.open(ATTENTION)
    assert browser.state["pin"] == "k=8"
    assert "labels" not in browser.state
    url.query()
    browser.open(BLOCK, back=True)
    assert browser.state["seed"] == 0  # the address of then says all
    browser.open(ATTENTION, seed="0", labels="sizes")
    assert (browser.state["seed"], browser.state["labels"]) == (0, "sizes")


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ({"heads": "8"}, "heads=8"),
        ({"labels": "none"}, "labels=none"),
        ({"a": "1", "b": "2", "c": "3"}, "a=1, b=2, c=3"),
        ({"a": "1", "b": "2", "c": "3", "d": "4"}, "a=1, b=2, c=3 and 1 more"),
        ({"x" * 30: "y" * 30}, f"{'x' * 20}={'y' * 20}"),
        ({"h": "7"}, ""),
    ],
)
def test_what_a_page_does_not_know_is_told(
    query: dict[str, str], told: str, browser: Browser
) -> None:
    browser.open(ATTENTION, **query)
    assert browser.note == (f"The link has {told}, which this page does not know." if told else "")


def test_values_of_hidden_widgets_are_held(browser: Browser) -> None:
    browser.open(ATTENTION, labels="both")
    url.query()
    del browser.state["labels"]  # as Streamlit does
    assert url.query(select="v7") == "?labels=both&select=v7"
    assert browser.state["labels"] == "both"
    assert url.query(select="") == "?labels=both"


def test_the_rest_of_an_address_waits_for_a_text_that_can_be_read(browser: Browser) -> None:
    link = browser.open(own_entry.CUSTOM_PAGE, text="Id(", m="9", zzz="1")
    assert link.waiting == {"m": "9", "zzz": "1"}
    assert browser.state["text"] == "Id("
    assert url.query() == "?m=9&zzz=1&text=Id%28"
    url.switch_entry(ATTENTION)  # of another page
    assert link.waiting is not None
    browser.state |= {"select": "n1", "device": "cpu", "panel": "Cost", "m": 1}
    url.switch_entry(own_entry.custom_entry(OWN))
    assert browser.state["m"] == 9 and browser.note.startswith("The link has zzz=1")
    assert link.waiting is None
    browser.state |= {"text": OWN, "select": "n1", "panel": "Cost", "seed": 4}
    url.query()
    url.switch_entry(own_entry.custom_entry('Id("~y:6 m:3")'))
    assert "select" not in browser.state and "m" not in browser.state
    assert "select" not in link.last_values
    assert (browser.state["panel"], browser.state["seed"], browser.state["text"]) == (
        "Cost",
        4,
        OWN,
    )


def test_a_text_too_long_for_a_link_is_left_out(browser: Browser) -> None:
    browser.open(own_entry.custom_entry(OWN), text=OWN)
    assert "text=" in url.query()
    browser.state["text"] = "".join(chr(Random(i).randrange(33, 99)) for i in range(9000))
    assert "text" not in url.query()


def test_a_reconnected_session_asks_the_browser_for_its_address(browser: Browser) -> None:
    browser.reconnected = True
    with patch.object(url, "_address_component", lambda **_: SimpleNamespace(search="?h=8&seed=2")):
        browser.open(ATTENTION, h="5")
    assert (browser.state["h"], browser.state["seed"]) == (8, 2)


def test_the_walk_is_step_unless_a_knob_is(browser: Browser) -> None:
    assert url.step_key(ATTENTION) == "step"
    stepping = ncd.systems.catalogue.Knob("step", 1, 3, 1)
    assert url.step_key(replace(ATTENTION, knobs=(*ATTENTION.knobs, stepping))) == "stop"
    names = url.parameters(ATTENTION, [Panel("Cost", print), Panel("Map", print)])
    assert names["panel"].default == "Cost"
    assert names["panel"].read("Map") == "Map" and names["panel"].read("x") is None
    assert "panel" not in url.parameters(ATTENTION, ())
    assert "text" not in names and "text" in url.parameters(own_entry.custom_entry(OWN), ())
    assert {"input", "text_y", "text_x", "positions"} <= set(names)
    assert "positions" not in url.parameters(ncd.catalogue["lenet"], ())
    assert "drawing" in url.parameters(ncd.catalogue["lenet"], ())


def test_no_map_has_the_key_of_a_control() -> None:
    """Streamlit refuses a page on which two elements have one key."""
    shown = re.compile(r'map_component\.render\(\s*"([^"]+)"')
    sources = (Path(ncd.__file__).parent / "app").rglob("*.py")
    maps = {key for file in sources for key in shown.findall(file.read_text())}
    kept = {name for entry in ncd.catalogue.values() for name in url.parameters(entry, ())}
    assert {"attention", "positions-map"} <= maps
    assert not maps & kept


@pytest.mark.parametrize(
    ("asked", "sizes"),
    [
        ({}, None),
        ({url.SYSTEM_KEY: "no-such-page"}, None),
        ({url.SYSTEM_KEY: own_entry.CUSTOM_PAGE, "text": OWN}, None),
        ({url.SYSTEM_KEY: ATTENTION.name}, {}),
        ({url.SYSTEM_KEY: ATTENTION.name, "h": "2", "m": "ten", "zzz": "3"}, {"h": 2}),
        ({url.SYSTEM_KEY: ATTENTION.name, "h": "-3"}, {"h": 1}),
    ],
)
def test_a_link_opens_a_system_to_be_changed_at_its_sizes(
    asked: dict[str, str], sizes: dict[str, int] | None
) -> None:
    found = url.linked_system(asked)
    if sizes is None:
        assert found is None
    else:
        assert found is not None
        assert ncd.elaborate(found).term == ncd.elaborate(ATTENTION.build(**sizes)).term


def test_a_link_to_sizes_that_do_not_meet_opens_nothing_to_be_changed() -> None:
    asked = {url.SYSTEM_KEY: "unet", "depth": "2"}
    assert url.linked_system({**asked, "x": "32", "y": "32"}) is not None
    assert url.linked_system({**asked, "x": "33", "y": "32"}) is None


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ({}, own_entry.DEFAULT_TEXT),
        ({"text": OWN}, OWN),
        ({"text": CHAIN, EDITS_KEY: "[]"}, CHAIN),
        ({"text": "Id(", EDITS_KEY: write_edits([Rewrite("remove", "n1")])}, "Id("),
    ],
)
def test_the_text_of_a_page_is_that_after_its_edits(values: dict[str, str], text: str) -> None:
    link = SimpleNamespace(last_values=values)
    assert url._written_text(link) == text  # type: ignore[arg-type]


def test_an_edit_is_in_the_text_of_a_page() -> None:
    edits = write_edits([Rewrite("remove", "n1")])
    link = SimpleNamespace(last_values={"text": CHAIN, EDITS_KEY: edits})
    text = url._written_text(link)  # type: ignore[arg-type]
    assert " ".join(text.split()) == (
        "Axes(t=seq(5), m=4, k=3, n=2)( Linear('t m -> t k', 'Q') >> Linear('k -> n', 'P') )"
    )
