"""A sample of the cases of a large product; with the option ``--all`` every case."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import TypeVar

T = TypeVar("T")

everything = False  # tests/conftest.py sets it by the option --all


def sample(cases: Iterable[T], count: int, of: str = "") -> list[T]:
    """Returns ``count`` of the cases in their order, the same at every run; all with ``--all``.

    Args:
        cases: all cases of a product, such as the settings of an entry.
        count: how many of them are tested without ``--all``.
        of: what the cases belong to, such as the name of an entry; each name draws other cases.

    >>> sample("abc", 5)
    ['a', 'b', 'c']
    >>> sample(range(100), 3) == sample(range(100), 3)
    True
    """
    every = list(cases)
    if everything or count >= len(every):
        return every
    chosen = random.Random(of).sample(range(len(every)), count)
    return [every[i] for i in sorted(chosen)]


def count(few: int, every: int) -> int:
    """Returns how many random examples are tried: ``few``, or ``every`` with ``--all``."""
    return every if everything else few
