"""Points of the plane, and a perceptron trained on them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from ncd.errors import LimitError
from ncd.run.guard import compile
from ncd.run.module import CircuitModule
from ncd.run.seeding import generator
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.networks.perceptrons import scores
from ncd.systems.training.training_loop import TrainingLoop

# --- Classes of points in the plane: generated sets, and points set by a visitor

COUNT = 96  # points of a generated set, equally many of each class
EDGE = 1.5  # both coordinates go from -EDGE to EDGE
MAX_COORDINATE = 255  # the largest coordinate in a text
MAX_POINTS = 100  # points that a visitor can set
POINT = re.compile(r"([0-9a-f]{2})([0-9a-f]{2})([0-3])")
Points = tuple[Tensor, Tensor]  # places (b, 2), classes (b)


def points(text: str, n: int, seed: int) -> Points:
    """Returns the points that a text names, of n classes: a set such as ``XOR``, or single points.

    >>> places, classes = points("XOR", 2, seed=0)
    >>> places.shape, [int((classes == k).sum()) for k in range(2)]
    (torch.Size([96, 2]), [48, 48])
    >>> bool((places.prod(1).sign() == 1 - 2 * classes).all())
    True
    """
    return generate_points(text, n, seed) if text in SETS else read(text, n)


def valid(text: object) -> str:
    """Returns the valid part of a text of points: two coordinates from 00 to ff, and a class.

    >>> valid("00ff1804020"), valid("00ff1<b>"), valid(None), len(valid("00ff1" * 1000))
    ('00ff180402', '00ff1', '', 500)
    """
    found = re.match(
        rf"(?:{POINT.pattern}){{0,{MAX_POINTS}}}", text if isinstance(text, str) else ""
    )
    return found[0] if found else ""


def read(text: str, n: int) -> Points:
    """Returns the points of a text, without classes beyond n; y grows upwards.

    >>> read("00ff1ff003", 2)
    (tensor([[-1.5000, -1.5000]]), tensor([1]))
    """
    rows = [
        (int(x, 16), MAX_COORDINATE - int(y, 16), int(k))
        for x, y, k in POINT.findall(valid(text))
        if int(k) < n
    ]
    table = torch.tensor(rows, dtype=torch.float32).reshape(-1, 3)
    return table[:, :2] / MAX_COORDINATE * 2 * EDGE - EDGE, table[:, 2].long()


def generate_points(name: str, n: int, seed: int) -> Points:
    """Returns a named set from the seed, with classes in turn."""
    random = generator(seed, f"points: {name}")
    classes = torch.arange(COUNT) % n
    along = (torch.arange(COUNT) // n + 0.5) / (COUNT / n)  # from 0 to 1 within a class
    noise = torch.rand(COUNT, 2, generator=random).mul(2).sub(1)
    return SETS[name](classes, along, noise, n), classes


def _xor(classes: Tensor, along: Tensor, noise: Tensor, n: int) -> Tensor:
    """Returns four corners, the classes in turn around them."""
    turn = (classes + n * (4 * along * (4 / n)).floor()) % 4  # all corners of a class equally often
    corners = torch.tensor([[1.0, 1.0], [-1.0, 1.0], [-1.0, -1.0], [1.0, -1.0]])
    return 0.85 * corners[turn.long()] + 0.3 * noise


def _circles(classes: Tensor, along: Tensor, noise: Tensor, n: int) -> Tensor:
    """Returns concentric rings."""
    return _polar(0.15 + 1.05 * classes / (n - 1), 2 * math.pi * along) + 0.07 * noise


def _spirals(classes: Tensor, along: Tensor, noise: Tensor, n: int) -> Tensor:
    """Returns arms that turn once around the middle."""
    return _polar(0.15 + 1.1 * along, 2 * math.pi * (along + classes / n)) + 0.04 * noise


def _moons(classes: Tensor, along: Tensor, noise: Tensor, n: int) -> Tensor:
    """Returns interleaved half rings, up and down in turn."""
    side = 1 - 2 * (classes % 2)
    across = classes + torch.cos(math.pi * along) - (n - 1) / 2
    down = side * (torch.sin(math.pi * along) - 0.25)
    return torch.stack((across, down), 1) * (2.5 / (n + 1)) + 0.06 * noise


def _polar(radius: Tensor, angle: Tensor) -> Tensor:
    return radius[:, None] * torch.stack((angle.cos(), angle.sin()), 1)


SETS: Mapping[str, Callable[[Tensor, Tensor, Tensor, int], Tensor]] = {
    "XOR": _xor,
    "circles": _circles,
    "spirals": _spirals,
    "moons": _moons,
}


# --- Trains a perceptron on points of the plane, with all points at every step

RATE = 0.03  # learning rate of Adam
WIDEST = 256  # hidden units


@dataclass
class PlaneTraining(TrainingLoop):
    """``mlp-geometry`` at its knobs, to be trained on the points that a text names.

    Iterating takes the steps; the first progress is step 0, before training.

    >>> *_, last = PlaneTraining("mlp-geometry", {"p1": 2}, seed=0, steps=600, points="XOR")
    >>> last.step, last.score
    (600, 1.0)

    Raises LimitError for more than ``WIDEST`` hidden units.
    """

    points: str = "XOR"
    first_step: ClassVar[int] = 0
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
