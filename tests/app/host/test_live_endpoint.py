"""Drawings that the browser asks for itself: as the page draws them, or nothing."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest
from starlette.responses import Response
from starlette.testclient import TestClient

import ncd
from ncd.app.host import http, live_endpoint
from ncd.app.host.live_endpoint import SESSION_HEADER, drawing_json
from ncd.app.page.moves import MovedPage, ShownPage
from ncd.app.panels.walk.values import VALUES
from ncd.app.scene.scene import SUBSCRIPTS


@pytest.mark.few(20)
@pytest.mark.parametrize("name", ncd.catalogue)
def test_it_draws_what_the_page_draws(name: str) -> None:
    entry = ncd.catalogue[name]
    knobs = entry.with_clamped_indexes(entry.settings({entry.knobs[-1].name: entry.knobs[-1].max}))
    asked = {**knobs, "labels": "sizes", "dark": "1", "callouts": "off", "folded": "none"}
    found = drawing_json(name, urlencode({**asked, "wide": "860"}))
    look = entry.look(knobs, notes=False)
    look["width"] = min(look["width"], SUBSCRIPTS * 860)
    drawing = ncd.draw(entry.build(**knobs), "sizes", dark=True, folded=(), **look)
    assert found and found["svg"] == drawing.svg(fonts=False)


@pytest.mark.parametrize("name", ["encoder-decoder", "multi-head-attention"])
def test_a_drawing_of_no_column_is_the_figures_own(name: str) -> None:
    entry = ncd.catalogue[name]
    knob = entry.knobs[0]
    found = drawing_json(name, urlencode({knob.name: knob.default}))
    assert found and found["svg"] == ncd.draw(entry.build(), **entry.look({})).svg(fonts=False)


@pytest.mark.parametrize(
    ("page", "query"),
    [
        ("nothing", "h=1"),
        ("multi-head-attention", ""),
        ("multi-head-attention", f"h={'1' * 60_000}"),
        ("", "h=1"),
    ],
)
def test_there_is_nothing_for_what_is_no_setting_of_a_page(page: str, query: str) -> None:
    assert drawing_json(page, query) is None


def test_what_a_query_says_wrong_is_put_right_as_on_the_page() -> None:
    right = drawing_json("multi-head-attention", "h=1&labels=names")
    wrong = drawing_json("multi-head-attention", "h=-7&labels=<script>&m=abc&folded=f99")
    assert wrong == right


@pytest.fixture
def client() -> TestClient:
    return TestClient(http.ServerMiddleware(Response()), "http://localhost")


def test_a_session_gets_the_drawing_and_then_its_panel(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = ShownPage(ncd.catalogue["layer-norm"], VALUES, False, {"wide": "860"})
    known = {("a", "layer-norm"): page}
    monkeypatch.setattr(live_endpoint, "shown_page", lambda *asked: known.get(asked))
    query = {"t": "5", "m": "8"}
    own = MovedPage(page, query)
    answer = client.get("/_ncd/layer-norm", params=query, headers={SESSION_HEADER: "a"})
    first, second = map(json.loads, answer.text.splitlines())
    assert first == json.loads(json.dumps(own.drawing()))
    assert second == {"parts": json.loads(json.dumps(own.parts()))}
    assert [*second["parts"]] == ["values"]


@pytest.mark.parametrize("session", ["", "b"])
def test_who_names_no_session_gets_the_drawing_alone(client: TestClient, session: str) -> None:
    headers = {SESSION_HEADER: session}
    answer = client.get("/_ncd/layer-norm", params={"t": "5"}, headers=headers)
    assert answer.json() == drawing_json("layer-norm", "t=5")
    assert client.get("/_ncd/nothing", params={"t": "5"}, headers=headers).status_code == 204
