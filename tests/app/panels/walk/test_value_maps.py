"""Which arrays two settings are compared by, what their maps are called, and how far apart."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import streamlit as st

import ncd
from ncd.app.panels.attention import attention_maps
from ncd.app.panels.attention.attention_maps import SOFTMAX, Weights
from ncd.app.panels.walk import compared_values
from ncd.app.panels.walk.compared_diagrams import match
from ncd.app.panels.walk.compared_values import SideValues
from ncd.app.parts import slice_picker
from ncd.app.scene.scene import Scene
from ncd.language.axes import Array, Axis
from tests.app.panels.views import scene, tags, text

ONE, TWO = scene("multi-head-attention", h=2), scene("multi-head-attention", h=4)
TWICE = scene("decoder-block")
PLAIN = scene("lora")


@pytest.fixture(autouse=True)
def session() -> Iterator[dict[str, Any]]:
    state: dict[str, Any] = {}
    with patch.object(st, "session_state", state):
        yield state


def softmaxes(of: Scene) -> list[ncd.circuit.circuit.Cell]:
    return [cell for cell in of.circuit.cells if attention_maps.attends(cell)]


# --- which arrays ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("here", "selected", "softmax", "nth"),
    [
        (TWO, "", "", 0),
        (TWO, "n2", "", 0),
        (TWICE, "", "", 0),
        (TWICE, "", "{1}", 1),
        (TWICE, "", "n999", 0),
        (TWICE, "v1", "", None),
        (PLAIN, "", "", None),
        (PLAIN, "n0", "", None),
    ],
)
def test_a_softmax_is_compared_if_there_is_one_and_no_array_is_selected(
    here: Scene, selected: str, softmax: str, nth: int | None, session: dict[str, Any]
) -> None:
    every = softmaxes(here)
    session[SOFTMAX.name] = softmax.format(*(cell.id for cell in every))
    two = replace(here, selected_id=selected)
    found = match(here.circuit, here.circuit)
    with (
        patch.object(compared_values, "_attention") as attention,
        patch.object(compared_values, "_values") as values,
    ):
        compared_values.pair(here, two, found)
    assert attention.called == (nth is not None) != values.called
    if nth is not None:
        assert attention.call_args.args == ((here, two), (every[nth], every[nth]), every)
    else:
        value = here.circuit.values[selected if selected[:1] == "v" else here.circuit.outputs[0].id]
        assert values.call_args.args == ((here, two), (value, value))


def test_what_one_side_lacks_or_cannot_run_is_left_out() -> None:
    found = match(ONE.circuit, TWO.circuit)
    with patch.object(compared_values, "_attention") as attention:
        compared_values.pair(ONE, TWO, replace(found, rows=()))
        assert attention.call_args.args[1][0] is None
    with patch.object(compared_values, "_values") as values:
        compared_values.pair(ONE, replace(TWO, selected_id="v1"), replace(found, ids={}))
        assert values.call_args.args[1][0] is None
    for runs in ((True, False), (False, True), (False, False)):
        ran = dict(zip((2, 4), runs, strict=True))
        with patch.object(Scene, "can_run", property(lambda own, ran=ran: ran[own.settings["h"]])):
            assert compared_values.pair(ONE, TWO, found) is None
    assert "too large to run" in compared_values.heading(None)


def test_both_maps_are_shown_or_the_words_of_a_side() -> None:
    both = compared_values.pair(ONE, TWO, match(ONE.circuit, TWO.circuit))
    twice = compared_values.pair(TWICE, TWICE, match(TWICE.circuit, TWICE.circuit))
    assert both is not None and both.html == "<p>Attention</p>"
    assert twice is not None and "<select" in twice.html
    lone = replace(both, sides=(SideValues(words="none"), both.sides[1]))
    sent: dict[str, dict[str, Any]] = {}
    with patch.object(
        compared_values.map_component, "render", lambda key, *_, **more: sent.update({key: more})
    ):
        compared_values.show(None)
        assert not sent
        compared_values.show(lone)
    left, right = sent["map pinned"], sent["map now"]
    assert left["map"] is None and "<p>none</p>" in left["head"] and "<p>" not in right["head"]
    assert right["map"].label == f"Now: {both.sides[1].label}"
    assert np.allclose(right["map"].pooled_maps.maps, both.sides[1].grid)


# --- how far apart --------------------------------------------------------------------------------


def side(*rows: list[float]) -> SideValues:
    return SideValues(np.array(rows, np.float32)) if rows else SideValues()


NAN = float("nan")


@pytest.mark.parametrize(
    ("one", "two", "said"),
    [
        (side(), side([1.0]), ""),
        (side([1.0]), side(), ""),
        (side([1.0, 2]), side([1.0, 2]), "They are the same, number by number."),
        (side([1.0, NAN]), side([1.0, NAN]), "They are the same, number by number."),
        (
            side([1.0, 2, NAN]),
            side([1.0, 5, 9]),
            "In the same colours. They are up to 3 apart, 1.5 in the mean.",
        ),
        (
            side([1.0, 2]),
            side([1.0, 2], [3, 4]),
            "1 × 2 and 2 × 2 numbers, in the same colours.",
        ),
    ],
)
def test_two_maps_say_how_far_apart_they_are(one: SideValues, two: SideValues, said: str) -> None:
    assert text(compared_values._difference_html((one, two))) == said


def test_colours_are_for_signs_where_a_number_is_below_zero() -> None:
    values = PLAIN.circuit.outputs[0], PLAIN.circuit.outputs[0]
    for numbers, signed in (([-1.0, 2], True), ([0.0, 2], False), ([NAN, 2], False)):
        with patch.object(compared_values, "_part", return_value=side(numbers)):
            found = compared_values._values((PLAIN, PLAIN), values)
            half = compared_values._values((PLAIN, PLAIN), (None, values[1]))
        assert (found.ends.low < 0) == signed and found.ends.high == 2
        assert half.sides[0] == SideValues() and half.ends == found.ends
    with patch.object(compared_values, "_part", return_value=SideValues()):
        assert compared_values._values((PLAIN, PLAIN), values).ends.high == 1


@pytest.mark.parametrize(("place", "at"), [("", 0), ("c.0", 0), ("c.1", 1), ("c.2", 2)])
def test_a_colour_image_can_be_compared_channel_by_channel(
    place: str, at: int, session: dict[str, Any]
) -> None:
    """The Values panel shows all three at first: no position, of which the first is compared."""
    session[slice_picker.SLICES.name] = place
    cut = slice_picker.chosen_slice(Array.parse("c:3 x:4x5"))
    (slider,) = tags(compared_values._dimension_slider(cut), "input")
    assert (slider["data-set"], slider["max"], slider["value"]) == ("c", "2", str(at))
    assert f"= {at}" in text(compared_values._dimension_slider(cut))
    flat = slice_picker.chosen_slice(Array.parse("x:4x5"))
    assert compared_values._dimension_slider(flat) == compared_values._dimension_slider(None) == ""


# --- heads ----------------------------------------------------------------------------------------


def weights(heads: int, queries: str = "~y", keys: str = "~x") -> Weights:
    own = [Array.parse(f"{name}:3")[0] for name in (queries, keys)]
    maps = np.full((heads, 3, 3), 1 / 3, np.float32)
    return Weights("v1", own[0], own[1], Array((Axis("h", heads),)), maps)


@pytest.mark.parametrize(
    ("found", "head", "words", "square"),
    [
        (None, 0, "It has no such softmax.", False),
        (weights(2), 2, "It has no head 2: 2 heads.", False),
        (weights(1), 1, "It has no head 1: 1 head.", False),
        (weights(2), 1, "", True),
        (weights(2, keys="x"), 0, "", False),
        (weights(2, queries="y"), 0, "", False),
        (replace(weights(1), queries=None), 0, "", False),
    ],
)
def test_a_head_is_shown_if_there_is_one_of_this_number(
    found: Weights | None, head: int, words: str, square: bool
) -> None:
    own = compared_values._head(TWO, found, head)
    assert (own.grid is None) == bool(words) and own.square == square
    if words:
        assert own.words == words
    else:
        assert own.label == f"weights of every query on every key, head {head}"
        assert found is not None and text(own.columns.title).startswith("key x")
        assert text(own.rows.title).startswith("query y" if found.queries else "")
        assert bool(own.rows.title) == (found.queries is not None)


@pytest.mark.parametrize(("heads", "count"), [(1, 0), (2, 2), (16, 16), (17, 16)])
def test_several_heads_have_small_pictures_to_choose_from(heads: int, count: int) -> None:
    assert compared_values._strip(None, 0, compared_values.ColourRange(0.0, 1.0)) == ""
    html = compared_values._strip(weights(heads), 0, compared_values.ColourRange(0.0, 1.0))
    picks = [own["data-pick"] for own in tags(html, "button") if "data-pick" in own]
    assert picks[:count] == [f"head={i}" for i in range(count)]
    assert len(picks) == count + (heads > compared_values.HEADS)  # the others are behind a button
