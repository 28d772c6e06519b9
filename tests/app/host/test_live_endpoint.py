"""Drawings that the browser asks for itself: as the page draws them, or nothing."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

import ncd
from ncd.app.host.live_endpoint import drawing_json
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
