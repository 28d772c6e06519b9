"""Turns: of all visitors' runs one at a time is in Python, as only one can be in the interpreter.

Threads that share the interpreter slow each other down, and hold locks that the others wait for: of
ten runs that begin together each would end when all do. In turns the first ends as if it were
alone. Whoever waits for something else gives its turn away meanwhile.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from heapq import heappop, heappush
from itertools import count
from threading import Lock, local
from time import perf_counter

GRACE = 0.1  # seconds for which who has begun lets those go first who begin
_guard, _here, _numbers = Lock(), local(), count()
_waiting: list[tuple[float, int, Lock]] = []
_taken = False


@contextmanager
def turn() -> Iterator[None]:
    """Waits for the turn, and has it; inside of another it is the same one.

    >>> with turn(), turn():
    ...     pass
    """
    if _held():
        yield
        return
    _take(late=False)
    try:
        yield
    finally:
        _give()


@contextmanager
def aside(late: bool = True) -> Iterator[None]:
    """Lets others go on meanwhile; those who begin go first then, unless little is left to do.

    But not for long: a diagram comes soon, and still nobody waits much longer than others.
    """
    held = _held()
    if held:
        _give()
    try:
        yield
    finally:
        if held:
            _take(late=late)


def waited() -> float:
    """The seconds that this thread has waited for its turns in all."""
    return getattr(_here, "waited", 0.0)


def _held() -> bool:
    return getattr(_here, "held", False)


def _take(*, late: bool) -> None:
    global _taken
    with _guard:
        mine, began = Lock(), perf_counter()
        if _taken:
            mine.acquire()
            heappush(_waiting, (began + GRACE * late, next(_numbers), mine))
        _taken = True
    mine.acquire()
    _here.held, _here.waited = True, waited() + perf_counter() - began


def _give() -> None:
    """Hands the turn to the first who waits."""
    global _taken
    _here.held = False
    with _guard:
        if _waiting:
            heappop(_waiting)[-1].release()
        else:
            _taken = False
