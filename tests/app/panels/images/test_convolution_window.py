"""The window over a picture: its sizes, and the number that is written out, against torch."""

from __future__ import annotations

import random
import re
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
import streamlit as st
import torch
from torch.nn import functional as F

import ncd
from ncd.app.panels.images import convolution_window, receptive_field
from ncd.app.panels.images.convolution_window import (
    CONVOLUTION_WINDOW,
    TransposedSizes,
    WindowPlanes,
    WindowSizes,
    window_planes,
)
from ncd.app.parts import heatmap
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.ops.sliding_window import WindowWalk
from ncd.systems.inputs.run_inputs import opening_inputs
from ncd.systems.training.trained_weights import shipped_weights
from tests.app.panels.views import images, inside, scene, shown, tags, text


def page(name: str = "convolution", **knobs: int) -> Scene:
    """The page as it opens at these knobs, with its filters and its picture."""
    own = scene(name, **knobs)
    return replace(
        own,
        loaded_weights=shipped_weights(own.entry, own.settings),
        inputs_spec=opening_inputs(own.entry, own.term, own.settings),
    )


def sent_by(panel: Panel, own: Scene, **session: str) -> dict[str, object]:
    """What a panel with a component sends to the browser."""
    found: dict[str, object] = {}

    def component(data: dict[str, object], **more: object) -> None:
        found.update(data)

    with (
        patch.object(convolution_window, "_window", component),
        patch.object(receptive_field, "_field", component),
        patch.dict("streamlit.session_state", session, clear=True),
    ):
        panel.show(own)
    return found


def sent(own: Scene, **session: str) -> dict[str, object]:
    return sent_by(CONVOLUTION_WINDOW, own, **session)


# --- the formula ----------------------------------------------------------------------------------


def the_formula_equals_torch(count: int) -> None:
    draw = random.Random(0)
    for _ in range(count):
        k, s, p, d = (draw.randint(*ends) for ends in ((1, 11), (1, 9), (0, 12), (1, 5)))
        least = max(1, d * (k - 1) + 1 - 2 * p)
        own = WindowSizes(draw.randint(least, least + 60), k, s, p, d)
        x, w = torch.empty(1, 1, own.x, device="meta"), torch.empty(1, 1, k, device="meta")
        assert F.conv1d(x, w, None, s, p, d).shape[-1] == own.count, own
        reached = (own.count - 1) * s + own.span
        assert own.left == own.padded - reached and 0 <= own.left < s, own
        term = ncd.Conv("c x -> f:1 y", "conv", k, s, p, dilation=d)
        if count < 1000:
            assert term.infer_outputs(ncd.Type.parse(f"c:1 x:{own.x}"))[0].shape == (1, own.count)


def test_the_size_formula_equals_torch() -> None:
    the_formula_equals_torch(500)


@pytest.mark.slow
def test_the_size_formula_equals_torch_at_ten_thousand_settings() -> None:
    the_formula_equals_torch(10_000)


def the_transposed_formula_equals_torch(count: int) -> None:
    draw = random.Random(1)
    for _ in range(count):
        k, s, p, d = (draw.randint(*ends) for ends in ((1, 11), (1, 9), (0, 12), (1, 5)))
        o = draw.randrange(max(s, d))
        least = max(1, 1 - (d * (k - 1) + o - 2 * p) // s)
        own = TransposedSizes(draw.randint(least, least + 60), k, s, p, d, o)
        x, w = (torch.ones(1, 1, n, dtype=torch.float64) for n in (own.x, k))
        counts = F.conv_transpose1d(x, w, None, s, p, o, 1, d)[0, 0]
        assert own.overlaps == counts.tolist() and own.count == len(counts), own
        if count < 1000:
            op = ncd.ConvTranspose("c x -> f:1 y", "up", k, s, p, True, o, d)
            assert op.infer_outputs(ncd.Type.parse(f"c:1 x:{own.x}"))[0].shape == (1, own.count)


def test_the_transposed_size_formula_and_its_overlaps_equal_torch() -> None:
    the_transposed_formula_equals_torch(500)


@pytest.mark.slow
def test_the_transposed_size_formula_equals_torch_at_ten_thousand_settings() -> None:
    the_transposed_formula_equals_torch(10_000)


# --- the sum --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "knobs"),
    [
        ("convolution", {}),
        ("convolution", {"c": 3, "f": 3, "k": 5, "s": 2, "d": 2, "x": 19}),
        ("convolution", {"c": 2, "f": 3, "g": 4, "k": 2, "p": 0, "filter": 6}),
        ("convolution", {"n": 1, "x": 17, "k": 4, "d": 3, "s": 2, "p": 3, "filter": 5}),
        ("convolution", {"n": 3, "x": 8, "c": 2, "k": 3, "s": 2, "d": 2, "p": 2, "filter": 6}),
        ("convolution", {"c": 3, "k": 5, "s": 2, "p": 4, "x": 9, "mode": 1}),
        ("convolution", {"n": 1, "k": 4, "d": 2, "p": 8, "x": 8, "g": 2, "mode": 3}),
        ("convolution", {"n": 3, "x": 8, "k": 3, "s": 2, "p": 2, "c": 2, "mode": 2}),
        ("pooling", {"c": 3, "k": 3, "p": 1, "x": 9}),
        ("pooling", {"n": 1, "k": 4, "s": 3, "p": 1, "x": 17}),
        ("pooling", {"n": 3, "x": 8, "c": 2, "p": 1}),
        ("pooling", {"k": 3, "p": 1, "s": 1, "c": 2, "x": 9, "kind": 1}),
        ("pooling", {"n": 3, "x": 8, "k": 3, "kind": 1}),
        ("transposed-convolution", {}),
        ("transposed-convolution", {"c": 3, "k": 5, "s": 3, "p": 0, "o": 2, "x": 7, "filter": 3}),
        ("transposed-convolution", {"n": 1, "k": 2, "s": 3, "p": 5, "d": 3, "filter": 3}),
        ("transposed-convolution", {"n": 3, "x": 4, "c": 2, "s": 3, "d": 2, "filter": 3}),
    ],
    ids=str,
)
def test_what_is_written_out_is_the_number_of_the_map(name: str, knobs: dict[str, int]) -> None:
    own, draw = page(name, **knobs), random.Random(1)
    result = own.trace.outputs[0]
    for map in range(len(result)):
        deep = draw.randrange(result.shape[1]) if own.settings["n"] == 3 else 0
        found = window_planes(own, map, deep)
        whole = result[map, deep] if own.settings["n"] == 3 else result[map]
        np.testing.assert_array_equal(found.result, whole.view(found.result.shape).numpy())
        for _ in range(4):
            at = tuple(draw.randrange(side) for side in found.result.shape)
            written = found.sum_text(*at)
            assert written == pytest.approx(float(found.result[at]), abs=1e-4), (map, at)


def test_what_is_sent_says_the_sizes_and_the_cost_beside_a_dense_map() -> None:
    data = sent(page(x=28, s=3, p=0))
    said = text(str(data["sizes"]))
    for part in ("28 + 2·0 = 28", "1·2 + 1 = 3", "28 − 3 = 25", "⌊25 / 3⌋ + 1 = 9"):
        assert part in said
    assert "1 place at the far end: in no window" in said
    dense = torch.nn.Linear(28 * 28, 4 * 9 * 9)
    count = sum(p.numel() for p in dense.parameters())
    assert f"40 parameters, where a dense map has {count:,}" in text(str(data["foot"]))
    assert data["count"] == (9, 9) and data["shape"] == (28, 28)


def test_it_begins_at_the_largest_number_that_sees_no_padding() -> None:
    own = page()
    map = own.trace.outputs[0][0].abs()
    row, column = sent(own)["at"]  # type: ignore[misc]
    assert map[row, column] == map[1:-1, 1:-1].max() < map.max()
    assert sent(own, window="90.3")["at"] == (31, 3)


# --- the filters ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_the_filters_do_what_they_are_called(n: int, k: int) -> None:
    """An even picture stays as it is, or has no edges; a slope rises everywhere alike."""
    knobs = {"n": n, "k": k, "x": 16, "p": 0, "f": 5, "c": 2}
    module, even = page(**knobs).module, torch.full((2, *[16] * n), 0.5)
    upright, level, outline, blur, sharpen = module(even)
    for edges in (upright, level, outline):
        assert edges.abs().max() < 1e-4
    for same in (blur, sharpen):
        assert (same - 0.5).abs().max() < 1e-4
    slope = torch.linspace(0, 1, 16).expand(2, *[16] * n)
    rise = module(slope)[0]
    assert rise.std() < 1e-4 and (rise.mean() > 0.01) == (k > 1)


# --- the row of places ----------------------------------------------------------------------------


def kinds(html: str) -> str:
    """A sign for the kind of each place."""
    signs = {"pad": ".", "pixel": "x", "off": "-"}
    return "".join(signs[own["class"]] for own in tags(html, "rect"))


def test_every_place_is_padding_a_pixel_or_fallen_off() -> None:
    html = WindowSizes(x=6, k=3, s=3, p=2, d=1).strip()
    assert kinds(html) == "..xxxxxx.-"
    assert text(html) == "✂ 1 place at the far end: in no window."
    assert 'viewBox="0 0 10 1.50" role="img" aria-label="3 windows of 3 on 10 places"' in html
    assert text(WindowSizes(x=6, k=3, s=1, p=0, d=1).strip()) == "Every place is in a window."


@pytest.mark.parametrize(
    ("own", "levels"),
    [
        (WindowSizes(x=12, k=1, s=1, p=0, d=1), 1),
        (WindowSizes(x=12, k=3, s=1, p=1, d=1), 3),
        (WindowSizes(x=12, k=3, s=2, p=0, d=1), 2),
        (WindowSizes(x=12, k=2, s=3, p=0, d=2), 1),
        (WindowSizes(x=24, k=6, s=1, p=0, d=1), 6),
        (TransposedSizes(x=5, k=3, s=2, p=1, d=1, o=1), 2),
    ],
)
def test_windows_that_overlap_have_lines_on_different_levels(
    own: WindowSizes | TransposedSizes, levels: int
) -> None:
    lines = tags(own.strip(), "line")
    assert len(lines) == (own.count if isinstance(own, WindowSizes) else own.x)
    ends = [(float(one["x1"]), float(one["x2"])) for one in lines]
    for i, end in enumerate(ends):
        assert end == (pytest.approx(i * own.s + 0.1), pytest.approx(i * own.s + own.span - 0.1))
    high = [one["y1"] for one in lines]
    assert high == [one["y2"] for one in lines] and len({*high}) == levels
    assert all(
        high[i] != high[j] for i in range(len(lines)) for j in range(i) if ends[j][1] > ends[i][0]
    )
    places = len(tags(own.strip(), "rect"))
    assert sorted({float(y) for y in high}) == pytest.approx(
        [1 + places / 40 * (n + 1) for n in range(levels)], abs=0.006
    )


def test_lines_have_six_levels_at_most_and_a_long_side_is_not_drawn() -> None:
    assert len({one["y1"] for one in tags(WindowSizes(24, 9, 1, 0, 1).strip(), "line")}) == 6
    said = "Every place is in a window"
    assert "<svg" in WindowSizes(300, 1, 1, 0, 1).strip()
    assert WindowSizes(301, 1, 1, 0, 1).strip() == f"<p class='fallen'>{said}.</p>"


def test_a_place_is_the_darker_the_more_windows_reach_it() -> None:
    html = TransposedSizes(x=4, k=3, s=2, p=1, d=1, o=1).strip()
    assert kinds(html) == ".xxxxxxxx."
    assert re.findall(r"--here\) (\d+)%", html) == ["38", "75", "38", "75", "38", "75", "38", "38"]
    assert [float(own["x"]) for own in tags(html, "text")] == [n + 0.5 for n in range(1, 9)]
    assert inside(html, "text") == ["1", "2", "1", "2", "1", "2", "1", "1"]
    assert text(inside(html, "p")[0]) == "Inner places are in 1 or 2 windows: a checkerboard."


@pytest.mark.parametrize(("x", "written"), [(18, True), (19, False)])
def test_the_numbers_of_windows_are_written_where_there_is_room(x: int, written: bool) -> None:
    own = TransposedSizes(x=x, k=3, s=1, p=0, d=1, o=0)
    assert own.count == x + 2
    assert bool(tags(own.strip(), "text")) == written


@pytest.mark.parametrize(
    ("k", "s", "p", "inner"),
    [
        (3, 2, 0, {1, 2}),
        (4, 2, 1, {2}),
        (4, 2, 0, {2}),
        (2, 2, 0, {1}),
        (5, 2, 4, {2, 3}),
        (1, 2, 0, {0, 1}),
    ],
)
def test_inner_places_are_those_that_no_end_is_near(
    k: int, s: int, p: int, inner: set[int]
) -> None:
    assert TransposedSizes(x=8, k=k, s=s, p=p, d=1, o=0).inner_overlaps == inner


def test_where_every_place_is_near_an_end_all_count() -> None:
    own = TransposedSizes(x=1, k=3, s=1, p=0, d=1, o=0)
    assert own.inner_overlaps == {1} and "Every inner place is in 1 window: no" in own.strip()


def test_a_count_is_derived_step_by_step() -> None:
    plain = text(WindowSizes(x=10, k=3, s=2, p=1, d=1).derivation(False))
    assert plain == (
        "x + 2p = 10 + 2·1 = 12 placesk = 3 under the window12 − 3 = 9 places to move on"
        "⌊9 / 2⌋ + 1 = 5 windowsy = ⌊(x + 2p − k) / s⌋ + 1 = 5"
    )
    dilated = text(WindowSizes(x=10, k=3, s=2, p=1, d=2).derivation(True))
    assert "d(k − 1) + 1 = 2·2 + 1 = 5 under the window" in dilated
    assert dilated.endswith("y = ⌊(x + 2p − d(k − 1) − 1) / s⌋ + 1 = 4")
    assert text(TransposedSizes(x=5, k=3, s=2, p=1, d=2, o=1).derivation(True)) == (
        "(x − 1)·s = 4·2 = 8 to the lastd(k − 1) + 1 = 2·2 + 1 = 5 places in it"
        "8 + 5 = 13 places reached− 2p + o = 13 − 2 + 1 = 12 places"
        "y = (x − 1)s − 2p + d(k − 1) + o + 1 = 12"
    )


# --- what stands around it ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "knobs", "title"),
    [
        ("convolution", {"p": 0}, "The picture"),
        ("convolution", {"p": 1, "n": 1}, "The line, with its padding"),
        ("convolution", {"p": 0, "n": 3, "x": 8}, "The volume"),
        ("convolution", {"p": 0, "mode": 1}, "The picture"),
        ("convolution", {"mode": 1}, "The picture, edge mirrored"),
        ("convolution", {"n": 1, "mode": 2}, "The line, edge repeated"),
        ("convolution", {"mode": 3}, "The picture, going round"),
        ("transposed-convolution", {"s": 1, "o": 0}, "The picture, no zeros between its pixels"),
        ("transposed-convolution", {"s": 2}, "The picture, 1 zero between its pixels"),
        ("transposed-convolution", {"s": 3}, "The picture, 2 zeros between its pixels"),
    ],
)
def test_the_title_says_what_lies_under_the_window(
    name: str, knobs: dict[str, int], title: str
) -> None:
    assert convolution_window._title(scene(name, **knobs)) == title


@pytest.mark.parametrize(
    ("ratio", "said"), [(9.94, "9.9"), (9.96, "10"), (10.6, "11"), (1234.5, "1,234"), (0.5, "0.5")]
)
def test_how_many_times_as_many(ratio: float, said: str) -> None:
    assert convolution_window._times(ratio) == f"{said} times as many"


def test_a_pooling_costs_nothing_to_learn() -> None:
    own = scene("pooling", n=2, c=1, x=8, k=2, s=2, p=0)
    assert text(convolution_window._cost(own)) == (
        "Of 64 numbers it makes 16, with nothing to learn."
    )


def test_a_window_is_about_the_first_op_that_slides_and_its_output() -> None:
    about, circuit = convolution_window.about_window, scene("convolution").circuit
    cell = next(cell for cell in circuit.cells if cell.op.role == "window" or cell.name)
    assert about(circuit, cell.id) == about(circuit, cell.outputs[0].id) == {}
    assert about(circuit, cell.inputs[0].id) is None
    assert about(scene("layer-norm").circuit, "n0") is None


# --- what is chosen -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "knobs", "map", "count"),
    [
        ("convolution", {"f": 1}, 0, 1),
        ("convolution", {"f": 2}, 1, 2),
        ("convolution", {"f": 16, "x": 8}, 15, 16),
        ("convolution", {"f": 9, "g": 2, "x": 8}, 16, 18),
        ("convolution", {"f": 2, "n": 3, "x": 8}, 0, 2),
        ("convolution", {"f": 2, "n": 1, "x": 8}, 1, 2),
        ("pooling", {"c": 3, "x": 8}, 2, 3),
    ],
    ids=str,
)
def test_each_map_has_a_button_with_its_picture_in_groups_of_sixteen(
    name: str, knobs: dict[str, int], map: int, count: int
) -> None:
    own = page(name, **knobs)
    volume, result = own.settings["n"] == 3, own.trace.outputs[0].numpy()
    slices = result.shape[1] if volume else 1
    data = sent(own, map=str(map))
    html = str(data["maps"])
    shown = [] if count == 1 else [i for i in range(count) if i // 16 == map // 16]
    assert [(own["data-pick"], own["aria-pressed"]) for own in tags(html, "button")] == [
        (f"map={i}", str(i == map).lower()) for i in shown
    ]
    pictures = [result[i, slices // 2] if volume else np.atleast_2d(result[i]) for i in shown]
    grey = name == "pooling"  # as the picture that goes in; what is learned has two signs
    assert [(own["alt"], own["src"]) for own in tags(html, "img")] == [
        (f"map {i + 1}", convolution_window._plane_address(picture, grey))
        for i, picture in zip(shown, pictures, strict=True)
    ]
    assert data["made"] == (
        convolution_window._plane_address(window_planes(own, map, slices // 2).result, grey)
    )
    assert (f"of {count}" in text(html)) == (0 < len(shown) < count)
    ends = [(own["min"], own["value"], own["max"]) for own in tags(html, "input")]
    assert ends == ([("0", str(slices // 2), str(slices - 1))] if volume else [])
    assert (f"slice {slices // 2 + 1}" in html) == volume


def test_large_maps_are_pooled_on_their_buttons_and_large_pictures_are_not_drawn() -> None:
    own = page(x=130, p=0, f=2)
    (one, _) = tags(str(sent(own)["maps"]), "img")
    pooled = heatmap.pool(own.trace.outputs[0][0].numpy(), 64).maps
    assert one["src"] == convolution_window._plane_address(pooled, False)
    with patch.object(convolution_window, "LARGEST", 130 * 130):
        assert sent(own)
    with patch.object(convolution_window, "LARGEST", 130 * 130 - 1):
        said = shown(CONVOLUTION_WINDOW, own).text
    assert said.startswith("The window is drawn on at most 16,899 numbers.Of 16,900 numbers")


@pytest.mark.parametrize(
    ("knobs", "count", "names"),
    [
        ({"c": 3}, 1, 3),
        ({"c": 1}, 1, 1),
        ({"c": 3, "g": 3}, 3, 3),
        ({"c": 1, "g": 3}, 1, 1),
        ({"c": 13, "x": 8}, 12, 13),
    ],
    ids=str,
)
def test_the_planes_are_pictures_of_their_own_or_one_in_colours(
    knobs: dict[str, int], count: int, names: int
) -> None:
    own = page(**knobs)
    found = window_planes(own, 0)
    addresses = convolution_window._input_addresses(own, found)
    assert len(found.names) == len(found.planes) == names and len(addresses) == count
    if own.inputs_spec.pictures and found.names == convolution_window.COLOURS:
        pixels = np.moveaxis(found.planes.clip(0, 1), 0, -1)
        (made,) = images(f'<img src="{addresses[0]}">')
        assert made.tolist() == np.round(255 * pixels).tolist()
    else:
        pictured = bool(own.inputs_spec.pictures)
        assert addresses == [
            convolution_window._plane_address(plane, pictured) for plane in found.planes[:12]
        ]


@pytest.mark.parametrize(
    ("result", "walk", "learns", "place"),
    [
        ([[9, 1, 1, 9], [1, 2, -3, 1], [9, 1, 1, 9]], ((1, 1), (1, 1)), True, (1, 2)),
        ([[9, 1, 1, 9], [1, 2, -3, 1], [9, 1, 1, 9]], ((1, 2), (2, 2)), True, (1, 2)),
        ([[9, 1, 1, 9], [1, 2, -3, 1], [9, 1, 1, 9]], ((0, 3), (1, 2)), True, (0, 0)),
        ([[9, 1, 1, 9], [1, 2, -3, 1], [9, 1, 1, 9]], ((0, 1), (1, 1)), True, (1, 2)),
        ([[9, 1, 1, 9], [1, 2, -3, 1], [9, 1, 1, 9]], ((1, 0), (1, 1)), True, (1, 2)),
        ([[1, 9, 8, 7], [0, 0, 0, 0]], ((0, 0), (1, 1)), False, (0, 1)),
        ([[9, 9, 8, 5], [7, 7, 7, 7]], ((0, 0), (1, 1)), False, (0, 3)),
    ],
)
def test_at_first_the_largest_number_or_step_is_written_out_inside_the_border(
    result: list[list[float]],
    walk: tuple[tuple[int, int], tuple[int, int]],
    learns: bool,
    place: tuple[int, int],
) -> None:
    numbers, (before, stride) = np.array(result, np.float32), walk
    own = WindowWalk(before, before, (1, 1), stride, (1, 1))
    found = WindowPlanes((), numbers[None], numbers[None], numbers, 0.0, own)
    with patch.dict("streamlit.session_state", {}, clear=True):
        assert convolution_window._place(found, learns) == place


@pytest.mark.parametrize(
    ("asked", "knobs", "session"),
    [
        ("k=5", {"k": 5}, {}),
        ("n=9", {"n": 3}, {}),
        ("k=99999", {"k": 99999}, {}),
        ("k=100000", {}, {}),
        ("k=-1", {}, {}),
        ("k=²", {}, {}),
        ("map=2", {}, {"map": "2"}),
        ("window=1.2", {}, {"window": "1.2"}),
        ("else=1", {}, {}),
        (None, {}, {}),
    ],
)
def test_what_a_browser_asks_for_sets_a_control_or_a_knob(
    asked: str | None, knobs: dict[str, int], session: dict[str, str]
) -> None:
    put: dict[str, int] = {}
    with (
        patch.object(convolution_window, "sent_value", lambda *_: asked),
        patch.object(convolution_window.knobs, "set_values", put.update),
        patch.dict("streamlit.session_state", {}, clear=True),
    ):
        convolution_window._pick(scene("convolution"))
        assert dict(st.session_state) == session
    assert put == knobs


def test_sliders_and_the_filter_stand_at_their_knobs() -> None:
    own = scene("transposed-convolution", k=4, s=3, p=1, o=2, d=2, x=8, filter=1)
    data = {"sizes": convolution_window._sizes(own), "filters": convolution_window._filters(own)}
    ends = {
        own["data-set"]: (own["min"], own["value"], own["max"])
        for own in tags(data["sizes"], "input")
    }
    assert ends == {
        "k": ("1", "4", "16"),
        "s": ("1", "3", "8"),
        "p": ("0", "1", "8"),
        "d": ("1", "2", "4"),
        "o": ("0", "2", "2"),  # below the stride
    }
    assert "(8 − 1)" not in text(data["sizes"]) and "7·3 = 21" in text(data["sizes"])
    options = tags(data["filters"], "option")
    assert [own["value"] for own in options] == [str(i) for i in range(len(options))]
    assert re.findall(r'value="(\d+)" selected', data["filters"]) == ["1"]
    assert convolution_window._filters(scene("layer-norm")) == ""
    plain = convolution_window._sizes(scene("pooling", k=3, s=2, p=1, x=9))
    assert "9 + 2·1 = 11" in text(plain) and "k = 3 under the window" in text(plain)


@pytest.mark.parametrize(
    ("mode", "x", "most"), [(0, 8, 8), (1, 8, 7), (1, 9, 8), (2, 8, 8), (3, 7, 7), (3, 8, 8)]
)
def test_the_padding_goes_as_far_as_torch_takes_it(mode: int, x: int, most: int) -> None:
    sliders = tags(convolution_window._sizes(scene("convolution", mode=mode, x=x)), "input")
    assert next(int(own["max"]) for own in sliders if own["data-set"] == "p") == most
    lists = convolution_window._filters(scene("convolution", mode=mode, x=x))
    assert [own["data-set"] for own in tags(lists, "select")] == ["filter", "mode"]
    assert re.findall(r'value="(\d+)" selected', lists) == ["0", str(mode)]


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize("mode", [0, 1, 2, 3])
def test_padding_says_of_which_row_and_column_it_is_a_copy(mode: int, n: int) -> None:
    own = page(n=n, x=8, p=3, mode=mode, c=2)
    found = window_planes(own, 0)
    if mode == 0:
        assert found.sources == sent(own)["sources"] == ()
        return
    rows, columns = found.sources
    np.testing.assert_array_equal(found.planes, found.planes[:, rows][:, :, columns])
    high = [0] if n == 1 else range(3, 11)
    assert set(rows) == set(high) and set(columns) == set(range(3, 11))
    assert [rows[i] for i in high] == [*high] and sent(own)["before"] == ((3, 0)[n == 1], 3)


def test_a_dense_map_of_the_same_arrays_has_more_of_both() -> None:
    own = scene("convolution", x=8, f=2, k=3, p=1)
    dense = torch.nn.Linear(64, 128)
    parameters = sum(weight.numel() for weight in dense.parameters())
    flops = 2 * dense.weight.numel()
    assert text(convolution_window._cost(own)) == (
        f"Of 64 numbers it makes 128: {own.cost.parameters} parameters, where a dense map has "
        f"{parameters:,}, {parameters / own.cost.parameters:.0f} times as many; "
        f"{own.cost.flops:,} FLOPs, where a dense map has {flops:,}, "
        f"{convolution_window._times(flops / own.cost.flops)}."
    )
