"""What a worker does: one job, and what it tells on the way."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path

import torch

from ncd.jobs.forward_job import forward
from ncd.jobs.training_job import train
from ncd.jobs.worker_channel import Line

AFTER = 10  # how much a worker gives way to those who look at pages; the nicest is 19
FIRST = 500  # of a thousand: where memory runs out, the worker goes and not the server
KINDS: Mapping[str, Callable[..., None]] = {"forward": forward, "train": train}


def ready() -> None:
    """Imports what takes long before a job begins: the data, and what any optimiser needs."""
    for name in ("sklearn.datasets", "torch._dynamo"):
        importlib.import_module(name)


def humble() -> None:
    """Lets this process give way to all others, and be the first to go where memory runs out."""
    os.nice(max(0, AFTER - os.nice(0)))
    score = Path("/proc/self/oom_score_adj")
    if score.exists():
        score.write_text(str(FIRST))


def work(text: str, line: Line) -> None:
    """Does what is asked for; what fails is told in one line.

    One thread computes, so that the numbers are the same wherever it is done.
    """
    question = json.loads(text)
    torch.set_num_threads(1)
    try:
        KINDS[question["kind"]](line, **question["given"])
    except Exception as error:  # told to the one who waits
        line.fail(f"{type(error).__name__}: {error}".partition("\n")[0])
