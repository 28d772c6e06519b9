"""A map of numbers as its component gets it, what a click on it sets, and the words beside it."""

from __future__ import annotations

from base64 import b64decode
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
import streamlit as st
import torch

from ncd.app.panels.walk.values import render_histogram, statistics
from ncd.app.parts import charts, heatmap, map_component, slice_picker
from ncd.app.parts.map_component import AxisLabels, CellFrame, Heatmap
from ncd.app.scene.scene import numbers_origin
from ncd.app.state.controls import Place
from ncd.explain.colour_scale import ColourRange, PooledMaps
from ncd.language.axes import Array, Axis
from tests.app.panels.views import scene
from tests.app.parts.test_heatmap import grid

ROW, COLUMN = Place("row"), Place("column")
PLAIN = Heatmap(
    "m",
    "weights",
    PooledMaps(grid(2, 3), (4, 3), (2, 1)),
    ColourRange(0.0, 5.0, 0, 5.0),
    AxisLabels(),
    AxisLabels(),
)


def test_a_map_is_sent_with_its_cells_its_sides_and_its_colours() -> None:
    sides = {
        "rows": AxisLabels("<i>y</i>", "y", ("a", "b")),
        "columns": AxisLabels("<i>x</i>", "x"),
    }
    marks = (CellFrame("chosen", 1, 2), CellFrame("row", 0))
    data = replace(
        PLAIN,
        **sides,
        value_label="of a layer",
        square_cells=True,
        integer_values=True,
        marks=marks,
    ).data
    assert (data["id"], data["label"], data["said"], data["square"]) == (
        *("m", "weights", "of a layer"),
        True,
    )
    assert np.frombuffer(b64decode(data["cells"]), "<f4").tolist() == [0, 1, 2, 3, 4, 5]
    assert data["rows"] == {
        **{"title": "<i>y</i>", "said": "y", "names": ["a", "b"]},
        **{"count": 4, "cells": 2, "block": 2},
    }
    assert data["columns"] == {
        **{"title": "<i>x</i>", "said": "x", "names": []},
        **{"count": 3, "cells": 3, "block": 1},
    }
    assert data["marks"] == [["chosen", 1, 2], ["row", 0, None]]
    assert data["whole"] is False  # a cell stands for two numbers
    assert (
        replace(PLAIN, integer_values=True, pooled_maps=PooledMaps(grid(2, 3), (2, 3))).data[
            "whole"
        ]
        is True
    )
    assert "pixels" not in data and data["picks"] == ""
    seen = replace(PLAIN, pixels=np.full((1, 2, 3), 7, np.uint8)).data
    assert b64decode(seen["pixels"]) == bytes([7] * 6) and "cells" not in seen


@pytest.mark.parametrize(
    ("ends", "told", "stops"),
    [
        (ColourRange(0.0, 5.0, 0, 5.0), ["0", "5"], heatmap.POSITIVE),
        (ColourRange(0.0, 5.0, 1, 50.0), ["0", "≥ 5"], heatmap.POSITIVE),
        (ColourRange(-5.0, 5.0, 0, 5.0), ["−5", "5"], heatmap.scale(signed=True)),
        (ColourRange(-5.0, 5.0, 1, 50.0), ["≤ −5", "≥ 5"], heatmap.scale(signed=True)),
        (ColourRange(2.0, 5.0, 0, 5.0), ["2", "5"], heatmap.POSITIVE),
    ],
)
def test_the_ends_of_the_colours_say_whether_numbers_lie_beyond(
    ends: ColourRange, told: list[str], stops: str
) -> None:
    data = replace(PLAIN, ends=ends).data
    assert (data["low"], data["high"], data["ends"]) == (ends.low, ends.high, told)
    assert b64decode(data["palette"]) == heatmap.palette(stops)


@pytest.mark.parametrize(
    ("rows", "columns", "own", "picks"),
    [
        (None, None, "", ""),
        (ROW, None, "", "cell"),
        (None, COLUMN, "", "cell"),
        (None, None, "one", "one"),
        (ROW, COLUMN, "one", "one"),
    ],
)
def test_a_map_is_clicked_if_a_side_or_the_map_picks(
    rows: Place | None, columns: Place | None, own: str, picks: str
) -> None:
    found = replace(
        PLAIN, rows=AxisLabels(picks=rows), columns=AxisLabels(picks=columns), cell_action=own
    )
    assert found.data["picks"] == picks


@pytest.mark.parametrize(
    ("sent", "sides", "session", "told"),
    [
        ("cell=3,5", (ROW, COLUMN), {"row": "3", "column": "5"}, []),
        ("cell=3,5", (None, COLUMN), {"column": "5"}, []),
        ("cell=3,5", (ROW, None), {"row": "3"}, []),
        ("cell=3,5", (None, None), {}, [("cell", "3,5")]),
        ("head=2", (ROW, COLUMN), {"head": "2"}, []),
        ("other=2", (ROW, COLUMN), {}, [("other", "2")]),
        (None, (ROW, COLUMN), {}, [("", "")]),
    ],
)
def test_a_click_sets_what_its_sides_pick_or_a_control_or_is_told(
    sent: str | None,
    sides: tuple[Place | None, Place | None],
    session: dict[str, str],
    told: list[tuple[str, str]],
) -> None:
    given: dict[str, Any] = {}
    heard = list[tuple[str, str]]()
    rows, columns = (AxisLabels(picks=one) for one in sides)
    own = replace(PLAIN, rows=rows, columns=columns)
    state: dict[str, Any] = {"maps": SimpleNamespace(pick=sent, select={"axes": "k"})}
    with (
        patch.object(st, "session_state", state),
        patch.object(map_component, "_maps", lambda **options: given.update(options)),
    ):
        map_component.render(
            "maps", (Place("head"),), lambda *words: heard.append(words), head="above", map=own
        )
        assert given["data"]["head"] == "above" and given["data"]["map"] == own.data
        given["on_pick_change"]()
        assert {name: state[name] for name in state if name != "maps"} == session
        assert heard == told
        given["on_select_change"]()
        assert state["axes"] == "k"
        map_component.render("maps")
        assert given["data"]["map"] is None
        given["on_pick_change"]()


def test_the_colours_end_at_outliers_or_before_them() -> None:
    ends = ColourRange(0.0, 5.0, 1, 50.0)
    with patch.object(st, "session_state", {}):
        assert map_component.colours(ends) == ends
    with patch.object(st, "session_state", {"colours": "all"}):
        assert map_component.colours(ends) == ends.with_outliers


def test_pictures_are_cut_from_one_sheet() -> None:
    html = map_component.sprite_buttons("data:s", [("a=0", "one"), ("a=1", "two")], "a=1")
    assert "background-position-y:0.0%" in html and "background-position-y:100.0%" in html
    assert html.index("one") < html.index('aria-pressed="true"') < html.index("two")
    assert "--sheet:url('data:s');--parts:2" in html
    assert "position-y:0.0%" in map_component.sprite_buttons("data:s", [("a=0", "one")], "")
    name = map_component.position_html(Axis("k"), 3, "height")
    assert name.endswith(" height = 3") and "data-axis" not in name
    assert map_component.position_html(Axis("k"), 3).endswith("</i> = 3")


# --- which slice ----------------------------------------------------------------------------------

FOUR = Array.parse("a:2 b:5 c:3 d:4")


@pytest.mark.parametrize(
    ("picture", "index", "cell", "slices"),
    [
        ("", (1, 4, 2, 3), "1,4", "c.2,d.3"),
        ("d,a", (1, 4, 2, 3), "3,1", "b.4,c.2"),
        ("d,d", (1, 4, 2, 3), "1,4", "c.2,d.3"),
        ("d", (1, 4, 2, 3), "1,4", "c.2,d.3"),
    ],
)
def test_the_slice_of_a_number_is_chosen_with_its_place_in_it(
    picture: str, index: tuple[int, ...], cell: str, slices: str
) -> None:
    with patch.object(st, "session_state", {"picture": picture}) as state:
        assert slice_picker.select_slice_of(FOUR, index) == cell
        assert state["slices"] == slices
        slice_picker.pick("c", "1")
        assert "c.1" in state["slices"]
        assert slice_picker.place("c") == 1
        for wrong in ("x", "9" * 10):
            slice_picker.pick("c", wrong)
            assert slice_picker.place("c") == 0
        assert slice_picker.place("nothing") == 0


def test_a_row_and_a_number_have_places_too() -> None:
    with patch.object(st, "session_state", {}):
        assert slice_picker.select_slice_of(Array.parse("k:5"), (3,)) == "0,3"
        assert slice_picker.select_slice_of(Array.parse("()"), ()) == "0,0"


@pytest.mark.parametrize(
    ("text", "slices", "at", "right"),
    [
        ("a:2 b:5 c:3 d:4", "c.2,d.3", (0, 0, 2, 3), None),
        ("a:2 b:5 c:3 d:4", "c.3,d.3,z.9", (0, 0, 2, 3), "c.2,d.3,z.9"),
        ("a:2 b:5 c:3 d:4", "c.9999999999", (0, 0, 0, 0), "c.0"),
        ("c:3 x:4x4", "", (-1, 0, 0), None),
        ("c:3 x:4x4", "c.0", (0, 0, 0), None),
        ("c:3 x:4x4", "c.", (-1, 0, 0), None),
        ("c:2 x:4x4", "", (0, 0, 0), None),
    ],
)
def test_a_place_beyond_an_array_is_put_right_in_the_link(
    text: str, slices: str, at: tuple[int, ...], right: str | None
) -> None:
    state = {"slices": slices}
    with patch.object(st, "session_state", state), patch.object(st, "rerun") as again:
        assert slice_picker.chosen_slice(Array.parse(text)).positions == at
    assert again.called == (right is not None)
    assert state["slices"] == (slices if right is None else right)


def test_an_image_is_in_colours_if_its_three_channels_are_chosen() -> None:
    array, numbers = Array.parse("c:3 x:4x4"), torch.rand(3, 4, 4)
    whole = slice_picker.default_slice(array)
    seen = slice_picker.image(numbers, whole)
    assert seen is not None and seen.shape == (4, 4, 3)
    assert (seen == heatmap.rgb_image(numbers.numpy())).all()
    assert slice_picker.image(numbers, replace(whole, positions=(0, 0, 0))) is None
    assert (
        slice_picker.image(numbers[:2], slice_picker.default_slice(Array.parse("c:2 x:4x4")))
        is None
    )


# --- words and charts -----------------------------------------------------------------------------


def test_a_caption_says_where_numbers_come_from_and_explains_chance() -> None:
    attention = scene("multi-head-attention", seed=3)
    told = numbers_origin(attention)
    assert told.startswith('<abbr title="They are as they were drawn, before any training')
    assert told.endswith("Untrained weights</abbr> and random inputs, from seed 3.")
    plain = scene("scaled-dot-product-attention")
    assert numbers_origin(plain) == "Random inputs, from seed 0; nothing is learned here."
    learned: Any = SimpleNamespace(summary="trained for 5 steps")
    assert numbers_origin(replace(attention, loaded_weights=learned)).startswith(
        "Weights trained for 5"
    )


@pytest.mark.parametrize(("bins", "on", "shown"), [(40, True, 1), (40, False, 0), (0, True, 0)])
def test_a_histogram_is_shown_on_demand(bins: int, on: bool, shown: int) -> None:
    numbers = torch.arange(80.0) if bins else torch.tensor([torch.nan])
    found = list[tuple[Any, ...]]()
    with (
        patch.object(st, "toggle", lambda *_, **__: on),
        patch.object(charts, "render", lambda *parts: found.append(parts)),
    ):
        render_histogram(statistics(numbers), "k")
    assert len(found) == shown
    for figure, key, said in found:
        assert (sum(figure.data[0].y), key) == (80, "k chart")
        assert said.endswith("40 equal steps from 0 to 79")


def test_a_chart_has_its_height_and_is_described() -> None:
    figure = charts.bars("Cost", ["a"], {"FLOPs": [1.0]})
    with patch.object(st, "plotly_chart") as shown:
        charts.render(figure, "k", "said")
    assert shown.call_args.kwargs["height"] == figure.layout.height
    assert shown.call_args.kwargs["alt"] == "said"


@pytest.mark.parametrize(
    ("points", "told"),
    [
        ([], "loss nothing yet"),
        ([(1, 2.5)], "loss from 2.5 at step 1 to 2.5 at step 1"),
        ([(1, 2.5), (5, 9.0), (9, 0.5)], "loss from 2.5 at step 1 to 0.5 at step 9"),
    ],
)
def test_a_curve_is_spoken_from_its_first_to_its_last_point(
    points: charts.Points, told: str
) -> None:
    assert charts.curve_description("loss", points) == told
