"""The page of module and function: both trained at once, their codes, and single gradients."""

from __future__ import annotations

import pytest
import torch
from streamlit.testing.v1 import AppTest
from torch import nn

import ncd
from ncd.app.panels.learning import per_sample_gradients
from ncd.app.panels.learning.two_codes import (
    _function,
    compare_codes,
    module_and_function,
    plain_source,
)
from ncd.app.scene.scene import Scene
from ncd.app.scene.session_weights import TRAINING_KEY, Training
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.training.module_or_functional import adam, function_step, module_step, sgd
from tests.app.page.test_pages import fine, page
from tests.app.panels.learning.test_training_panel import told
from tests.jobs import test_runs

NAME = "module-or-function"
ENTRY = ncd.catalogue[NAME]
SMALL = {"h": "16", "epochs": "20"}


def scene(**settings: int) -> Scene:
    every = ENTRY.settings(settings)
    return Scene(ENTRY, every, 0, "cpu", InputSpec(), False, "names", "", ENTRY.build(**every))


def ended(app: AppTest) -> Training:
    """The session's training, once both runs have ended."""
    found: Training = app.session_state[TRAINING_KEY]
    assert not [run.failure for run in map(test_runs.ended, found.runs) if run.failure]
    return found


def trained(**query: str) -> AppTest:
    app = page(NAME, **SMALL, **query)
    fine(app.button(key="train").click().run())
    ended(app)
    fine(app.run())
    return app


def test_the_same_twice_is_one_curve_and_is_said() -> None:
    app = trained(compared="both the same")
    one, two = ended(app).runs
    assert [now.loss for now in one.progress] == [now.loss for now in two.progress]
    assert len(one.progress) == 20
    assert "the same to the last bit" in told(app)
    app.session_state["panel"] = "Values"
    fine(app.run())
    assert "Weights trained for 20 steps" in told(app)


def test_as_in_the_notebook_they_are_apart_and_the_page_says_why() -> None:
    app = trained()
    one, two = ended(app).runs
    largest = max(abs(a.loss - b.loss) for a, b in zip(one.progress, two.progress, strict=True))
    assert largest > 0.1 and f"<b>{largest:.3g}</b> apart, from epoch 1" in told(app)
    assert "Adam, begun as torch does" in told(app) and "SGD, begun as" in told(app)
    fine(app.segmented_control(key="function").set_value(1).run())  # what is learned is shown still
    assert "epoch 20 of 20" in told(app)
    app.session_state["panel"] = "Per sample"
    fine(app.run())
    other = page(NAME, **SMALL)
    assert "epoch 20 of 20" not in told(other) and "not trained yet" in told(other)


def test_both_stop_with_one_button_and_leave_with_the_page() -> None:
    app = page(NAME, h="16", epochs="3000")
    fine(app.button(key="train").click().run())
    runs = app.session_state[TRAINING_KEY].runs
    for run in runs:
        while not run.progress:
            run.poll(1)
    fine(app.button(key="stop").click().run())
    ended(app)
    fine(app.run())
    assert all(len(run.progress) < 3000 and run.progress[-1].score for run in runs)
    assert app.button(key="train")
    fine(app.button(key="train").click().run())
    runs = app.session_state[TRAINING_KEY].runs
    app.query_params.clear()
    app.switch_page("pages/tensors/tensors.py").run()
    fine(app)
    assert [run.failure for run in runs] == ["left", "left"]


@pytest.mark.parametrize("panel", ["Side by side", "Per sample"])
def test_more_features_than_there_are_lead_back(panel: str) -> None:
    app = page(NAME, i="11", panel=panel)
    fine(app)
    assert any(text.value.startswith("i is 11, but a patient has 10") for text in app.text)
    fine(app.button(key="fit training").click().run())
    assert app.slider(key="i").value == 10 and not any("i is 11" in t.value for t in app.text)


@pytest.mark.parametrize("h", [16, 256])
def test_the_two_codes_give_the_same(h: int) -> None:
    found = compare_codes(scene(h=h))
    assert found.outputs < 1e-6 and found.gradients < 1e-6


@pytest.mark.parametrize("case", ["as in the notebook", "both the same"])
def test_the_codes_shown_are_python_and_name_what_runs(case: str) -> None:
    app = page(NAME, panel="Two codes", compared=case)
    fine(app)
    assert ("adam" in told(app)) == (case == "both the same")
    for function in (
        module_step,
        function_step,
        adam,
        sgd,
    ):
        compile(plain_source(function), "shown", "exec")


def test_the_function_shown_is_the_network() -> None:
    """It is run as it stands on the page."""
    _, term = module_and_function(scene(h=4))
    names: dict[str, object] = {"einsum": __import__("einops").einsum, "F": nn.functional}
    exec(_function(term), names)
    given = ncd.example_inputs(term)
    found = names["mlp_fn"](*given)  # type: ignore[operator]
    assert torch.allclose(found, ncd.compile(term)(*given), atol=1e-6)


@pytest.mark.parametrize("function", [0, 1])
def test_gradients_of_single_examples_are_those_of_a_loop(function: int) -> None:
    own = scene(h=16, b=6, function=function)
    found = per_sample_gradients.samples(own)
    model = ncd.compile(per_sample_gradients.network(own.settings, 1), 0)
    data = per_sample_gradients.houses(8, 0)
    each = []
    for x, y in zip(data.inputs[:6], data.targets[:6], strict=True):
        model.zero_grad()
        (model(x[None]) - y).square().sum().backward()
        each.append(torch.cat([w.grad.flatten() for w in model.parameters()]))  # type: ignore[union-attr]
    norms = [float(gradient.norm()) for gradient in each]
    assert found.norms == pytest.approx(norms, rel=1e-4)
    assert found.norm == pytest.approx(float(sum(each).norm() / 6), rel=1e-4)  # type: ignore[union-attr]
    assert sum(found.shares) == pytest.approx(1, abs=1e-5)
    assert found.gradient_difference < 1e-5


def test_no_more_gradients_are_taken_than_memory_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCD_MAX_BYTES", "800000")
    app = page(NAME, h="256", b="32", panel="Per sample")
    fine(app)
    assert any("the gradients of 32 examples take" in text.value for text in app.text)
