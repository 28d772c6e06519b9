"""The window over a picture: its sizes, and the number that is written out, against torch."""

from __future__ import annotations

import random
from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest
import torch
from torch.nn import functional as F

import ncd
from ncd.app.panels.images import convolution_window, receptive_field
from ncd.app.panels.images.convolution_window import (
    CONVOLUTION_WINDOW,
    TransposedSizes,
    WindowSizes,
    window_planes,
)
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.systems.inputs.run_inputs import opening_inputs
from ncd.systems.training.trained_weights import shipped_weights
from tests.app.panels.views import scene, text


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
