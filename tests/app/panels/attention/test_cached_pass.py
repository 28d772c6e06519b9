"""The Cached pass panel: what is kept at a position, its placements, and what looks ahead."""

from __future__ import annotations

import pytest

from ncd import CausalMask, Id, Softmax, Term, catalogue, decode
from ncd.app.panels.attention.cached_pass import (
    CACHED_PASS,
    NoCachedPass,
    cached_layer_names,
    derive,
    position_axis,
    refusal_html,
)
from tests.app.page.test_pages import fine, page

PAGES = ("latent-attention", "gpt-2", "mamba", "lstm", "encoder-decoder", "sliding-window")


@pytest.mark.parametrize("name", PAGES)
def test_the_panel_stands_at_the_least_and_with_every_switch(name: str) -> None:
    app = page(name, panel=CACHED_PASS.title)
    fine(app)
    knobs = catalogue[name].knobs
    switches = [{knob.name: not knob.default} for knob in knobs if knob.switch]
    for changed in (*switches, {knob.name: knob.min for knob in knobs if not knob.switch}):
        for key, value in changed.items():
            app.session_state[key] = value
        fine(app.run())


def test_a_system_that_looks_ahead_is_told_with_its_array() -> None:
    found = derive(Id("t:4 s:4") >> Softmax("t"))
    assert found == NoCachedPass(
        "Softmax: it joins all places along t, and no place is left that would see them",
        "n0",
        "v0",
    )
    html = refusal_html(found, "t")
    assert 'data-select="v0"' in html
    assert "no place is left that would see them" in html


@pytest.mark.parametrize(
    ("term", "axis"),
    [
        (Id("m:2 t:3"), "t"),
        (Id("m:2, ~y:3 m:2"), "y"),
        (Id("b:2 m:3"), "b"),
        (CausalMask("y x"), "y"),
    ],
)
def test_the_axis_of_positions(term: Term, axis: str) -> None:
    assert position_axis(term) == axis


def test_equal_layers_are_counted_together() -> None:
    assert cached_layer_names(decode(catalogue["gpt-2"].build(n=3)).caches) == "3 × k, 3 × v"
    assert cached_layer_names(decode(catalogue["swiglu"].build()).caches) == "nothing"
