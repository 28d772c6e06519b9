"""The work of a worker: one job, and its reports."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

from ncd.jobs.forward_job import forward
from ncd.jobs.source_job import findings, sizes, source, warm_up
from ncd.jobs.training_job import train
from ncd.jobs.worker_channel import Line
from ncd.run.base.device import exact

AFTER = 10  # added niceness of workers, so that pages come first; at most 19
FIRST = 500  # of 1000: if memory runs out, the kernel kills a worker, not the server
KINDS: Mapping[str, Callable[..., None]] = {
    "findings": findings,
    "sizes": sizes,
    "forward": forward,
    "source": source,
    "train": train,
}


def make_ready(kind: str) -> None:
    """Prepares for a kind of job: imports data sets, or warms torch up."""
    torch.set_num_threads(1)  # a process that is forked has no others
    exact()
    if kind == "source":
        warm_up()
        return
    for name in ("sklearn.datasets", "torch._dynamo"):
        importlib.import_module(name)


def lower_priority() -> None:
    """Gives this process the lowest priority, also when the system runs out of memory."""
    os.nice(max(0, AFTER - os.nice(0)))
    score = Path("/proc/self/oom_score_adj")
    if score.exists():
        score.write_text(str(FIRST))


def work(text: str, line: Line) -> None:
    """Does a job; an error is reported in one line.

    It uses one thread, so that the numbers are the same on all machines of one kind.
    """
    question = json.loads(text)
    torch.set_num_threads(1)
    try:
        KINDS[question["kind"]](line, **question["given"])
    except Exception as error:  # reported to the visitor
        line.fail(f"{type(error).__name__}: {error}".partition("\n")[0])
