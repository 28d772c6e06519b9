"""What a server measures: runs by their page, waiting, and one line of the log for each."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest
from prometheus_client import REGISTRY

import ncd
from ncd.app.page import metrics
from ncd.app.runtime import scheduler
from ncd.app.state import knobs

ENTRY = ncd.catalogue["layer-norm"]


@pytest.fixture
def quiet_log(monkeypatch: pytest.MonkeyPatch) -> Iterator[logging.Logger]:
    log = logging.Logger("ncd.test")
    log.setLevel(logging.WARNING)
    monkeypatch.setattr(metrics, "LOG", log)
    monkeypatch.setattr(knobs, "current", lambda entry: entry.settings({}))
    yield log


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of 3 seconds, of which 1 is waiting."""
    times, waits = iter((10.0, 13.0)), iter((4.0, 5.0))
    monkeypatch.setattr(metrics.time, "perf_counter", lambda: next(times))
    monkeypatch.setattr(scheduler, "waited_seconds", lambda: next(waits))


def sums() -> tuple[float, float]:
    page = REGISTRY.get_sample_value("ncd_run_seconds_sum", {"page": ENTRY.name}) or 0.0
    return page, REGISTRY.get_sample_value("ncd_queue_seconds_sum") or 0.0


@pytest.mark.parametrize("fails", [False, True])
def test_a_run_counts_for_its_page_also_if_it_fails(quiet_log, clock, fails: bool) -> None:
    before = sums()
    try:
        with metrics.measured_run(ENTRY):
            if fails:
                raise ZeroDivisionError
    except ZeroDivisionError:
        assert fails
    after = sums()
    assert (after[0] - before[0], after[1] - before[1]) == pytest.approx((3.0, 1.0))


@pytest.mark.parametrize("level", [logging.INFO, logging.WARNING])
def test_a_run_is_a_line_of_the_log_if_it_is_on(quiet_log, clock, caplog, level: int) -> None:
    quiet_log.setLevel(level)
    quiet_log.addHandler(caplog.handler)
    with metrics.measured_run(ENTRY):
        pass
    settings = " ".join(f"{name}={size}" for name, size in ENTRY.settings({}).items())
    lines = [f"page=layer-norm {settings} ms=3000.0 queue=1000.0"]
    assert [r.getMessage() for r in caplog.records] == lines * (level == logging.INFO)


@pytest.mark.parametrize(("word", "handlers"), [("on", 1), ("", 1), ("off", 0), ("OFF", 0)])
def test_the_log_is_set_up_once_unless_it_is_off(quiet_log, monkeypatch, word, handlers) -> None:
    monkeypatch.setenv("NCD_LOG", word)
    metrics.start()
    metrics.start()
    assert len(quiet_log.handlers) == handlers
    assert (quiet_log.level, quiet_log.propagate) == (
        (logging.INFO, False) if handlers else (logging.WARNING, True)
    )


def test_measurements_have_the_format_of_prometheus() -> None:
    answer = metrics.metrics()
    assert answer.headers["content-type"].startswith("text/plain")
    text = bytes(answer.body).decode()
    for name in ("ncd_run_seconds", "ncd_queue_seconds", "ncd_drawing_seconds", "ncd_visitors"):
        assert f"# TYPE {name} " in text
