"""Trains a perceptron on points of the plane, with all points at every step."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from ncd.lang.errors import LimitError
from ncd.models import CATALOGUE
from ncd.models.learning.plane_perceptron import scores
from ncd.run import CircuitModule, compile
from ncd.train.plane_points import points
from ncd.train.training_loop import TrainingLoop

RATE = 0.03  # learning rate of Adam
WIDEST = 256  # hidden units


@dataclass
class Plane(TrainingLoop):
    """``mlp-geometry`` at its knobs, to be trained on the points that a text names.

    Iterating takes the steps; the first progress is step 0, before training.

    >>> *_, last = Plane("mlp-geometry", {"p1": 2}, seed=0, steps=600, points="XOR")
    >>> last.step, last.score
    (600, 1.0)

    Raises LimitError for more than ``WIDEST`` hidden units.
    """

    points: str = "XOR"
    first: ClassVar[int] = 0
    scores: ClassVar[int] = 50  # times that the weights are reported on the way
    usual_steps: int = field(init=False, default=1000)

    def __post_init__(self) -> None:
        self.knobs = CATALOGUE[self.name].settings(self.knobs)
        if self.knobs["p1"] > WIDEST:
            raise LimitError(
                f"p1 is {self.knobs['p1']:,}, and at most {WIDEST} hidden units are trained here",
                cure=f"p1 = {WIDEST}",
                axis="p1",
                nearest=WIDEST,
            )
        self.module = compile(scores(**self.knobs), self.seed, self.device)
        places, classes = points(self.points, self.knobs["n"], self.seed)
        self.places, self.classes = places.to(self.device), classes.to(self.device)

    def losses(self) -> Iterator[Tensor]:
        optimiser = torch.optim.Adam(self.module.parameters(), RATE)
        while True:
            cost = loss(self.module(self.places), self.classes)
            yield cost.detach()
            optimiser.zero_grad()
            cost.backward()
            optimiser.step()

    @torch.no_grad()
    def score(self) -> float:
        """Returns the share of points on the right side."""
        return accuracy(self.module(self.places), self.classes)

    def numbers(self) -> tuple[float, ...]:
        return flat(self.module)


def loss(scores: Tensor, classes: Tensor) -> Tensor:
    """Returns the cross-entropy of scores (b, 1) for two classes, or (b, n)."""
    if scores.shape[1] == 1:
        return F.binary_cross_entropy_with_logits(scores[:, 0], classes.to(scores))
    return F.cross_entropy(scores, classes)


def accuracy(scores: Tensor, classes: Tensor) -> float:
    """Returns the share of points whose class has the highest score.

    >>> accuracy(torch.tensor([[-2.0], [3.0], [1.0]]), torch.tensor([0, 1, 0])) == 2 / 3
    True
    """
    found = (scores[:, 0] > 0).long() if scores.shape[1] == 1 else scores.argmax(1)
    return int((found == classes).sum()) / max(1, len(classes))


def flat(module: CircuitModule) -> tuple[float, ...]:
    """Returns W₁, b₁, W₂ and b₂ as one row of numbers, row by row, to five decimals."""
    numbers = torch.cat([weights.detach().flatten() for weights in module.parameters()])
    return tuple(round(number, 5) for number in numbers.tolist())
