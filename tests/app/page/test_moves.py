"""A move shows what the run of the page shows, and changes nothing of the session."""

from __future__ import annotations

import gc
import runpy
import sys
from base64 import b64decode
from copy import deepcopy
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import streamlit as st
import torch

import ncd
from ncd.app.page import moves
from ncd.app.page import page as page_frame
from ncd.app.page.moves import MovedPage, ShownPage, shown_page
from ncd.app.panels.attention.attention_maps import ATTENTION_MAPS, HEAD
from ncd.app.panels.walk.shapes_and_cost import SHAPES
from ncd.app.panels.walk.values import VALUES
from ncd.app.runtime import streamlit_internals
from ncd.app.scene.panel import Panel
from ncd.app.state import knobs, selection
from ncd.systems.catalogue_entry import Entry
from tests.test_layering import ROOT

PAGE = "multi-head-attention"
LENET = ncd.catalogue["lenet"]


def shown(
    name: str = PAGE, panel: Panel = ATTENTION_MAPS, dark: bool = False, **state: object
) -> ShownPage:
    usual: dict[str, Any] = {"input": "random", selection.WIDTH_KEY: "1280"}
    return ShownPage(ncd.catalogue[name], panel, dark, {**usual, **state})


def asked(entry: Entry, **sizes: int) -> dict[str, str]:
    return {name: str(value) for name, value in {**entry.settings({}), **sizes}.items()}


def move(page: ShownPage, **sizes: int) -> MovedPage:
    return MovedPage(page, asked(page.entry, **sizes))


def numbers(part: Any) -> np.ndarray[Any, Any]:
    """Returns the cells of a map as the browser reads them."""
    held = part["map"]
    cells = np.frombuffer(b64decode(held["cells"]), "<f4")
    return cells.reshape(held["rows"]["cells"], held["columns"]["cells"])


def test_the_open_map_holds_the_weights_at_the_new_sizes() -> None:
    own = move(shown(**{HEAD.name: "2", "seed": 5}), y=7, x=9, h=3)
    drawing, parts = own.drawing(), own.parts()
    term = ncd.catalogue[PAGE].build(y=7, x=9, h=3)
    assert drawing["svg"] == ncd.draw(term, **own.scene.draw_options).svg(fonts=False)  # type: ignore[union-attr]
    module, inputs = ncd.compile(term, 5), [*own.scene.inputs]  # type: ignore[union-attr]
    y, x = inputs
    q, k = (torch.einsum("tm,mkh->tkh", a, w) for a, w in zip(inputs, learned(module), strict=True))
    weights = (torch.einsum("ykh,xkh->yxh", q, k) * 16**-0.5).softmax(1)
    assert (y.shape, x.shape) == ((7, 128), (9, 128))
    found = numbers(parts["attention"])
    np.testing.assert_allclose(found, weights[:, :, 2].detach().numpy(), rtol=1e-4, atol=1e-6)


def learned(module: torch.nn.Module) -> list[torch.Tensor]:
    """Returns the weights of Q and K, of the axes m, k and h."""
    named = dict(module.named_parameters())
    found = [named[f"{name}.weight"].reshape(16, 3, 128).permute(2, 0, 1) for name in "QK"]
    return found


def test_nothing_of_the_session_changes() -> None:
    page = shown(**{knobs.NOTES: {}, knobs.RANGES: {}, HEAD.name: "3"})
    before = deepcopy(dict(page.state))
    own = move(page, h=2, k=-4)
    own.drawing()
    own.parts()
    assert own.state[HEAD.name] == "1" and own.state[knobs.NOTES]["k"].startswith("k cannot be -4")
    assert page.state == before


def test_an_illegal_size_becomes_the_nearest_one() -> None:
    page = shown("residual-block", VALUES)
    assert move(page, n1=71).drawing() == move(page, n1=72).drawing()


def test_values_on_the_wires_are_those_of_the_run() -> None:
    own = move(shown(labels="values"), m=32)
    svg = str(own.drawing()["svg"])
    assert own.scene.thumbnails == ncd.thumbnails(own.scene.module, own.scene.trace)  # type: ignore[union-attr]
    assert svg.count("<image") == sum(len(one.tiles) for one in own.scene.thumbnails.values())  # type: ignore[union-attr]


def test_a_long_run_waits_until_the_size_rests() -> None:
    own = move(shown(labels="values"), m=4096, k=128, h=16)
    assert "<image" not in str(own.drawing()["svg"])
    assert own.parts() == {}


def test_what_is_too_large_is_drawn_with_its_reason() -> None:
    own = move(shown(), y=10**6, x=10**6)
    drawing = own.drawing()
    assert "<svg" in str(drawing["svg"]) and own.parts() == {}
    assert str(drawing["cost"]).startswith("<p><b>Too large to run here.</b> A run takes")


def test_what_does_not_fit_is_drawn_up_to_there() -> None:
    page = shown("unet", VALUES)
    own = move(page, depth=8)
    drawing = own.drawing()
    assert str(drawing["cost"]).startswith("<p><b>This does not fit yet.</b> ")
    assert own.parts() == {}


def test_a_panel_that_shows_more_than_html_and_maps_waits() -> None:
    assert move(shown(panel=SHAPES), m=16).parts() == {}


def test_the_values_panel_shows_the_selected_array() -> None:
    own = move(shown(panel=VALUES, select="v9"), m=16, y=3)
    assert own.parts().keys() == {"values"}
    found = numbers(own.parts()["values"])
    value = own.scene.trace.values["v9"]  # type: ignore[union-attr]
    assert found.shape == tuple(value.shape[:2]) == (3, 22)


def test_a_card_follows_as_well() -> None:
    (card,) = move(shown(panel=VALUES, select="n3"), m=48).parts().values()
    assert "48" in card["html"] and 'class="card"' in card["html"]


def test_a_map_has_the_colours_of_the_page() -> None:
    light, dark = (move(shown(panel=VALUES, dark=own), m=16).parts()["values"] for own in (0, 1))
    assert light["map"]["palette"] != dark["map"]["palette"]  # type: ignore[index]


def test_a_question_opens_the_block_of_its_array() -> None:
    page = shown(panel=VALUES)
    own = MovedPage(page, {**asked(page.entry), "about": "v9"})
    assert own.scene.selected_id == own.scene.subject_id == "v9"  # type: ignore[union-attr]


class OutsideRun:
    """Streamlit, of which nothing can be used outside a run of a page."""

    def __getattr__(self, name: str) -> object:
        raise AssertionError(f"st.{name} is for a run of the page")


def page_panels() -> list[tuple[Entry, Panel]]:
    """Returns every panel that follows moves, with the first page that has it."""
    found: dict[str, tuple[Entry, Panel]] = {}

    def keep(entry: Entry, panels: tuple[Panel, ...], **more: object) -> None:
        for panel in panels:
            if panel.follows_moves:
                found.setdefault(panel.title, (entry, panel))

    with patch.object(page_frame, "render_page", keep):
        for path in sorted((ROOT / "pages").glob("*/*.py")):
            runpy.run_path(str(path))
    return [*found.values()]


@pytest.mark.slow
def test_panels_that_follow_moves_need_no_run_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    every = page_panels()
    assert {"Attention", "Values", "Cells", "Gates"} <= {panel.title for _, panel in every}
    closed = OutsideRun()
    for module in [*sys.modules.values()]:
        if module.__name__.startswith("ncd.app.") and getattr(module, "st", None) is st:
            monkeypatch.setattr(module, "st", closed)
    for entry, panel in every:
        own = move(shown(entry.name, panel))
        drawn = own.drawing()
        assert "<svg" in str(drawn["svg"])
        quick = not panel.needs_run or own.scene.is_quick  # type: ignore[union-attr]
        assert bool(own.parts()) == quick, (entry.name, panel.title)


def test_a_page_is_known_while_its_session_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamlit_internals, "session_id", lambda: "a")
    monkeypatch.setattr(selection, "width", lambda: 860)

    class State(dict[str, object]):
        def to_dict(self) -> dict[str, object]:
            return dict(self)

    session = State(h=3)
    with patch.object(st, "session_state", session):
        moves.remember(LENET, VALUES, dark=True)
        moves.remember(LENET, VALUES, dark=True)
    found = shown_page("a", "lenet")
    assert found is session[moves.SHOWN_PAGE_KEY]
    assert found is not None and found.state == {"h": 3, "wide": "860"}
    assert shown_page("a", PAGE) is shown_page("b", "lenet") is None
    session.clear()
    del found
    gc.collect()
    assert shown_page("a", "lenet") is None
