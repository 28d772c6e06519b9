"""The pool: a queue with places, one job a question, and a lost worker is a retry."""

from __future__ import annotations

from collections.abc import Iterator
from queue import SimpleQueue
from threading import Event
from types import SimpleNamespace
from unittest.mock import patch

import pytest

from ncd.jobs import job_pool as pools
from ncd.jobs.job_pool import LATE, LEFT, LOST_WORKER_TEXT, STOPPED, Pool, Ticket
from ncd.jobs.local_workers import Message, WorkerChannel

WAIT = 20.0


class Worker:
    """A worker whose words the test says; None is its end."""

    def __init__(self, text: str) -> None:
        self.text, self.asked = text, 0
        self.words: SimpleQueue[Message | None] = SimpleQueue()
        self.ended = Event()

    def news(self) -> Iterator[Message]:
        yield from iter(self.words.get, None)

    def want(self) -> None:
        self.asked += 1

    def end(self) -> None:
        self.ended.set()
        self.words.put(None)


class Backend:
    def __init__(self, slots: int) -> None:
        self.slots = slots
        self.begun: SimpleQueue[Worker] = SimpleQueue()

    def prepare(self) -> None: ...

    def start(self, text: str) -> Worker:
        worker = Worker(text)
        self.begun.put(worker)
        return worker

    def next(self) -> Worker:
        return self.begun.get(timeout=WAIT)


def pair(slots: int = 1) -> tuple[Pool, Backend]:
    backend = Backend(slots)
    return Pool(backend), backend


def ask(pool: Pool, seed: int, kind: str = "train") -> Ticket:
    return pool.submit(kind, {"seed": seed})


def until(ticket: Ticket, asked: str) -> None:
    """Waits until something is so."""
    while not getattr(ticket, asked):
        assert ticket.poll(WAIT), asked


def step(n: int) -> Message:
    return {"news": [{"step": n}]}


def whole(result: bytes) -> Message:
    return {"result": result, "whole": True, "last": True}


def test_jobs_wait_in_their_order_and_move_up() -> None:
    pool, backend = pair()
    tickets = [ask(pool, seed) for seed in range(4)]
    first = backend.next()
    assert [ticket.queue_position for ticket in tickets] == [0, 1, 2, 3]
    tickets[1].leave()
    assert [ticket.queue_position for ticket in tickets] == [0, 0, 1, 2]
    first.words.put(whole(b"x"))
    first.words.put(None)
    assert '"seed": 2' in backend.next().text
    assert tickets[0].result == b"x" and tickets[3].queue_position == 1


def test_the_same_question_is_one_job_and_its_result_is_kept() -> None:
    pool, backend = pair()
    one, two = ask(pool, 0), ask(pool, 0)
    worker = backend.next()
    worker.words.put(step(1))
    until(one, "reports")
    three = ask(pool, 0)
    assert three.reports == [{"step": 1}]  # who comes later has what was told before
    worker.words.put(whole(b"same"))
    for ticket in (one, two, three):
        until(ticket, "ended")
    again = ask(pool, 0)
    assert [each.result for each in (one, two, three, again)] == [b"same"] * 4
    assert again.reports == [{"step": 1}] and backend.begun.empty()


def test_who_stops_gets_what_there_is_and_the_others_go_on() -> None:
    pool, backend = pair()
    one, two = ask(pool, 0), ask(pool, 0)
    worker = backend.next()
    worker.words.put(step(1))
    until(one, "reports")
    one.stop()
    assert worker.asked == 1
    worker.words.put({"result": b"part", "whole": False, "last": False})
    until(one, "ended")
    worker.words.put(step(2))
    worker.words.put(whole(b"all"))
    until(two, "ended")
    assert (one.result, one.reports) == (b"part", [{"step": 1}])
    assert (two.result, len(two.reports)) == (b"all", 2)


def test_a_job_that_nobody_waits_for_ends() -> None:
    pool, backend = pair()
    one, two, waiting = ask(pool, 0), ask(pool, 0), ask(pool, 1)
    worker = backend.next()
    one.leave()
    assert worker.words.empty() and one.failure == LEFT
    two.stop()
    worker.words.put({"result": b"part", "whole": False, "last": False})
    until(two, "ended")
    backend.next()  # the one that has waited
    assert worker.words.empty() and two.result == b"part"
    waiting.leave()


def test_stopped_in_the_queue_it_never_begins() -> None:
    pool, backend = pair()
    ask(pool, 0)
    waiting = ask(pool, 1)
    waiting.stop()
    assert (waiting.failure, waiting.queue_position) == (STOPPED, 0)
    backend.next().words.put(None)
    assert '"seed": 0' in backend.next().text  # again, its worker is lost


def test_a_lost_worker_is_a_retry_before_all_others_and_only_once() -> None:
    pool, backend = pair()
    one, other = ask(pool, 0), ask(pool, 1)
    first = backend.next()
    first.words.put(step(1))
    until(one, "reports")
    first.words.put(None)
    second = backend.next()
    assert second.text == first.text and other.queue_position == 1
    assert one.again and not one.reports and not one.ended
    second.words.put(step(1))
    second.words.put(None)
    until(one, "ended")
    assert one.failure == LOST_WORKER_TEXT and not one.result
    assert '"seed": 1' in backend.next().text


def test_a_failure_is_told_and_not_tried_again() -> None:
    pool, backend = pair()
    one = ask(pool, 0)
    worker = backend.next()
    worker.words.put({"failure": "SizeError: no"})
    worker.words.put(None)
    until(one, "ended")
    assert one.failure == "SizeError: no" and backend.begun.empty()
    ask(pool, 0)
    backend.next()  # what has failed is not kept


def test_where_no_worker_can_begin_the_page_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, backend = pair()

    def refused(text: str) -> Worker:
        raise ConnectionError("no cluster there")

    monkeypatch.setattr(backend, "start", refused)
    one = ask(pool, 0)
    until(one, "ended")
    assert one.failure == "ConnectionError: no cluster there"


def test_only_one_that_may_fill_the_memory_runs_at_a_time() -> None:
    pool, backend = pair(slots=2)
    heavy = [ask(pool, seed, "forward") for seed in (0, 1)]
    light = ask(pool, 2)
    assert '"forward"' in backend.next().text and '"train"' in backend.next().text
    assert [ticket.queue_position for ticket in (*heavy, light)] == [0, 1, 0]


def test_a_visitor_who_shows_no_sign_holds_no_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, backend = pair()
    one, two = ask(pool, 0), ask(pool, 1)
    first = backend.next()
    monkeypatch.setattr(pools, "TICKET_SECONDS", 60.0)
    one.last_polled -= 61.0
    assert backend.next().text != first.text and one.failure == LEFT
    assert not two.ended


def test_what_does_not_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    pool, backend = pair()
    one = ask(pool, 0)
    worker = backend.next()
    monkeypatch.setattr(pools, "PATIENCE", -1000.0)
    until(one, "ended")
    assert one.failure == LATE
    assert worker.ended.wait(WAIT)


class Ended(Exception):
    """The watch is left after one look."""


def look(pool: Pool, at: float) -> None:
    """Lets the watch of a pool look once, at some time."""
    sleeps = iter([None])

    def sleep(seconds: float) -> None:
        if next(sleeps, Ended) is Ended:
            raise Ended

    clock = SimpleNamespace(sleep=sleep, monotonic=lambda: at)
    with patch.object(pools, "time", clock), pytest.raises(Ended):
        pool._watch()


def test_a_ticket_and_a_worker_are_waited_for_as_long_as_is_said() -> None:
    pool, backend = pair()
    pool._watched = True  # by nobody else
    left, late = ask(pool, 0), ask(pool, 1)
    backend.next()
    (job,) = pool._running
    late.last_polled = end = job.began + pools.LONGEST + pools.PATIENCE
    left.last_polled = end - 2 * pools.TICKET_SECONDS
    look(pool, left.last_polled + pools.TICKET_SECONDS)
    assert not left.ended
    look(pool, left.last_polled + pools.TICKET_SECONDS + 0.1)
    assert left.failure == LEFT and not late.ended
    backend.next()
    (job,) = pool._running
    end = late.last_polled = job.began + pools.LONGEST + pools.PATIENCE
    look(pool, end)
    assert not late.ended
    look(pool, end + 0.1)
    assert late.failure == LATE


@pytest.mark.parametrize(("short", "is_kept"), [(0, True), (1, False)])
def test_a_result_is_kept_where_there_is_room(
    short: int, is_kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pools, "MAX_CACHED_BYTES", 10 + 2 * pools.STEP + 1000 - short)
    pool, backend = pair()
    one = ask(pool, 0)
    worker = backend.next()
    for message in (step(1), step(2), whole(b"0123456789"), None):
        worker.words.put(message)
    until(one, "ended")
    again = ask(pool, 0)
    assert (again.result, again.queue_position) == (b"0123456789" if is_kept else b"", 0)
    assert is_kept or backend.next().text == worker.text


def test_a_queue_that_is_full_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "WAITING", 1)
    pool, _ = pair()
    tickets = [ask(pool, seed) for seed in range(3)]
    assert [ticket.failure for ticket in tickets] == ["", "", pools.FULL_QUEUE_TEXT]


def test_many_steps_go_in_one_message() -> None:
    class Told(WorkerChannel):
        def __init__(self) -> None:
            super().__init__()
            self.messages: list[Message] = []

        def send(self, message: Message) -> None:
            self.messages.append(message)

    line = Told()
    for n in range(100):
        line.tell({"step": n})
    line.give(b"all")
    told = [each["step"] for message in line.messages for each in message.get("news", ())]
    assert told == [*range(100)] and len(line.messages) < 100
    assert line.messages[-1] == whole(b"all")
