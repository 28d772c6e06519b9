"""What a server tells of its runs: a line of each in its log, and numbers at ``/metrics``.

Nothing that a visitor typed is in them but the knobs' own numbers. ``NCD_LOG=off`` is a quiet log.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CONTENT_TYPE_LATEST, Gauge, Histogram, generate_latest
from starlette.responses import Response

from ncd.models import Entry
from ncd.view.base import knobs
from ncd.view.runtime import scheduler

LOG = logging.getLogger("ncd.runs")
STEPS = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 1, 2, 5, 10, 30)  # seconds
RUNS = Histogram("ncd_run_seconds", "A run of a page, with its waiting", ["page"], buckets=STEPS)
WAITS = Histogram("ncd_queue_seconds", "What of it was waiting for a turn", buckets=STEPS)
DRAWINGS = Histogram("ncd_drawing_seconds", "A drawing while a slider moves", buckets=STEPS)
VISITORS = Gauge("ncd_visitors", "Pages that are open")


def start() -> None:
    """Lets the log begin."""
    if os.environ.get("NCD_LOG", "on").lower() == "off" or LOG.handlers:
        return
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(message)s"))
    LOG.addHandler(handler)
    LOG.setLevel(logging.INFO)
    LOG.propagate = False


@contextmanager
def run(entry: Entry) -> Iterator[None]:
    """Records what runs inside as a run of this page."""
    began, waited = time.perf_counter(), scheduler.waited()
    try:
        yield
    finally:
        seconds, queue = time.perf_counter() - began, scheduler.waited() - waited
        RUNS.labels(entry.name).observe(seconds)
        WAITS.observe(queue)
        if LOG.isEnabledFor(logging.INFO):
            LOG.info(line(entry.name, knobs.settings(entry), seconds, queue))


def line(page: str, sizes: dict[str, int], seconds: float, queue: float) -> str:
    """A line of the log.

    >>> line("layer-norm", {"t": 6, "m": 16}, 0.0314, 0.002)
    'page=layer-norm t=6 m=16 ms=31.4 queue=2.0'
    """
    told = "".join(f"{name}={size} " for name, size in sizes.items())
    return f"page={page} {told}ms={1e3 * seconds:.1f} queue={1e3 * queue:.1f}"


def metrics() -> Response:
    """All numbers, as Prometheus reads them."""
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
