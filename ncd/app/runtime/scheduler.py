"""The scheduler, which says whose run goes next, and the threads in which torch runs.

Threads that share Python's interpreter lock slow each other down: of ten runs that begin together,
each would end only when all do. With turns, the first ends as if it were alone. A run that waits
for something else gives up its turn in the meantime.

A run begins with its diagram. All that follows its first pause, such as the open panel, waits in a
second queue while a diagram is due, and does not block the diagrams that come later. So a server
beyond its capacity still sends diagrams soon, and panels wait. If a visitor moves a slider again
while their run waits, the run ends, and the newest one takes its place in the queue.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import wait
from contextlib import contextmanager
from contextvars import copy_context
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import count
from threading import Lock, local
from time import perf_counter
from typing import NamedTuple, TypeVar

from ncd.app.runtime import streamlit_internals
from ncd.run import torch_pool

# --- The scheduler: of all visitors' runs, one at a time makes a diagram, and one makes the rest

CHECK_SECONDS = 0.1  # seconds between checks whether the visitor has asked for another run
FIRST, REST = 0, 1  # the queues: diagrams, and all that follows them


class Waiting(NamedTuple):
    """A thread that waits for its turn; the smallest comes first."""

    start_time: float
    number: int
    lock: Lock


_guard, _here, _numbers = Lock(), local(), count()
_lines: tuple[list[Waiting], list[Waiting]] = [], []
_busy_lanes = [False, False]


@contextmanager
def turn(late: bool = False) -> Iterator[None]:
    """Waits for its turn, and holds it while the enclosed code runs; turns can be nested.

    Diagrams go first if ``late``.

    >>> with turn(), turn():
    ...     pass
    """
    if _lane() is not None:
        yield
        return
    _take(REST if late else FIRST)
    try:
        yield
        _here.rest = None
    finally:
        if _lane() is not None:
            _give()


@contextmanager
def yielded_turn(late: bool = True) -> Iterator[None]:
    """Gives up the turn while the enclosed code runs; diagrams go first then, if ``late``."""
    held = _lane() is not None
    if held:
        _give()
    try:
        yield
    finally:
        if held:
            _take(REST if late else FIRST)


def waited_seconds() -> float:
    """Returns how many seconds this thread has waited for its turns in total."""
    return getattr(_here, "waited", 0.0)


def _lane() -> int | None:
    return getattr(_here, "lane", None)


def _wait_start(lane: int) -> float:
    """Returns when this thread began to wait in a queue; a run keeps its place in it."""
    name = ("first", "rest")[lane]
    since: float | None = getattr(_here, name, None)
    if since is None:
        since = perf_counter()
        setattr(_here, name, since)
    return since


def _take(lane: int) -> None:
    began, mine = perf_counter(), Waiting(_wait_start(lane), next(_numbers), Lock())
    mine.lock.acquire()
    with _guard:
        heappush(_lines[lane], mine)
        _grant()
    check = streamlit_internals.superseded_check()
    try:
        while not mine.lock.acquire(timeout=CHECK_SECONDS if check else -1):
            if check:
                check()
    except BaseException:
        _leave(lane, mine)
        raise
    _here.lane, _here.first = lane, None
    _here.waited = waited_seconds() + perf_counter() - began
    if lane == REST and check:
        check()


def _leave(lane: int, mine: Waiting) -> None:
    """Gives up a place in a queue, or the turn if it has come in the meantime."""
    with _guard:
        if mine in _lines[lane]:
            _lines[lane].remove(mine)
            heapify(_lines[lane])
        else:
            _busy_lanes[lane] = False
        _grant()


def _give() -> None:
    lane, _here.lane = _here.lane, None
    with _guard:
        _busy_lanes[lane] = False
        _grant()


def _grant() -> None:
    """Hands each free turn to the first in its queue; the second only while no diagram is due."""
    for lane in (FIRST, REST):
        due = _busy_lanes[FIRST] or _lines[FIRST]
        if _lines[lane] and not _busy_lanes[lane] and (lane == FIRST or not due):
            _busy_lanes[lane] = True
            heappop(_lines[lane]).lock.release()


# --- Runs torch for a visitor in a thread of the pool, until the visitor wants something else

T = TypeVar("T")
CHECK_INTERVAL = 0.1  # seconds between two checks whether the page still needs the result


def run_in_thread(make: Callable[[], T], *, long: bool = False) -> T:
    """Returns ``make()``, computed in a thread of the pool; its exceptions are raised here.

    The run of the page ends here if the visitor has requested another one. ``make`` is then skipped
    if it has not begun, and its result is ignored if it has.

    >>> run_in_thread(lambda: run_in_thread(lambda: 1 + 1, long=True))
    2
    """
    if torch_pool.is_pool_thread():
        return make()
    check = streamlit_internals.superseded_check()
    if check is not None:
        check()
    made = torch_pool.submit(partial(copy_context().run, make), long=long)
    try:
        while check is not None and not wait((made,), CHECK_INTERVAL).done:
            check()
        return made.result()
    finally:
        made.cancel()
