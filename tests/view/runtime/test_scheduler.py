"""Runs take turns: one at a time, in order, and nobody waits for one who waits."""

from __future__ import annotations

from collections.abc import Callable
from threading import Event, Thread

import pytest

from ncd.view.runtime import scheduler
from ncd.view.runtime.scheduler import aside, turn

PATIENCE = 10


def started(work: Callable[[], None]) -> Thread:
    thread = Thread(target=work, daemon=True)
    thread.start()
    return thread


def queued(work: Callable[[], None]) -> Thread:
    """Starts it, and returns once it waits for its turn."""
    before = len(scheduler._waiting)
    thread = started(work)
    while len(scheduler._waiting) == before and thread.is_alive():
        thread.join(0.001)
    return thread


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


@pytest.mark.parametrize(
    ("grace", "expected"),
    [(60.0, ["second", "third", "first"]), (0.0, ["second", "first", "third"])],
)
def test_who_steps_aside_lets_others_go_on_and_comes_back_after_those_who_soon_begin(
    monkeypatch: pytest.MonkeyPatch, grace: float, expected: list[str]
) -> None:
    monkeypatch.setattr(scheduler, "GRACE", grace)
    order: list[str] = []
    away, back = Event(), Event()

    def first() -> None:
        with turn():
            with aside():
                away.set()
                back.wait(PATIENCE)
            order.append("first")

    def other(name: str) -> None:
        with turn():
            order.append(name)

    slow = started(first)
    assert away.wait(PATIENCE)
    joined(started(lambda: other("second")))  # while the first is away
    with turn():
        back.set()
        while not scheduler._waiting:
            slow.join(0.001)
        late = queued(lambda: other("third"))
    joined(slow, late)
    assert order == expected


def test_a_run_that_fails_gives_its_turn_away() -> None:
    with pytest.raises(ZeroDivisionError), turn(), aside():
        _ = 1 / 0
    with turn():
        pass


def test_a_turn_inside_of_a_turn_is_the_same_and_aside_alone_is_nothing() -> None:
    with aside(), turn(), turn(), aside():
        assert not scheduler._taken
    assert not scheduler._taken
    assert not scheduler._waiting
