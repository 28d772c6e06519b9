"""Measurements of the server: one log line for each run, and numbers at ``/metrics``.

They contain no text that a visitor typed, only the values of knobs. ``NCD_LOG=off`` turns the log
off.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CONTENT_TYPE_LATEST, Gauge, Histogram, generate_latest
from starlette.responses import Response

from ncd.app.runtime import scheduler
from ncd.app.state import knobs
from ncd.systems.catalogue_entry import Entry

LOG = logging.getLogger("ncd.runs")
STEPS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10, 30)  # seconds
RUNS = Histogram("ncd_run_seconds", "A run of a page, with its waiting", ["page"], buckets=STEPS)
WAITS = Histogram("ncd_queue_seconds", "What of it was waiting for a turn", buckets=STEPS)
DRAWINGS = Histogram("ncd_drawing_seconds", "A drawing while a slider moves", buckets=STEPS)
VISITORS = Gauge("ncd_visitors", "Pages that are open")


def start() -> None:
    """Sets up the log."""
    if os.environ.get("NCD_LOG", "on").lower() == "off" or LOG.handlers:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    LOG.propagate = False


@contextmanager
def measured_run(entry: Entry) -> Iterator[None]:
    """Records the time of the enclosed code as a run of this page."""
    began, waited = time.perf_counter(), scheduler.waited_seconds()
    try:
        yield
    finally:
        seconds, queue = time.perf_counter() - began, scheduler.waited_seconds() - waited
        RUNS.labels(entry.name).observe(seconds)
        WAITS.observe(queue)
        if LOG.isEnabledFor(logging.INFO):
            LOG.info(line(entry.name, knobs.current(entry), seconds, queue))


def line(page: str, sizes: dict[str, int], seconds: float, queue: float) -> str:
    """Returns a line of the log.

    >>> line("layer-norm", {"t": 6, "m": 16}, 0.0314, 0.002)
    'page=layer-norm t=6 m=16 ms=31.4 queue=2.0'
    """
    told = "".join(f"{name}={size} " for name, size in sizes.items())
    return f"page={page} {told}ms={1e3 * seconds:.1f} queue={1e3 * queue:.1f}"


def metrics() -> Response:
    """Returns all measurements in the format of Prometheus."""
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
