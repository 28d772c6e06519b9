"""The geometry of an MLP: training on its page, points of one's own, and what it says of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from ncd.app.scene.session_weights import TRAINING_KEY
from tests.app.page.test_pages import fine, page

NAME = "mlp-geometry"


def data(app: AppTest) -> dict[str, Any]:
    """What the panel is given to show."""
    (found,) = [
        x.proto for x in app.get("bidi_component") if "ncd_geometry" in x.proto.component_name
    ]
    told: dict[str, Any] = json.loads(found.json)
    return told


def said(app: AppTest) -> str:
    return str(data(app)["said"])


def trained(**query: str) -> AppTest:
    app = page(NAME, **query)
    fine(app.button(key="train").click().run())
    run = app.session_state[TRAINING_KEY].run
    while not run.ended:
        run.poll(1)
    assert not run.failure
    fine(app.run())
    return app


def test_xor_is_parted_and_every_step_can_be_seen() -> None:
    assert "Untrained weights" in said(page(NAME))
    app = trained(updates="300")
    assert said(app) == "✓ Parted: all 96 points are on the right side after 300 steps."
    steps = [frame[0] for frame in data(app)["frames"]]
    assert steps[0] == 0 and steps[-1] == 300 and len(steps) > 40
    assert data(app)["frames"][-1][2] == 1.0


def test_it_says_so_when_it_is_stuck_and_when_no_weights_could() -> None:
    stuck = said(trained(g="2", seed="1"))
    assert stuck.startswith("✗ Stuck: 72 of 96 points are on the right side after 1,000 steps.")
    assert "Another seed may find a better way down" in stuck
    assert "Without an activation both maps are one affine map" in said(trained(g="0"))
    assert "more steps may do" in said(trained(updates="300", points="spirals", p1="5", g="3"))


def test_another_seed_is_tried_at_once() -> None:
    app = page(NAME, seed="7")
    fine(app.button(key="next").click().run())
    assert app.session_state["seed"] == 8
    assert app.session_state[TRAINING_KEY].run.seed == 8
    app.session_state[TRAINING_KEY].run.leave()


def test_a_run_is_stopped_and_keeps_what_it_has() -> None:
    app = page(NAME, updates="3000", points="spirals", p1="12")
    fine(app.button(key="train").click().run())
    run = app.session_state[TRAINING_KEY].run
    while not run.progress:
        run.poll(1)
    fine(app.button(key="stop").click().run())
    while not run.ended:
        run.poll(1)
    fine(app.run())
    last = run.progress[-1].step
    assert last < 3000 and f"after {last:,} steps" in said(app)
    assert data(app)["frames"][-1][0] == last


def test_other_points_are_not_those_that_were_learned() -> None:
    app = trained(updates="300")
    app.segmented_control(key="points").set_value("moons").run()
    fine(app)
    assert "Untrained weights" in said(app)


@pytest.mark.parametrize("text", ["", "20200", "zz<script>", "20200e0e0"])
def test_too_few_points_cannot_be_trained_on(text: str) -> None:
    app = page(NAME, points="your own", placed=text)
    fine(app)
    assert "at least two classes" in said(app) and app.button(key="train").disabled


def test_points_of_one_s_own_come_with_the_link() -> None:
    app = trained(points="your own", placed="20200e0e012020220e01", updates="300")
    assert data(app)["text"] == "20200e0e012020220e01"
    kinds = [kind for _, _, kind in data(app)["places"]]
    assert kinds == [0, 1, 1]  # the one of a third class is left out
    assert "Parted" in said(app)


def test_very_many_hidden_units_are_not_drawn() -> None:
    app = page(NAME, p1="1000")
    fine(app)
    assert any("more than 256 hidden units" in text.value for text in app.text)
