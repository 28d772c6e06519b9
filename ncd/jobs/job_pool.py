"""The pool of workers with its queue, and turns that are shared out fairly.

Each visitor who waits has a :class:`Ticket`. A job runs as long as somebody waits for it. A job
whose worker is lost starts again once. Results are cached.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from threading import Condition, Thread
from typing import Any, NamedTuple, Protocol

from cachetools import LRUCache

from ncd.jobs.local_workers import LONGEST, Local, Message, job_request

# --- The interface of workers, which the pool starts and listens to


class Worker(Protocol):
    """A worker at one job."""

    def news(self) -> Iterator[Message]: ...
    def want(self) -> None: ...
    def end(self) -> None: ...


class Backend(Protocol):
    """A source of workers."""

    slots: int  # the most workers at once

    def prepare(self) -> None: ...
    def start(self, text: str) -> Worker: ...


# --- Turns at something that few can have at once, shared out fairly among visitors


class Turns:
    """A few turns at once; who had one longest ago, or has fewest now, is next.

    However many a visitor asks for, another one waits for no more than one of them to end.

    Args:
        count: How many there are at once.

    >>> turns = Turns(1)
    >>> with turns.take_turn("a", seconds=0) as first, turns.take_turn("b", seconds=0) as second:
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
    def take_turn(self, visitor: str, seconds: float) -> Iterator[bool]:
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
                came = self._news.wait_for(
                    lambda: self._free > 0 and self._next_waiter() is own, seconds
                )
            finally:
                self._waiting.remove(own)
            if came:
                self._free -= 1
                self._given += 1
                self._running.append(visitor)
                self._last[visitor] = self._given
            self._tidy()
            return came

    def _next_waiter(self) -> tuple[str, object]:
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


# --- The pool of workers with its queue; equal questions share one job

ADDRESS = "NCD_RAY"  # the environment variable with the address of a cluster
TICKET_SECONDS = 90.0  # seconds until a ticket expires; a hidden page renews its own each minute
WAITING = 200  # jobs in the queue
TRIES = 2  # starts of one job
MAX_CACHED_BYTES = 50_000_000  # bytes of cached results
STEP = 500  # approximate bytes of one report
PATIENCE = 60.0  # extra seconds for a late worker's last message
LEFT, STOPPED = "left", "stopped"  # reasons of a ticket without a result
QUIET = LEFT, STOPPED  # reasons that are no failure
LOST_WORKER_TEXT = f"its worker was lost {TRIES} times"
FULL_QUEUE_TEXT = "too many wait already; please try again later"
LATE = "it took too long"


@dataclass(eq=False)
class Job:
    """A question, the tickets that wait for its answer, and its progress."""

    key: str
    text: str
    heavy: bool  # needs much memory, so one such job runs at a time
    tickets: list[Ticket] = field(default_factory=list)
    reports: list[Message] = field(default_factory=list)
    tries: int = 0
    began: float = 0.0
    worker: Worker | None = None
    is_closed: bool = False


class CachedOutcome(NamedTuple):
    """The cached outcome of a finished job."""

    reports: list[Message]
    result: bytes


class Ticket:
    """A visitor's wait for a job; it expires if :meth:`poll` is not called for over a minute.

    ``reports`` are the steps so far, ``result`` and ``whole`` the outcome, ``failure`` the reason
    why there is none.
    """

    def __init__(self, pool: Pool, kind: str, given: Mapping[str, Any]) -> None:
        self._pool = pool
        self.reports: list[Message] = []
        self.result, self.whole, self.failure = b"", False, ""
        self.stopping, self.again = False, False
        self.last_polled = time.monotonic()
        self._marks: tuple[object, ...] = ()
        self._job = pool.join(self, job_request(kind, given), heavy=kind == "forward")

    @property
    def ended(self) -> bool:
        """Whether the job has ended, successfully or not."""
        return bool(self.result or self.failure)

    @property
    def queue_position(self) -> int:
        """The place in the queue, from 1; 0 once a worker has the job."""
        return 0 if self.ended else self._pool.place(self._job)

    def poll(self, wait: float = 0.0) -> bool:
        """Waits up to ``wait`` seconds; returns whether anything is new since the last look."""
        self.last_polled = time.monotonic()
        return self._pool.wait(self._has_news, wait)

    def _has_news(self) -> bool:
        marks = (len(self.reports), self.ended, self.again)
        new, self._marks = marks != self._marks, marks
        return new

    def stop(self) -> None:
        """Ends the job after its current step; the result so far is kept."""
        self._pool.stop(self, self._job)

    def leave(self) -> None:
        """Stops waiting."""
        self._pool.leave(self, self._job)

    def end(self, result: bytes = b"", whole: bool = False, failure: str = "") -> None:
        """Stores the outcome; called by the pool."""
        if not self.ended:
            self.reports = self.reports if whole else [*self.reports]
            self.result, self.whole, self.failure = result, whole, failure


class Pool:
    """Workers with a queue of jobs."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._news = Condition()  # guards all fields below
        self._queue: list[Job] = []
        self._running: list[Job] = []
        self._jobs: dict[str, Job] = {}
        self._kept: LRUCache[str, CachedOutcome] = LRUCache(MAX_CACHED_BYTES, getsizeof=_weight)
        self._watched = False

    def submit(self, kind: str, given: Mapping[str, Any]) -> Ticket:
        """Returns a ticket for a job of one of the workers' kinds; equal jobs share it."""
        return Ticket(self, kind, given)

    def join(self, ticket: Ticket, text: str, heavy: bool) -> Job:
        """Adds a ticket to the job of a question, or ends it at once; returns the job."""
        key = sha256(text.encode()).hexdigest()
        with self._news:
            job = self._jobs.get(key) or Job(key, text, heavy)
            if done := self._kept.get(key):
                ticket.reports = done.reports
                ticket.end(done.result, whole=True)
            elif key not in self._jobs and len(self._queue) >= WAITING:
                ticket.end(failure=FULL_QUEUE_TEXT)
            else:
                if key not in self._jobs:
                    self._jobs[key] = job
                    self._queue.append(job)
                ticket.reports = job.reports
                job.tickets.append(ticket)
                self._fill()
            return job

    def place(self, job: Job) -> int:
        """Returns the place of a job in the queue, or 0 if it is not there."""
        with self._news:
            return self._queue.index(job) + 1 if job in self._queue else 0

    def wait(self, new: Any, seconds: float) -> bool:
        """Waits until ``new()`` is true, up to ``seconds``; returns its value."""
        with self._news:
            return bool(self._news.wait_for(new, seconds))

    def stop(self, ticket: Ticket, job: Job) -> None:
        """Requests the result so far for a ticket."""
        with self._news:
            waits = job in self._queue
            ticket.stopping = not waits
            worker = job.worker
        if waits:
            self.leave(ticket, job, STOPPED)
        elif worker is not None:
            worker.want()

    def leave(self, ticket: Ticket, job: Job, why: str = LEFT) -> None:
        """Removes a ticket from a job; a job without tickets ends."""
        with self._news:
            ticket.end(failure=why)
            if ticket in job.tickets and not job.is_closed:
                job.tickets.remove(ticket)
            ended = self._close_job(job) if not job.tickets else None
            self._news.notify_all()
        if ended is not None:
            ended.end()

    # --- jobs and their workers; all that follows but _serve and _watch is within the lock -------

    def _close_job(self, job: Job) -> Worker | None:
        """Closes a job; returns its worker if that still has to be ended."""
        if job.is_closed:
            return None
        job.is_closed = True
        self._jobs.pop(job.key, None)
        if job in self._queue:
            self._queue.remove(job)
        return job.worker

    def _fill(self) -> None:
        """Starts queued jobs while there are free workers."""
        if not self._watched:
            self._watched = True
            Thread(target=self._watch, name="jobs", daemon=True).start()
        while len(self._running) < self.backend.slots:
            busy = any(job.heavy for job in self._running)
            job = next((job for job in self._queue if not (busy and job.heavy)), None)
            if job is None:
                return
            self._queue.remove(job)
            self._running.append(job)
            job.tries, job.began = job.tries + 1, time.monotonic()
            Thread(target=self._serve, args=(job,), name="job", daemon=True).start()

    def _serve(self, job: Job) -> None:
        """Follows one worker through a job."""
        try:
            worker = self.backend.start(job.text)
            with self._news:
                job.worker = worker
                stopping, over = any(ticket.stopping for ticket in job.tickets), job.is_closed
                self._fill()  # a cluster knows its slots only after the start
            if over:
                worker.end()
            elif stopping:
                worker.want()
            for message in worker.news():
                self._take(job, message)
        except Exception as error:  # is shown on the page, and the pool continues
            self._take(job, {"failure": f"{type(error).__name__}: {error}".partition("\n")[0]})
        with self._news:
            self._running.remove(job)
            job.worker = None
            if not job.is_closed:
                self._retry(job)
            self._fill()
            self._news.notify_all()

    def _take(self, job: Job, message: Message) -> None:
        with self._news:
            if job.is_closed:
                return
            job.reports.extend(message.get("news", ()))
            done = None
            if "failure" in message:
                self._end(job, failure=message["failure"])
            elif message.get("last"):
                self._end(job, message["result"], message["whole"])
            elif "result" in message:
                done = self._part(job, message["result"])
            self._news.notify_all()
        if done is not None:
            done.end()

    def _end(self, job: Job, result: bytes = b"", whole: bool = False, failure: str = "") -> None:
        """Gives the outcome of a job to all its tickets."""
        for ticket in job.tickets:
            ticket.end(result, whole, failure)
        self._close_job(job)
        kept = CachedOutcome(job.reports, result)
        if whole and _weight(kept) <= MAX_CACHED_BYTES:
            self._kept[job.key] = kept

    def _part(self, job: Job, result: bytes) -> Worker | None:
        """Gives the result so far to the tickets that asked; ends the job if no other waits."""
        for ticket in [ticket for ticket in job.tickets if ticket.stopping]:
            ticket.end(result)
            job.tickets.remove(ticket)
        return None if job.tickets else self._close_job(job)

    def _retry(self, job: Job) -> None:
        """Handles a lost worker: the job starts again, first in the queue, or fails."""
        if job.tries >= TRIES:
            self._end(job, failure=LOST_WORKER_TEXT)
            return
        job.reports = []
        for ticket in job.tickets:
            ticket.reports, ticket.again = job.reports, True
        self._queue.insert(0, job)

    def _watch(self) -> None:
        """Removes expired tickets, and ends workers that do not end by themselves."""
        while True:
            time.sleep(1.0)
            now = time.monotonic()
            with self._news:
                jobs = [*self._jobs.values()]
                gone = [
                    (t, job)
                    for job in jobs
                    for t in job.tickets
                    if now > t.last_polled + TICKET_SECONDS
                ]
                late = [job for job in self._running if now > job.began + LONGEST + PATIENCE]
            for ticket, job in gone:
                self.leave(ticket, job)
            for job in late:
                self._take(job, {"failure": LATE})
                if job.worker is not None:
                    job.worker.end()


def _weight(kept: CachedOutcome) -> int:
    """Returns the approximate number of bytes of a cached outcome."""
    return len(kept.result) + STEP * len(kept.reports) + 1000


@cache
def pool() -> Pool:
    """Returns the pool of this process, on Ray if ``NCD_RAY`` is set."""
    if address := os.environ.get(ADDRESS, ""):
        from ncd.jobs.ray_workers import Cluster

        return Pool(Cluster(address))
    return Pool(Local())
