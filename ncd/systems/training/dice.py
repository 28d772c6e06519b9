"""Random choices from a generator of torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

import torch

DRAW_COUNT = 1024  # numbers that are drawn at once
T = TypeVar("T")


class Dice:
    """Random choices from a generator of torch.

    >>> Dice(torch.Generator().manual_seed(0)).pick("abc")
    'b'
    """

    def __init__(self, random: torch.Generator) -> None:
        self.draws = self._draw_numbers(random)

    def _draw_numbers(self, random: torch.Generator) -> Iterator[float]:
        while True:
            yield from torch.rand(DRAW_COUNT, generator=random).tolist()

    def random(self) -> float:
        """Returns a number from 0 to 1."""
        return next(self.draws)

    def pick(self, among: Sequence[T]) -> T:
        """Returns one of several."""
        return among[int(self.random() * len(among))]
