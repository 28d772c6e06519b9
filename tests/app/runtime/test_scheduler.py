"""Runs take turns: one at a time, in order, and nobody waits for one who waits."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import count
from threading import Event, Thread, get_ident

import pytest

from ncd.app.runtime import scheduler
from ncd.app.runtime.scheduler import turn, yielded_turn

PATIENCE = 10


def started(work: Callable[[], None]) -> Thread:
    thread = Thread(target=work, daemon=True)
    thread.start()
    return thread


def queued(work: Callable[[], None]) -> Thread:
    """Starts it, and returns once it waits for its turn."""
    before = waiting()
    thread = started(work)
    while waiting() == before and thread.is_alive():
        thread.join(0.001)
    return thread


def waiting() -> int:
    return sum(map(len, scheduler._lines))


def joined(*threads: Thread) -> None:
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_they_come_one_after_the_other_in_the_order_in_which_they_asked() -> None:
    order: list[int] = []

    def work(number: int) -> None:
        with turn():
            order.append(number)

    with turn():
        threads = [queued(lambda n=n: work(n)) for n in range(5)]
        assert order == []
    joined(*threads)
    assert order == [0, 1, 2, 3, 4]


def test_a_late_turn_comes_when_no_diagram_is_due() -> None:
    order: list[str] = []

    def work(name: str, late: bool) -> None:
        with turn(late=late):
            order.append(name)

    with turn():
        late = queued(lambda: work("panel", True))
        early = [queued(lambda n=n: work(f"diagram {n}", False)) for n in range(2)]
        assert order == []
    joined(late, *early)
    assert order == ["diagram 0", "diagram 1", "panel"]


def test_the_rest_of_a_run_waits_for_diagrams_and_delays_none() -> None:
    order: list[str] = []
    away, back, begun, end = Event(), Event(), Event(), Event()

    def slow() -> None:
        with turn():
            with yielded_turn():
                away.set()
                back.wait(PATIENCE)
            order.append("rest")
            begun.set()
            end.wait(PATIENCE)

    def diagram(name: str) -> None:
        with turn():
            order.append(name)

    first = started(slow)
    assert away.wait(PATIENCE)
    joined(started(lambda: diagram("while it is away")))
    with turn():
        second = queued(lambda: diagram("before the rest"))
        before = waiting()
        back.set()
        while waiting() == before and first.is_alive():
            first.join(0.001)
        assert order == ["while it is away"]
    assert begun.wait(PATIENCE)
    joined(second, started(lambda: diagram("while the rest is made")))
    end.set()
    joined(first)
    assert order == ["while it is away", "before the rest", "rest", "while the rest is made"]


def test_a_run_whose_visitor_has_moved_on_ends_while_it_waits_and_keeps_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Newer(Exception):
        """Another run is asked for."""

    moved, order, visitors = Event(), list[str](), list[int]()

    def check() -> None:
        if moved.is_set() and not order:
            order.append("moved on")
            raise Newer

    def stop_check() -> Callable[[], None] | None:
        return check if get_ident() in visitors else None  # the other has not moved on

    monkeypatch.setattr(scheduler.streamlit_internals, "superseded_check", stop_check)

    def visitor() -> None:
        visitors.append(get_ident())
        with suppress(Newer), turn():
            order.append("the older move")
        with turn():
            order.append("the newest move")

    def other() -> None:
        with turn():
            order.append("who came later")

    with turn():
        first = queued(visitor)
        second = queued(other)
        moved.set()
        while (not order or waiting() < 2) and first.is_alive():
            first.join(0.001)
    joined(first, second)
    assert order == ["moved on", "the newest move", "who came later"]


def test_a_run_that_fails_gives_its_turn_away() -> None:
    with pytest.raises(ZeroDivisionError), turn(), yielded_turn():
        _ = 1 / 0
    with turn():
        pass


def test_a_turn_inside_of_a_turn_is_the_same_and_aside_alone_is_nothing() -> None:
    with yielded_turn(), turn(), turn(), yielded_turn():
        assert scheduler._busy_lanes == [False, False]
    assert scheduler._busy_lanes == [False, False]
    assert not waiting()


def test_a_thread_knows_how_long_it_has_waited(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock goes on by a second with every look; a turn looks at it three times."""
    clock, waited = count(), list[float]()
    monkeypatch.setattr(scheduler, "perf_counter", lambda: float(next(clock)))

    def work() -> None:
        waited.append(scheduler.waited_seconds())
        for late in (False, True):
            with turn(late=late):
                waited.append(scheduler.waited_seconds())

    joined(started(work))
    assert waited == [0, 2, 4]


def test_what_is_late_begins_only_if_it_is_still_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    monkeypatch.setattr(
        scheduler.streamlit_internals, "superseded_check", lambda: lambda: looks.append("look")
    )
    with turn():
        assert looks == []
    with turn(late=True):
        assert looks == ["look"]


def test_what_nobody_wants_is_not_run(monkeypatch: pytest.MonkeyPatch) -> None:
    class Newer(Exception):
        """Another run is asked for."""

    def check() -> None:
        raise Newer

    monkeypatch.setattr(scheduler.streamlit_internals, "superseded_check", lambda: check)
    made: list[int] = []
    with pytest.raises(Newer):
        scheduler.run_in_thread(lambda: made.append(1))
    monkeypatch.undo()
    scheduler.run_in_thread(lambda: made.append(2))
    assert made == [2]
