"""The values of a run stand on the wires where a visitor asks for them, in every host."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest

import ncd
from ncd.app.figure import diagram
from ncd.app.figure.diagram import diagram_message, wire_options
from ncd.app.host.embed_endpoint import page_html
from ncd.app.host.live_endpoint import drawing_json
from ncd.app.scene.scene import Scene
from ncd.app.state import selection
from ncd.app.state.hide_sizes import HiddenSizes
from ncd.systems.inputs.run_inputs import InputSpec


def scene(name: str, **more: Any) -> Scene:
    entry = ncd.catalogue[name]
    settings = entry.settings({})
    usual = {"labels": "names", "shows_values": True, **more}
    return Scene(
        entry,
        settings,
        seed=0,
        device="cpu",
        inputs_spec=InputSpec(),
        dark=False,
        selected_id="",
        term=entry.build(**settings),
        **usual,
    )


def drawn(own: Scene) -> str:
    return diagram_message(own, None, selection.AUTO).svg


def test_the_page_draws_the_pictures_of_its_own_run() -> None:
    own = scene("multi-head-attention")
    expected = ncd.thumbnails(own.module, own.trace)
    assert own.thumbnails == expected
    assert drawn(own).count('<g class="thumbnail" ') == len(expected)
    assert drawn(own).count("<image") == sum(len(each.tiles) for each in expected.values())
    other = replace(own, seed=1)
    assert other.thumbnails != expected and drawn(other) != drawn(own)


@pytest.mark.parametrize(
    "more",
    [
        {"shows_values": False},
        {"hidden_sizes": HiddenSizes("v7")},  # a quiz asks for what the pictures would tell
    ],
)
def test_they_are_not_shown_elsewhere(more: dict[str, Any]) -> None:
    assert "thumbnail" not in drawn(scene("multi-head-attention", **more))


def test_a_system_that_is_too_large_to_run_is_drawn_without_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NCD_MAX_FLOPS", "1000")
    assert not scene("multi-head-attention").thumbnails


def test_a_long_run_is_not_made_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    own = replace(scene("bert"), seed=4711)  # which no other test has run
    monkeypatch.setattr(Scene, "starts_on_demand", property(lambda _: True))
    assert not own.thumbnails
    assert own.trace.values  # once a panel has run it, they are there
    assert own.thumbnails


def test_while_a_slider_moves_the_frames_are_drawn_and_nothing_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def run(_: Scene) -> None:
        raise AssertionError("a preview ran")

    with monkeypatch.context() as patch:
        patch.setattr(Scene, "_run", run)
        found = drawing_json("multi-head-attention", urlencode({"h": "2", "labels": "values"}))
    assert found
    svg = str(found["svg"])
    page = drawn(replace(scene("multi-head-attention"), labels="names"))
    assert svg.count('<g class="thumbnail" ') == page.count('<g class="thumbnail" ')
    assert "<image" not in svg


def test_a_website_that_holds_a_diagram_shows_them_too() -> None:
    assert page_html("multi-head-attention", {"labels": "values"}).count("<image") > 9
    assert "<image" not in page_html("multi-head-attention", {})


def test_a_word_of_a_link_decides_what_stands_on_the_wires() -> None:
    assert wire_options("sizes") == {"labels": "sizes", "shows_values": False}
    assert wire_options("no such") == {"labels": "names", "shows_values": False}
    assert scene("lenet").on_wires == "values"
    assert replace(scene("lenet"), shows_values=False, labels="both").on_wires == "both"
    assert dict(parse_qsl(diagram.drawing_query(scene("lenet"))))["labels"] == "values"
