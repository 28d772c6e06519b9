"""Workers as processes of this machine, forked from one helper that has torch already."""

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
WANT = b"w"  # what a worker is told: to give its result as far as it has come
SLOTS = "NCD_WORKERS"  # the environment's name for how many work at once


@dataclass
class Child:
    """One worker, at the other end of a socket."""

    line: socket.socket

    def news(self) -> Iterator[Message]:
        """What it tells, until it is gone."""
        with self.line, self.line.makefile("rb") as lines, suppress(OSError):
            while told := lines.readline():
                message = json.loads(told)
                if "result" in message:
                    size = message["result"]
                    message["result"] = lines.read(size)
                    if len(message["result"]) < size:
                        return
                yield message

    def want(self) -> None:
        """Asks for the result as far as it has come."""
        with suppress(OSError):  # it is gone: that is heard on the line
            self.line.sendall(WANT)

    def end(self) -> None:
        """Ends it at once."""
        with suppress(OSError):
            self.line.shutdown(socket.SHUT_RDWR)


class Helper:
    """The process of ``ncd.jobs.fork_server``, and the line to it."""

    def __init__(self) -> None:
        self.line, other = socket.socketpair()
        paths = (str(ROOT), os.environ.get("PYTHONPATH", ""))
        with other:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "ncd.jobs.fork_server"],
                stdin=other.fileno(),
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            )

    def __bool__(self) -> bool:
        return self.process.poll() is None


class Local:
    """A worker for each core of this machine, or as many as ``NCD_WORKERS`` says."""

    def __init__(self) -> None:
        self.slots = slots(os.cpu_count() or 1)
        self.helper: Helper | None = None
        self._lock = Lock()

    def prepare(self) -> None:
        """Begins the process that workers are forked from, which takes seconds to be ready."""
        with self._lock:
            self._ready()

    def start(self, text: str) -> Child:
        """A worker for a question."""
        own, other = socket.socketpair()
        with other, self._lock:
            socket.send_fds(self._ready().line, [b"."], [other.fileno()])
        own.sendall(text.encode() + b"\n")
        return Child(own)

    def _ready(self) -> Helper:
        if not self.helper:
            if self.helper is not None:
                self.helper.line.close()
            self.helper = Helper()
        return self.helper


def slots(every: int) -> int:
    """How many may work at once: ``NCD_WORKERS``, or as many as there are."""
    told = os.environ.get(SLOTS, "")
    return max(1, int(told)) if told.isdecimal() else max(1, every)
