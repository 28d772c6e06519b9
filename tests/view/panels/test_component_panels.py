"""The pages of components: their own panels, without a browser."""

from __future__ import annotations

import pytest

import ncd
from tests.view.page.test_pages import fine, page

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
