"""The pages of components: their own panels, without a browser."""

from __future__ import annotations

import re

import pytest

import ncd
from ncd.app.panels.images.network_blocks import TALL, WIDE, BlockMap, profile
from tests.app.page.test_pages import fine, page

PANELS = (
    ("grouped-queries", "Cache size"),
    ("rotary", "Rotation"),
    ("latent-attention", "Cache size"),
    ("sliding-window", "Reach"),
    ("linear-attention", "State"),
    ("delta-rule", "State"),
    ("lora", "Merged"),
    ("swiglu", "Gate"),
    ("mixture-of-experts", "Experts"),
    ("gcn", "Neighbours"),
    ("gat", "Neighbours"),
    ("convnext", "Two blocks"),
    ("vit", "Patches"),
    ("swin", "Patches"),
    ("vae", "Plane"),
    ("diffusion-unet", "Noise to picture"),
    ("dit", "Time step"),
)
KEPT = (
    ("grouped-queries", "context"),
    ("grouped-queries", "cached_layers"),
    ("rotary", "query_at"),
    ("rotary", "key_at"),
    ("sliding-window", "up_to_layer"),
    ("sliding-window", "reach_from"),
    ("delta-rule", "after_token"),
    ("delta-rule", "state_head"),
    ("delta-rule", "state_shown"),
    ("lora", "matrix"),
    ("swiglu", "hidden"),
    ("gat", "node"),
    ("gat", "graph_head"),
    ("vae", "across"),
)


@pytest.mark.parametrize(("name", "panel"), PANELS)
def test_a_panel_stands_at_the_ends_and_with_every_switch(name: str, panel: str) -> None:
    app = page(name, panel=panel)
    fine(app)
    knobs = ncd.catalogue[name].knobs
    switches = [{knob.name: not knob.default} for knob in knobs if knob.switch]
    least = {knob.name: knob.min for knob in knobs if not knob.switch}
    for turned in (*switches, least):
        for key, value in turned.items():
            app.session_state[key] = value
        fine(app.run())
        assert not app.warning, [warning.value for warning in app.warning]


@pytest.mark.few(15)
@pytest.mark.parametrize(("name", "key"), KEPT)
@pytest.mark.parametrize("asked", ["0", "3", "-7", "", "zz", "<b>", "9" * 5000])
def test_what_a_panel_keeps_may_be_wrong(name: str, key: str, asked: str) -> None:
    fine(page(name, **{key: asked}))


@pytest.mark.parametrize("channels", [(64, 16, 16, 64), (16, 64, 64, 16), (8, 8)])
def test_an_outline_is_as_tall_as_its_channels(channels: tuple[int, ...]) -> None:
    most = 64
    block = tuple(
        BlockMap(f"map {i}", channels[i], channels[i + 1], 0, 0) for i in range(len(channels) - 1)
    )
    svg = profile(block, most, "red")
    (points,) = re.findall(r'points="([^"]+)"', svg)
    places = [tuple(map(float, point.split(","))) for point in points.split(" ")]
    upper, lower = places[: len(channels)], places[len(channels) :][::-1]
    assert [x for x, _ in upper] == [x for x, _ in lower]
    assert (upper[0][0], upper[-1][0]) == (0, WIDE)
    for n, (_, top), (_, foot) in zip(channels, upper, lower, strict=True):
        assert foot - top == pytest.approx(TALL * n / most, abs=0.1)
        assert (foot + top) / 2 == pytest.approx(TALL / 2 + 4, abs=0.1)
    assert f"channels: {' → '.join(map(str, channels))}" in svg
