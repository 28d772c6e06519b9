"""Workers as processes of this machine, forked from one process that has imported torch."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from ncd.jobs.worker_channel import Message

ROOT = Path(__file__).parents[2]
WANT = b"w"  # requests the result so far
SLOTS = "NCD_WORKERS"  # the environment variable with the number of workers
# Under a limit of memory, arrays that are let go must leave no gaps too small for the next one.
MAPPED = {"MALLOC_MMAP_THRESHOLD_": "1000000"}  # glibc maps larger arrays one by one


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
            self.line.sendall(WANT)

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
        paths = (str(ROOT), os.environ.get("PYTHONPATH", ""))
        with other:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "ncd.jobs.fork_server", ready],
                stdin=other.fileno(),
                stdout=subprocess.DEVNULL,
                env={
                    **os.environ,
                    **(MAPPED if ready == "source" else {}),
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
            self._ready()

    def start(self, text: str) -> Child:
        """Starts a worker for a question."""
        own, other = socket.socketpair()
        with other, self._lock:
            socket.send_fds(self._ready().line, [b"."], [other.fileno()])
        own.sendall(text.encode() + b"\n")
        return Child(own)

    def _ready(self) -> Helper:
        if not self.helper:
            if self.helper is not None:
                self.helper.line.close()
            self.helper = Helper(self.ready)
        return self.helper


def slots(every: int) -> int:
    """Returns the number of concurrent workers: ``NCD_WORKERS``, or ``every``."""
    count = os.environ.get(SLOTS, "")
    return max(1, int(count)) if count.isdecimal() else max(1, every)
