"""The pool: what was asked waits in a queue for a worker, and the same question is one job.

Who asks has a :class:`Ticket`. A job goes on as long as somebody waits for it; one whose worker is
lost begins again, once. What has come out is kept for who asks the same.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from hashlib import sha256
from threading import Condition, Thread
from typing import Any, NamedTuple, Protocol

from cachetools import LRUCache

from ncd.jobs.local_workers import Local
from ncd.jobs.worker_channel import LONGEST, Message, asked

ADDRESS = "NCD_RAY"  # the environment's name for the address of a cluster
GONE = 90.0  # seconds without a sign of who waits: a hidden page gives one a minute
WAITING = 200  # jobs in the queue
TRIES = 2  # workers for one job
KEPT = 50_000_000  # bytes of results
STEP = 500  # bytes of what is told of a step, about
PATIENCE = 60.0  # seconds that a worker may be late with its last word
LEFT, STOPPED = "left", "stopped"  # why a ticket has nothing
QUIET = LEFT, STOPPED  # where nothing failed
LOST = f"its worker was lost {TRIES} times"
FULL = "too many wait already; please try again later"
LATE = "it took too long"


class Worker(Protocol):
    """One worker at one job."""

    def news(self) -> Iterator[Message]: ...
    def want(self) -> None: ...
    def end(self) -> None: ...


class Backend(Protocol):
    """Where workers come from."""

    slots: int  # how many there may be at once

    def prepare(self) -> None: ...
    def start(self, text: str) -> Worker: ...


@dataclass(eq=False)
class Job:
    """A question, who waits for the answer, and how far it is."""

    key: str
    text: str
    heavy: bool  # it may fill the memory, so there is one such at a time
    tickets: list[Ticket] = field(default_factory=list)
    told: list[Message] = field(default_factory=list)
    tries: int = 0
    began: float = 0.0
    worker: Worker | None = None
    over: bool = False


class Kept(NamedTuple):
    """What came of a job that went to its end."""

    told: list[Message]
    result: bytes


class Ticket:
    """One who waits for a job; who calls :meth:`look` less than once a minute waits no more.

    ``told`` are the steps so far, ``result`` and ``whole`` what came of them, ``failure`` why
    nothing did.
    """

    def __init__(self, pool: Pool, job: Job) -> None:
        self._pool, self._job = pool, job
        self.told = job.told
        self.result, self.whole, self.failure = b"", False, ""
        self.stopping, self.again = False, False
        self.seen = time.monotonic()
        self._marks: tuple[object, ...] = ()

    @property
    def over(self) -> bool:
        """Whether it has ended, well or not."""
        return bool(self.result or self.failure)

    @property
    def place(self) -> int:
        """Its place in the queue, the first is 1; 0 once a worker has it."""
        return 0 if self.over else self._pool.place(self._job)

    def look(self, wait: float = 0.0) -> bool:
        """Whether there is anything new since the last look, after at most ``wait`` seconds."""
        self.seen = time.monotonic()
        return self._pool.wait(self._new, wait)

    def _new(self) -> bool:
        marks = (len(self.told), self.over, self.again)
        new, self._marks = marks != self._marks, marks
        return new

    def stop(self) -> None:
        """Ends it after the step that it is at; what has come of it by then is the result."""
        self._pool.stop(self, self._job)

    def leave(self) -> None:
        """Waits no more."""
        self._pool.leave(self, self._job)

    def end(self, result: bytes = b"", whole: bool = False, failure: str = "") -> None:
        """Takes what came of it; for the pool."""
        if not self.over:
            self.told = self.told if whole else [*self.told]
            self.result, self.whole, self.failure = result, whole, failure


class Pool:
    """Workers, and a queue of jobs before them."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._news = Condition()  # of all that follows
        self._queue: list[Job] = []
        self._running: list[Job] = []
        self._jobs: dict[str, Job] = {}
        self._kept: LRUCache[str, Kept] = LRUCache(KEPT, getsizeof=_weight)
        self._watched = False

    def ask(self, kind: str, given: Mapping[str, Any]) -> Ticket:
        """A ticket for a job of ``ncd.jobs.worker.KINDS``: a new one, or what is the same."""
        text = asked(kind, given)
        key = sha256(text.encode()).hexdigest()
        with self._news:
            job = self._jobs.get(key) or Job(key, text, heavy=kind == "forward")
            if done := self._kept.get(key):
                job.told, job.over = done.told, True
                ticket = Ticket(self, job)
                ticket.end(done.result, whole=True)
                return ticket
            ticket = Ticket(self, job)
            if key not in self._jobs and len(self._queue) >= WAITING:
                job.over = True
                ticket.end(failure=FULL)
                return ticket
            job.tickets.append(ticket)
            if key not in self._jobs:
                self._jobs[key] = job
                self._queue.append(job)
            self._fill()
            return ticket

    def place(self, job: Job) -> int:
        """The place of a job in the queue, 0 if it is not there."""
        with self._news:
            return self._queue.index(job) + 1 if job in self._queue else 0

    def wait(self, new: Any, seconds: float) -> bool:
        """Waits until ``new()``, at most so long; whether it is."""
        with self._news:
            return bool(self._news.wait_for(new, seconds))

    def stop(self, ticket: Ticket, job: Job) -> None:
        """A ticket's wish for what there is by now."""
        with self._news:
            waits = job in self._queue
            ticket.stopping = not waits
            worker = job.worker
        if waits:
            self.leave(ticket, job, STOPPED)
        elif worker is not None:
            worker.want()

    def leave(self, ticket: Ticket, job: Job, why: str = LEFT) -> None:
        """Takes a ticket off a job; a job that nobody waits for ends."""
        with self._news:
            ticket.end(failure=why)
            if ticket in job.tickets and not job.over:
                job.tickets.remove(ticket)
            ended = self._close(job) if not job.tickets else None
            self._news.notify_all()
        if ended is not None:
            ended.end()

    # --- jobs and their workers; all that follows but _serve and _watch is within the lock -------

    def _close(self, job: Job) -> Worker | None:
        """A job is over; gives its worker, to be ended where it has not ended by itself."""
        if job.over:
            return None
        job.over = True
        self._jobs.pop(job.key, None)
        if job in self._queue:
            self._queue.remove(job)
        return job.worker

    def _fill(self) -> None:
        """Begins as many jobs as there are workers for."""
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
        """A worker's whole life at a job."""
        try:
            worker = self.backend.start(job.text)
            with self._news:
                job.worker = worker
                stopping, over = any(ticket.stopping for ticket in job.tickets), job.over
                self._fill()  # only now it may be known how many there can be
            if over:
                worker.end()
            elif stopping:
                worker.want()
            for message in worker.news():
                self._take(job, message)
        except Exception as error:  # whatever it is, a page says so, and the pool goes on
            self._take(job, {"failure": f"{type(error).__name__}: {error}".partition("\n")[0]})
        with self._news:
            self._running.remove(job)
            job.worker = None
            if not job.over:
                self._again(job)
            self._fill()
            self._news.notify_all()

    def _take(self, job: Job, message: Message) -> None:
        with self._news:
            if job.over:
                return
            job.told.extend(message.get("news", ()))
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
        """The last word of a job, to all who wait."""
        for ticket in job.tickets:
            ticket.end(result, whole, failure)
        self._close(job)
        kept = Kept(job.told, result)
        if whole and _weight(kept) <= KEPT:
            self._kept[job.key] = kept

    def _part(self, job: Job, result: bytes) -> Worker | None:
        """What has come so far, to those who wanted it; with nobody else there the job is over."""
        for ticket in [ticket for ticket in job.tickets if ticket.stopping]:
            ticket.end(result)
            job.tickets.remove(ticket)
        return None if job.tickets else self._close(job)

    def _again(self, job: Job) -> None:
        """The worker of a job is lost: it begins anew, before all others, or fails."""
        if job.tries >= TRIES:
            self._end(job, failure=LOST)
            return
        job.told = []
        for ticket in job.tickets:
            ticket.told, ticket.again = job.told, True
        self._queue.insert(0, job)

    def _watch(self) -> None:
        """Takes those off who show no sign any more, and ends what does not end by itself."""
        while True:
            time.sleep(1.0)
            now = time.monotonic()
            with self._news:
                jobs = [*self._jobs.values()]
                gone = [(t, job) for job in jobs for t in job.tickets if now > t.seen + GONE]
                late = [job for job in self._running if now > job.began + LONGEST + PATIENCE]
            for ticket, job in gone:
                self.leave(ticket, job)
            for job in late:
                self._take(job, {"failure": LATE})
                if job.worker is not None:
                    job.worker.end()


def _weight(kept: Kept) -> int:
    """About how many bytes are held."""
    return len(kept.result) + STEP * len(kept.told) + 1000


@cache
def pool() -> Pool:
    """The pool of this process, on Ray where ``NCD_RAY`` says so."""
    address = os.environ.get(ADDRESS, "")
    if not address:
        return Pool(Local())
    from ncd.jobs.ray_workers import Cluster

    return Pool(Cluster(address))
