"""What a system can be trained to do: data from the seed, a loss, and a score on unseen data."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from ncd.lang.errors import SizeError
from ncd.models.entry import unknown
from ncd.run.seed import generator
from ncd.train.digits import available, digits
from ncd.train.shapes import KINDS, shapes

SEEN, UNSEEN = 512, 64  # pictures of shapes
LEAST = 1e-12  # below every probability that counts


@dataclass(frozen=True)
class Data:
    """Examples to learn from and others to be tried on: what goes in, what should come out."""

    inputs: Tensor
    targets: Tensor
    unseen: Tensor
    answers: Tensor
    source: str


@dataclass(frozen=True)
class Task:
    """How a system is trained.

    ``data`` is made at the knobs from a generator, at most ``examples`` of them; ``score`` of
    outputs and answers is called ``measure`` and is better the higher. ``steps`` of ``batch``
    examples each, by Adam at ``rate``. ``deep`` systems that have no norm begin with larger
    weights: :func:`ncd.train.fit.enlarge`.
    """

    name: str
    data: Callable[[Mapping[str, int], torch.Generator], Data]
    loss: Callable[[Tensor, Tensor], Tensor]
    score: Callable[[Tensor, Tensor], float]
    measure: str
    steps: int
    batch: int
    rate: float
    examples: Callable[[], int]
    deep: bool = False


def _digits(knobs: Mapping[str, int], random: torch.Generator) -> Data:
    if knobs["k"] < 10:
        raise SizeError(
            f"k is {knobs['k']}, but there are ten digits",
            cure="k = 10",
            axis="k",
            nearest=10,
        )
    images, labels, source = digits(knobs["x"])
    order = torch.randperm(len(images), generator=random)
    unseen, seen = order.tensor_split([len(order) // 6])
    return Data(images[seen], labels[seen], images[unseen], labels[unseen], source)


def _shapes(knobs: Mapping[str, int], random: torch.Generator) -> Data:
    if knobs["y"] > len(KINDS):
        raise SizeError(
            f"y is {knobs['y']}, but there are {len(KINDS)} kinds: {', '.join(KINDS)}",
            cure=f"y = {len(KINDS)}",
            axis="y",
            nearest=len(KINDS),
        )
    inputs, targets = shapes(SEEN, knobs["x"], knobs["y"], random)
    unseen, answers = shapes(UNSEEN, knobs["x"], knobs["y"], random)
    return Data(inputs, targets, unseen, answers, "shapes made up from the seed")


def _made() -> int:
    return SEEN + UNSEEN


def likelihood(chances: Tensor, labels: Tensor) -> Tensor:
    """The mean of -log of the chance (n, k) that was given to the right class (n)."""
    return F.nll_loss(chances.clamp_min(LEAST).log(), labels)


def accuracy(chances: Tensor, labels: Tensor) -> float:
    """The share of examples whose likeliest class is the right one."""
    return float((chances.argmax(1) == labels).float().mean())


def iou(scores: Tensor, classes: Tensor) -> float:
    """Intersection over union of pixels (n, y, h, w), the mean over all classes but background.

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
            "image-recogniser", _digits, likelihood, accuracy, "accuracy", 300, 64, 1e-3, available
        ),
        Task("unet", _shapes, F.cross_entropy, iou, "iou", 300, 16, 2e-3, _made, deep=True),
    )
}


def task(name: str) -> Task:
    """The task of a system; raises UnknownNameError for a system that has none."""
    if name not in TASKS:
        raise unknown("task", name, TASKS)
    return TASKS[name]


def data(task: Task, knobs: Mapping[str, int], seed: int) -> Data:
    """The data of a task: the same for the same knobs and seed."""
    return task.data(knobs, generator(seed, f"data of {task.name}"))
