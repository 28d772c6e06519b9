"""The job that trains, reports :class:`ncd.train.Progress`, and returns weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from ncd.jobs.worker_channel import Line
from ncd.train import Fit, written
from ncd.train.module_or_functional import Way
from ncd.train.plane_training import Plane
from ncd.train.training_loop import TrainingLoop

LOOPS: Mapping[str, type[TrainingLoop]] = {"fit": Fit, "plane": Plane, "way": Way}


def train(line: Line, loop: str, **asked: Any) -> None:
    """Trains; on request, or after too long, it scores the weights and returns them.

    Scoring draws no random numbers, so it does not change the weights that follow.
    """
    fit = LOOPS[loop](**asked)
    for progress in fit:
        late = line.late
        asked_for = line.wanted() or late
        if asked_for and progress.score is None:
            progress = replace(progress, score=fit.score())
        line.tell(asdict(progress))
        whole = progress.step == progress.steps
        if asked_for or whole:
            note = {"system": fit.name, "seed": str(fit.seed), "steps": str(progress.step)}
            line.give(written(fit.module, note), whole=whole)
        if late:
            return
