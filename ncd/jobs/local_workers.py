"""Workers as processes of this machine, and the channel between a worker and the pool."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Lock
from time import monotonic
from typing import Any

# --- The channel between a worker and the pool, as the worker sees it

Message = Mapping[str, Any]
LONGEST = 300.0  # seconds of one job
OFTEN = 0.1  # seconds between two messages, as each wakes the waiting threads


def job_request(kind: str, given: Mapping[str, Any]) -> str:
    """Returns a question as text, equal for equal questions.

    >>> job_request("train", {"seed": 1, "name": "unet"})
    '{"given": {"name": "unet", "seed": 1}, "kind": "train"}'
    """
    return json.dumps({"kind": kind, "given": given}, sort_keys=True)


class WorkerChannel(ABC):
    """The reports of a worker about its job, and the requests it receives.

    A message has ``news`` (steps since the last message), or a ``result`` with the flags ``whole``
    and ``last``, or a ``failure``, which is the last message.
    """

    def __init__(self) -> None:
        self._begun = self._sent = monotonic()
        self._news: list[Message] = []
        self._wanted = Event()

    @abstractmethod
    def send(self, message: Message) -> None:
        """Sends a message to the pool."""

    @property
    def timed_out(self) -> bool:
        """Whether the job has taken too long."""
        return monotonic() - self._begun > LONGEST

    def want(self) -> None:
        """Requests the result so far."""
        self._wanted.set()

    def has_new_request(self) -> bool:
        """Returns whether the result was requested since the last call."""
        wanted = self._wanted.is_set()
        self._wanted.clear()
        return wanted

    def tell(self, step: Message) -> None:
        """Reports a step; steps in quick succession share a message."""
        self._news.append(step)
        if monotonic() - self._sent > OFTEN:
            self._flush()

    def give(self, result: bytes, *, whole: bool = True) -> None:
        """Gives the result; a whole result is the last message, and so is a late one."""
        self._flush()
        self.send({"result": result, "whole": whole, "last": whole or self.timed_out})

    def fail(self, why: str) -> None:
        """Reports why there is no result."""
        self._flush()
        self.send({"failure": why})

    def _flush(self) -> None:
        if self._news:
            self.send({"news": self._news})
        self._news, self._sent = [], monotonic()


# --- Workers as processes of this machine, forked from one process that has imported torch

ROOT = Path(__file__).parents[2]
RESULT_REQUEST = b"w"  # requests the result so far
PAGES = "pages"  # tells the process that workers are forked from that pages come first
SLOTS = "NCD_WORKERS"  # the environment variable with the number of workers
# Under a limit of memory, arrays that are let go must leave no gaps too small for the next one.
MALLOC_SETTINGS = {"MALLOC_MMAP_THRESHOLD_": "1000000"}  # glibc maps larger arrays one by one


@dataclass
class Child:
    """A worker at the other end of a socket."""

    line: socket.socket

    def news(self) -> Iterator[Message]:
        """Yields its messages until it is gone."""
        with self.line, self.line.makefile("rb") as lines, suppress(OSError):
            while line := lines.readline():
                message = json.loads(line)
                if "result" in message:
                    size = message["result"]
                    message["result"] = lines.read(size)
                    if len(message["result"]) < size:
                        return
                yield message

    def want(self) -> None:
        """Requests the result so far."""
        with suppress(OSError):  # it has ended, which news() reports
            self.line.sendall(RESULT_REQUEST)

    def end(self) -> None:
        """Kills it."""
        with suppress(OSError):
            self.line.shutdown(socket.SHUT_RDWR)


class Helper:
    """The process of ``ncd.jobs.fork_server``, and the connection to it.

    ``ready`` names what it makes ready before it is forked.
    """

    def __init__(self, ready: str) -> None:
        self.line, other = socket.socketpair()
        first = [PAGES] if "streamlit" in sys.modules else []  # a command waits for its own job
        paths = (str(ROOT), os.environ.get("PYTHONPATH", ""))
        with other:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "ncd.jobs.fork_server", ready, *first],
                stdin=other.fileno(),
                stdout=subprocess.DEVNULL,
                env={
                    **os.environ,
                    **(MALLOC_SETTINGS if ready == "source" else {}),
                    "PYTHONPATH": os.pathsep.join(filter(None, paths)),
                },
            )

    def __bool__(self) -> bool:
        return self.process.poll() is None


class Local:
    """Workers of this machine, one for each core or ``NCD_WORKERS``.

    ``ready`` is the kind of job that they are made ready for.
    """

    def __init__(self, ready: str = "train") -> None:
        self.ready = ready
        self.slots = slots(os.cpu_count() or 1)
        self.helper: Helper | None = None
        self._lock = Lock()

    def prepare(self) -> None:
        """Starts the process that workers are forked from; it needs seconds to be ready."""
        with self._lock:
            self._running_helper()

    def start(self, text: str) -> Child:
        """Starts a worker for a question."""
        own, other = socket.socketpair()
        with other, self._lock:
            socket.send_fds(self._running_helper().line, [b"."], [other.fileno()])
        own.sendall(text.encode() + b"\n")
        return Child(own)

    def _running_helper(self) -> Helper:
        if not self.helper:
            if self.helper is not None:
                self.helper.line.close()
            self.helper = Helper(self.ready)
        return self.helper


def slots(every: int) -> int:
    """Returns the number of concurrent workers: ``NCD_WORKERS``, or ``every``."""
    count = os.environ.get(SLOTS, "")
    return max(1, int(count)) if count.isdecimal() else max(1, every)
