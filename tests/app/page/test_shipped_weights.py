"""Pages that begin with weights that ship: they are shown, told, trained anew, and come back."""

from __future__ import annotations

import torch
from streamlit.testing.v1 import AppTest

import ncd
from ncd.app.page.export_menu import reproducing_line
from ncd.app.scene import session_weights
from ncd.app.scene.scene import Scene
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.training.trained_weights import read_note, read_weights
from tests.app.page.test_pages import fine, page
from tests.app.panels.learning.test_training_panel import UNTRAINED, panel, state, told, trained

SHIPPED = "trained for 1,000 steps from seed 0"


def test_a_page_begins_trained_and_says_so() -> None:
    app = page("induction", panel="Training")
    said = told(app)
    assert f"Shipped: {SHIPPED}." in said
    assert "sequences that it has not learned from, 99." in said
    said = panel(app, "Values")
    assert f"Weights {SHIPPED}" in said and UNTRAINED not in said


def test_what_ships_is_of_any_seed_and_of_its_sizes_alone() -> None:
    app = page("induction", panel="Values")
    app.number_input(key="seed").set_value(7)
    assert SHIPPED in panel(app, "Values")
    app.slider(key="n").set_value(1)
    assert SHIPPED in panel(app, "Values")  # the one that stalls
    app.slider(key="k").set_value(36)
    assert UNTRAINED in panel(app, "Values")
    assert "Not trained yet at these sizes" in panel(app, "Training")


def test_it_is_trained_anew_and_what_ships_comes_back() -> None:
    app = page("reversal", panel="Training", steps="100")
    assert not buttons(app, "shipped")
    trained(app)
    own = state(app).learned_weights
    assert own is not None and not own.ships
    assert read_note(own.weights) == {"system": "reversal", "seed": "0", "steps": "100"}
    assert "trained for 100 steps" in panel(app, "Values")
    panel(app, "Training")
    fine(app.button(key="shipped").click().run())
    assert "Shipped: trained for 300 steps" in told(app) and not buttons(app, "shipped")


def buttons(app: AppTest, key: str) -> list[str]:
    return [button.key for button in app.button if button.key == key]


def test_an_exported_line_gives_the_numbers_of_the_page() -> None:
    entry = ncd.catalogue["recall"]
    settings, term = entry.settings({}), entry.build()
    ready = session_weights.shipped_or_served(entry, settings)
    assert ready is not None
    feed, labels = InputSpec(), "names"
    scene = Scene(entry, settings, 3, "cpu", feed, False, labels, "", term, loaded_weights=ready)
    found: dict[str, dict[str, torch.Tensor]] = {}
    exec(reproducing_line(scene), {}, found)
    module = read_weights(ncd.compile(term, 9), ready.weights)
    (out,) = ncd.trace(module, *ncd.example_inputs(term, 3)).outputs
    (wire,) = scene.circuit.outputs
    assert torch.equal(found["numbers"][wire.id], out)
