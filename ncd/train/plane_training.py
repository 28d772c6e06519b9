"""Trains a perceptron on points of the plane, with all points at every step."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from time import monotonic

import torch
import torch.nn.functional as F
from torch import Tensor

from ncd.lang.errors import LimitError
from ncd.models import CATALOGUE
from ncd.models.learning.plane_perceptron import scores
from ncd.run import CircuitModule, compile
from ncd.train.plane_points import points
from ncd.train.training_loop import Progress

RATE = 0.03  # of Adam
SHOWN = 50  # times that the weights are told on the way
WIDEST = 256  # hidden units


@dataclass
class Plane:
    """``mlp-geometry`` at its knobs, to be trained on the points that a text names.

    Iterating takes the steps; the first progress is step 0, before training. Equal knobs, seed,
    points and steps give equal numbers, to the bit on one machine's CPU.

    >>> *_, last = Plane("mlp-geometry", {"p1": 2}, seed=0, steps=600, points="XOR")
    >>> last.step, last.score
    (600, 1.0)

    Raises LimitError for more than ``WIDEST`` hidden units.
    """

    name: str
    knobs: Mapping[str, int]
    seed: int = 0
    steps: int | None = None
    device: str = "cpu"
    points: str = "XOR"
    module: CircuitModule = field(init=False)

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

    def __iter__(self) -> Iterator[Progress]:
        steps = self.steps or 1000
        start, every = monotonic(), max(1, steps // SHOWN)
        optimiser = torch.optim.Adam(self.module.parameters(), RATE)
        for step in range(steps + 1):
            found = self.module(self.places)
            cost, told = loss(found, self.classes), step % every == 0 or step == steps
            score = right(found, self.classes) if told else None
            numbers = flat(self.module) if told else ()
            yield Progress(step, steps, float(cost.detach()), monotonic() - start, score, numbers)
            if step < steps:
                optimiser.zero_grad()
                cost.backward()
                optimiser.step()

    @torch.no_grad()
    def score(self) -> float:
        """Returns the share of points on the right side."""
        return right(self.module(self.places), self.classes)


def loss(scores: Tensor, classes: Tensor) -> Tensor:
    """Returns the cross-entropy of scores (b, 1) for two classes, or (b, n)."""
    if scores.shape[1] == 1:
        return F.binary_cross_entropy_with_logits(scores[:, 0], classes.to(scores))
    return F.cross_entropy(scores, classes)


def right(scores: Tensor, classes: Tensor) -> float:
    """Returns the share of points whose class has the highest score.

    >>> right(torch.tensor([[-2.0], [3.0], [1.0]]), torch.tensor([0, 1, 0])) == 2 / 3
    True
    """
    found = (scores[:, 0] > 0).long() if scores.shape[1] == 1 else scores.argmax(1)
    return int((found == classes).sum()) / max(1, len(classes))


def flat(module: CircuitModule) -> tuple[float, ...]:
    """Returns W₁, b₁, W₂ and b₂ as one row of numbers, row by row, to five decimals."""
    numbers = torch.cat([weights.detach().flatten() for weights in module.parameters()])
    return tuple(round(number, 5) for number in numbers.tolist())
