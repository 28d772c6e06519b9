"""Random choices, from Hypothesis (which shrinks them) or from a seed (which is fast)."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")
FRESH = (*"efgijlopqrstvwz", "n_b", "m_1", "m_2", "x/s", "k/h", "4m", "3c", "class", "fi")


class Draws:
    """Choices made of whole numbers; it also gives out names and sizes for new axes."""

    def __init__(self) -> None:
        self.used = 0

    def number(self, low: int, high: int) -> int:
        raise NotImplementedError

    def one(self, values: Sequence[T]) -> T:
        return values[self.number(0, len(values) - 1)]

    def yes(self, of: int = 2) -> bool:
        """True once in so many times."""
        return self.number(1, of) == of

    def some(self, values: Sequence[T], least: int = 0) -> list[T]:
        """A random selection, in the order in which they stand."""
        chosen = [value for value in values if self.yes()]
        return chosen if len(chosen) >= least else list(values[:least])

    def shuffled(self, values: Sequence[T]) -> list[T]:
        left, found = list(values), []
        while left:
            found.append(left.pop(self.number(0, len(left) - 1)))
        return found

    def name(self) -> str:
        """A name that no axis has yet."""
        self.used += 1
        turn, at = divmod(self.used - 1, len(FRESH))
        return FRESH[at] + (f"_{turn}x" if turn else "")

    def axis(self) -> str:
        """A new axis, now and then a spatial group."""
        return f"{self.name()}:{self.one(('1', '2', '3', '4', '3', '2', '2x3'))}"


class Shrinking(Draws):
    """From Hypothesis."""

    def __init__(self, draw: st.DrawFn) -> None:
        super().__init__()
        self.draw = draw

    def number(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))


class Seeded(Draws):
    """From a seed: the same choices every time."""

    def __init__(self, seed: int) -> None:
        super().__init__()
        self.random = Random(seed)

    def number(self, low: int, high: int) -> int:
        return self.random.randint(low, high)
