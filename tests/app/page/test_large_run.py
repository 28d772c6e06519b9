"""What is too large for a page goes to the pool, and its numbers come back to the page."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

import ncd
from ncd.app.page.large_run import STATE, PoolRun
from ncd.app.scene.own_entry import custom_entry
from ncd.jobs.job_pool import pool
from ncd.jobs.local_workers import Local
from ncd.site import markup
from tests.app.page.test_own_page import yours
from tests.app.page.test_pages import fine, page
from tests.app.panels.learning.test_training_panel import told
from tests.jobs.test_runs import ended

NAME, QUERY = "multi-head-attention", {"y": "300", "x": "320", "panel": "Values"}
OFFER = "heavy run"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = pool().backend
    if isinstance(backend, Local):
        backend.prepare()  # workers have the limits of before, for the tests that come after
    monkeypatch.setenv("NCD_MAX_BYTES", "1e6")
    monkeypatch.setenv("NCD_POOL_BYTES", "1e9")


def offered(app: AppTest) -> bool:
    return OFFER in {button.key for button in app.button}


def run(app: AppTest) -> AppTest:
    fine(app.button(key=OFFER).click().run())
    found: PoolRun = app.session_state[STATE]
    assert not ended(found.ticket).failure
    fine(app.run())
    return app


def test_a_run_too_large_for_a_page_is_shown_from_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    app = page(NAME, **QUERY)
    fine(app)
    assert offered(app)
    said = told(run(app))
    monkeypatch.setenv("NCD_MAX_BYTES", "2e9")
    term = ncd.catalogue[NAME].build(y=300, x=320)
    output = ncd.compile(term)(*ncd.example_inputs(term)).detach()
    assert "(300, 128)" in said and markup.digits(float(output.max())) in said
    assert "The pool ran it in" in said and not offered(app)


def test_it_is_of_these_settings_only() -> None:
    app = run(page(NAME, **QUERY))
    app.slider(key="y").set_value(310)
    fine(app.run())
    assert offered(app) and "The pool ran it in" not in told(app)


def test_a_selected_wire_is_shown_and_any_may_be_asked_for() -> None:
    term = ncd.catalogue[NAME].build(y=300, x=320)
    scores = next(c for c in ncd.elaborate(term).cells if c.op.role == "softmax").outputs[0]
    app = run(page(NAME, **QUERY, select=scores.id))
    assert f"pool {scores.id} (300, 320)" in told(app)
    for select in ("n1", "f0", "axis:y", "v99", "<b>"):
        fine(page(NAME, **QUERY, select=select))


def test_what_the_pool_does_not_take_is_not_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NCD_POOL_BYTES", "1e6")
    app = page(NAME, **QUERY)
    fine(app)
    assert not offered(app)


def test_shapes_and_source_need_no_run() -> None:
    assert not offered(page(NAME, **{**QUERY, "panel": "Shapes"}))


def test_a_run_is_cancelled() -> None:
    app = page(NAME, **QUERY)
    fine(app.button(key=OFFER).click().run())
    found: PoolRun = app.session_state[STATE]
    found.ticket.leave()
    fine(app.run())
    assert found.ticket.ended and (found.ticket.result or offered(app))


def test_a_system_of_ones_own_runs_in_the_pool(monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'Axes(t=seq(300))(Id("t m:128") >> Linear("m -> k:500", "Q"))'
    said = told(run(yours(text=text, t="310", panel="Values")))
    monkeypatch.setenv("NCD_MAX_BYTES", "2e9")
    term = custom_entry(text).build(t=310)
    output = ncd.compile(term)(*ncd.example_inputs(term)).detach()
    assert "(310, 500)" in said and markup.digits(float(output.max())) in said
