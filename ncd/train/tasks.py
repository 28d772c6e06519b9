"""The training task of each system: data from the seed, a loss, and a score on unseen data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ncd.lang.errors import unknown
from ncd.run.base.seeding import generator
from ncd.train.digit_images import available
from ncd.train.noisy_examples import (
    Given,
    evidence_loss,
    explained,
    made_noisy,
    with_point_noise,
)
from ncd.train.symbol_sequences import NOT_ASKED, SEQUENCES
from ncd.train.task_data import (
    Data,
    any_digits,
    batched_digits,
    grey_digits,
    labelled_digits,
    labelled_shapes,
    sequence_count,
    sequence_data,
    shape_count,
    signed_digits,
)

STEPS = {"reversal": 300, "recall": 600, "induction": 1000, "brackets": 1000, "proofreader": 2500}
APART, DECAY = {"proofreader": 1.0}, {"proofreader": 0.3}
LEAST = 1e-12  # smallest probability, so that its logarithm is finite


@dataclass(frozen=True)
class Task:
    """The training of a system.

    ``data`` is generated from the knobs and a seed, at most ``examples`` of them. ``score`` of
    outputs and answers is called ``measure``; higher is better. Training takes ``steps`` of
    ``batch`` examples with Adam at ``rate``. ``deep`` systems without norms start with larger
    weights: :func:`ncd.train.training_loop.enlarge`. ``apart`` is the weight of
    :func:`overlap`, so that each head looks elsewhere; ``decay`` is AdamW's weight decay.
    ``sizes`` are the knobs that the data depends on. ``noise`` makes what the system is given out
    of examples, with chance in it. ``together`` is the knob of how many examples a run takes, for
    systems that use statistics of them; others take any number.
    """

    name: str
    data: Callable[[Mapping[str, int], torch.Generator], Data]
    loss: Callable[[Any, Tensor], Tensor]
    score: Callable[[Tensor, Tensor], float]
    measure: str
    steps: int
    batch: int
    rate: float
    examples: Callable[[], int]
    sizes: tuple[str, ...]
    deep: bool = False
    apart: float = 0
    decay: float = 0
    noise: Callable[[Tensor, Mapping[str, int], torch.Generator], Given] | None = None
    together: str = ""

    def in_a_run(self, knobs: Mapping[str, int]) -> int:
        """Returns the number of examples that a run takes."""
        return knobs[self.together] if self.together else 1

    def in_a_step(self, knobs: Mapping[str, int]) -> int:
        """Returns the number of examples of a step: about ``batch``, in whole runs."""
        own = self.in_a_run(knobs)
        return max(1, self.batch // own) * own

    def given(
        self, knobs: Mapping[str, int], examples: Tensor, answers: Tensor, random: torch.Generator
    ) -> Given:
        """Returns the inputs of the system for some examples, and what it is to answer."""
        return self.noise(examples, knobs, random) if self.noise else ((examples,), answers)


def answer_loss(scores: Tensor, answers: Tensor) -> Tensor:
    """Returns the cross-entropy of scores (n, t, v), averaged over the answers (n, t) asked for."""
    total = F.cross_entropy(scores.transpose(1, 2), answers, reduction="sum")
    return total / (answers != NOT_ASKED).sum().clamp_min(1)


def overlap(maps: Tensor) -> Tensor:
    """Returns how similar the maps (…, h, t, t) of the heads are: their mean cosine.

    Source: Li et al. 2018, "Multi-Head Attention with Disagreement Regularization", section 3.1.

    >>> [round(float(overlap(maps)), 3) for maps in (torch.ones(2, 1, 3), torch.eye(2)[:, None])]
    [1.0, 0.0]
    """
    rows = F.normalize(maps, dim=-1).transpose(-3, -2)  # (…, t, h, t)
    h = rows.shape[-2]
    return ((rows @ rows.mT).sum((-1, -2)) - h).mean() / max(1, h * (h - 1))


def answer_accuracy(scores: Tensor, answers: Tensor) -> float:
    """Returns the share of right answers (n, t) among those asked for.

    >>> answer_accuracy(F.one_hot(torch.tensor([[0, 1, 1]]), 2), torch.tensor([[NOT_ASKED, 1, 0]]))
    0.5
    """
    due = answers != NOT_ASKED
    return float((scores.argmax(-1) == answers)[due].sum() / due.sum().clamp_min(1))


def class_loss(chances: Tensor, labels: Tensor) -> Tensor:
    """Returns the mean of -log of the probability (n, k) of the right class (n)."""
    return F.nll_loss(chances.clamp_min(LEAST).log(), labels)


def accuracy(chances: Tensor, labels: Tensor) -> float:
    """Returns the share of examples whose most likely class is right."""
    return float((chances.argmax(1) == labels).float().mean())


def iou(scores: Tensor, classes: Tensor) -> float:
    """Returns intersection over union of pixels (n, y, h, w), averaged over classes but background.

    >>> right = torch.tensor([[[0, 1], [1, 1]]])
    >>> iou(F.one_hot(right, 2).movedim(-1, 1), right)
    1.0
    """
    found = scores.argmax(1)
    shares = []
    for kind in range(1, scores.shape[1]):
        either = ((found == kind) | (classes == kind)).sum()
        both = ((found == kind) & (classes == kind)).sum()
        shares.append(float(both / either) if either else 1.0)
    return sum(shares) / len(shares)


TASKS: Mapping[str, Task] = {
    task.name: task
    for task in (
        Task(
            "image-recogniser",
            labelled_digits,
            class_loss,
            accuracy,
            "accuracy",
            300,
            64,
            1e-3,
            available,
            ("x", "k"),
        ),
        Task(
            "lenet",
            grey_digits,
            class_loss,
            accuracy,
            "accuracy",
            300,
            64,
            2e-3,
            available,
            ("x", "c", "k"),
        ),
        Task(
            "identity-resnet",
            batched_digits,
            class_loss,
            accuracy,
            "accuracy",
            600,
            48,
            2e-3,
            available,
            ("b", "x", "y"),
            together="b",
        ),
        Task(
            "unet",
            labelled_shapes,
            F.cross_entropy,
            iou,
            "iou",
            600,
            16,
            2e-3,
            shape_count,
            ("x", "y"),
            deep=True,
        ),
        Task(
            "vae",
            any_digits,
            evidence_loss,
            explained,
            "variance",
            3000,
            64,
            2e-3,
            available,
            ("x",),
            noise=with_point_noise,
        ),
        Task(
            "diffusion-unet",
            signed_digits,
            F.mse_loss,
            explained,
            "variance",
            1200,
            64,
            2e-3,
            available,
            ("x", "o"),
            noise=made_noisy,
        ),
        *(
            Task(
                name,
                sequence_data(own),
                answer_loss,
                answer_accuracy,
                "answers",
                STEPS[name],
                64,
                3e-3,
                sequence_count,
                ("t", "v"),
                apart=APART.get(name, 0),
                decay=DECAY.get(name, 0),
            )
            for name, own in SEQUENCES.items()
        ),
    )
}


def task(name: str) -> Task:
    """Returns the task of a system; raises UnknownNameError for a system without one."""
    if name not in TASKS:
        raise unknown("task", name, TASKS)
    return TASKS[name]


def data(task: Task, knobs: Mapping[str, int], seed: int) -> Data:
    """Returns the data of a task, equal for equal knobs and seed."""
    return task.data(knobs, generator(seed, f"data of {task.name}"))
