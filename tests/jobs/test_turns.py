"""However many texts one visitor sends, another waits for no more than one of them."""

from __future__ import annotations

from contextlib import ExitStack
from threading import Event, Thread

import pytest

from ncd.jobs.job_pool import Turns
from ncd.jobs.source_reading import Reader
from ncd.notation.term_reader import TextError
from tests.support.polling import until

LONG = 60.0  # seconds, which no test waits


class Queue:
    """Visitors who come one after the other, and hold their turns until they are let go."""

    def __init__(self, count: int) -> None:
        self.turns = Turns(count)
        self.order: list[str] = []
        self.go: dict[str, Event] = {}
        self.threads: list[Thread] = []

    def come(self, name: str, visitor: str) -> None:
        """Lets a text of a visitor come, and waits until it runs or stands in the queue."""
        self.go[name] = Event()
        before = len(self.order) + self.turns.waiting
        self.threads.append(Thread(target=self._hold, args=(name, visitor)))
        self.threads[-1].start()
        until(lambda: len(self.order) + self.turns.waiting > before)

    def _hold(self, name: str, visitor: str) -> None:
        with self.turns.take_turn(visitor, LONG) as came:
            assert came
            self.order.append(name)
            self.go[name].wait(LONG)

    def end(self, name: str) -> None:
        """Lets a text end, and waits until the next one runs."""
        more = len(self.order) + bool(self.turns.waiting)
        self.go[name].set()
        until(lambda: len(self.order) == more)

    def close(self) -> None:
        for event in self.go.values():
            event.set()
        for thread in self.threads:
            thread.join(LONG)


@pytest.mark.parametrize("hostile", [6, 20])
def test_an_honest_visitor_is_next(hostile: int) -> None:
    queue = Queue(1)
    for n in range(hostile):
        queue.come(f"bad {n}", "hostile")
    queue.come("good", "honest")
    queue.end("bad 0")
    assert queue.order == ["bad 0", "good"]
    queue.end("good")
    assert queue.order == ["bad 0", "good", "bad 1"]
    queue.close()
    assert len(queue.order) == hostile + 1


def test_visitors_take_turns() -> None:
    queue = Queue(1)
    for name in ("a 0", "a 1", "a 2", "b 0", "b 1", "c 0"):
        queue.come(name, name[0])
    for n in range(6):
        queue.end(queue.order[n])
    assert queue.order == ["a 0", "b 0", "c 0", "a 1", "b 1", "a 2"]
    queue.close()


def test_one_visitor_takes_all_turns_only_while_no_other_waits() -> None:
    queue = Queue(2)
    for name in ("a 0", "a 1", "a 2", "b 0"):
        queue.come(name, name[0])
    assert queue.order == ["a 0", "a 1"]
    queue.end("a 0")
    assert queue.order[2:] == ["b 0"]
    queue.close()


def test_who_waits_too_long_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ncd.jobs.source_reading.QUEUE", 0.0)
    reader = Reader()
    with ExitStack() as others, pytest.raises(TextError) as error:
        for _ in range(reader.turns["source"].count):
            assert others.enter_context(reader.turns["source"].take_turn("another", 0.0))
        reader.read("nn.Linear(2, 3)", "one")
    assert str(error.value) == (
        "line 1, column 1: too many sources are read now. Try it again in a minute."
    )
