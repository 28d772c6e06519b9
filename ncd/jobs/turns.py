"""Turns at something that few can have at once, shared out fairly among visitors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Condition


class Turns:
    """A few turns at once; who had one longest ago, or has fewest now, is next.

    However many a visitor asks for, another one waits for no more than one of them to end.

    Args:
        count: How many there are at once.

    >>> turns = Turns(1)
    >>> with turns.taken("a", seconds=0) as first, turns.taken("b", seconds=0) as second:
    ...     first, second
    (True, False)
    """

    def __init__(self, count: int) -> None:
        self._news = Condition()  # guards all fields below
        self.count = self._free = count
        self._running: list[str] = []  # by visitor
        self._waiting: list[tuple[str, object]] = []  # in the order in which they came
        self._last: dict[str, int] = {}  # by a visitor who waits or runs: which turn it had
        self._given = 0

    @property
    def waiting(self) -> int:
        """The number of those who wait for a turn."""
        with self._news:
            return len(self._waiting)

    @contextmanager
    def taken(self, visitor: str, seconds: float) -> Iterator[bool]:
        """Waits for a turn; yields whether it came in time, and gives it back at the end."""
        came = self._wait(visitor, seconds)
        try:
            yield came
        finally:
            if came:
                self._give_back(visitor)

    def _wait(self, visitor: str, seconds: float) -> bool:
        own = visitor, object()
        with self._news:
            self._waiting.append(own)
            try:
                came = self._news.wait_for(lambda: self._free > 0 and self._next() is own, seconds)
            finally:
                self._waiting.remove(own)
            if came:
                self._free -= 1
                self._given += 1
                self._running.append(visitor)
                self._last[visitor] = self._given
            self._tidy()
            return came

    def _next(self) -> tuple[str, object]:
        def rank(one: tuple[str, object]) -> tuple[int, int]:
            return self._running.count(one[0]), self._last.get(one[0], 0)

        return min(self._waiting, key=rank)  # the first of those that are alike

    def _give_back(self, visitor: str) -> None:
        with self._news:
            self._free += 1
            self._running.remove(visitor)
            self._tidy()

    def _tidy(self) -> None:
        """Forgets visitors who have left, and lets those who wait look again."""
        here = {*self._running, *(visitor for visitor, _ in self._waiting)}
        self._last = {visitor: turn for visitor, turn in self._last.items() if visitor in here}
        self._news.notify_all()
