"""Training on a device beside the CPU: the first losses, the last score, the seconds of a step."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from statistics import median

from ncd.systems.training.training_loop import TaskTraining, TrainingProgress
from tools.bench.measurements import Line
from tools.gpu.agreement import CLOSE, Setting
from tools.gpu.findings import Finding

TRAINED = ("lenet", "reversal", "unet")
FIRST = 3  # steps whose losses are those of the CPU; later ones drift apart by rounding
WORSE = 0.1  # of a score, that a run whose rounding differs may be behind


def training(setting: Setting) -> Iterator[Finding]:
    """Measures the training of three systems, from the same seed on both."""
    for name in TRAINED[: setting.pick(3, 1)]:
        runs = {}
        for device in (setting.device, "cpu"):
            runs[device, len(runs)] = [
                *TaskTraining(name, {}, 0, setting.pick(0, 4) or None, device)
            ]
        mine, theirs = runs.values()
        yield from _compared(name, mine, theirs)


def _compared(
    name: str, mine: list[TrainingProgress], theirs: list[TrainingProgress]
) -> Iterator[Finding]:
    pairs = list(zip(mine, theirs, strict=True))
    off = max(abs(a.loss - b.loss) / max(1, abs(b.loss)) for a, b in pairs[:FIRST])
    fault = "" if off < CLOSE else f"more than {CLOSE:g} apart"
    yield Finding(Line(f"{name}: loss of the first {FIRST} steps", off, "cpu", unit=""), fault)
    last, other = mine[-1], theirs[-1]
    assert last.score is not None and other.score is not None
    fault = "" if last.score > other.score - WORSE else f"more than {WORSE} behind"
    what = f"{name}: percent of its score after {last.step} steps"
    yield Finding(Line(what, 100 * last.score, f"cpu {100 * other.score:.0f} %", unit="%"), fault)
    seconds = [_median_step(run) for run in (mine, theirs)]
    against = f"cpu {1e3 * seconds[1]:.3f} ms"
    yield Finding(Line(f"{name}: a step", seconds[0], against, seconds[0] / seconds[1]))


def _median_step(run: list[TrainingProgress]) -> float:
    """Returns the seconds of a usual step: the first ones load libraries, and some are scored."""
    return median(after.seconds - before.seconds for before, after in pairwise(run))
