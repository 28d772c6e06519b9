"""Runs: training in a process of its own, which holds no page and can be stopped at any step."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Condition, Lock, Thread
from typing import BinaryIO

from ncd.train.fit import Progress

ROOT = Path(__file__).parents[2]
STOP, HERE = b"s", b"."  # what a run is told: to stop, and that somebody waits for it


@dataclass
class Run:
    """One visitor's training, begun when it is made.

    ``progress`` grows by itself; ``weights`` are there when it has ended, and ``failure`` says why
    it has not gone well. Who waits for it calls :meth:`look` once a minute at least, else it stops.
    ``loop`` is one of ``ncd.train.helper.LOOPS``, and ``given`` what it takes beside the knobs.

    >>> run = Run("image-recogniser", {"x": 8, "n": 8}, steps=2)
    >>> while not run.over:
    ...     news = run.look(wait=60)
    >>> [now.step for now in run.progress], len(run.weights) > 1000, run.failure
    ([1, 2], True, '')
    """

    name: str
    knobs: Mapping[str, int]
    seed: int = 0
    steps: int | None = None
    device: str = "cpu"
    loop: str = "fit"
    given: Mapping[str, str] = field(default_factory=dict)
    progress: list[Progress] = field(default_factory=list)
    weights: bytes = b""
    failure: str = ""

    def __post_init__(self) -> None:
        self._news, self._seen, self._told = Condition(), 0, 0
        self._line, other = socket.socketpair()
        with other:
            _hand_over(other)
        fields = ("name", "seed", "steps", "device", "loop")
        asked = {name: getattr(self, name) for name in fields}
        asked |= {"knobs": dict(self.knobs), "given": dict(self.given)}
        self._tell(json.dumps(asked).encode() + b"\n")
        Thread(target=self._listen, daemon=True).start()

    @property
    def over(self) -> bool:
        """Whether it has ended, well or not."""
        return bool(self.weights or self.failure)

    def look(self, wait: float = 0.0) -> bool:
        """Whether there is anything new since the last look, after at most ``wait`` seconds."""
        self._tell(HERE)
        with self._news:
            self._news.wait_for(lambda: self._told > self._seen, wait)
            new = self._told > self._seen
            self._seen = self._told
        return new

    def stop(self) -> None:
        """Ends it after the step that it is at; what it has learned by then is kept."""
        self._tell(STOP)

    def leave(self) -> None:
        """Ends it at once, since nobody waits for it any more."""
        if not self.over:
            self.failure = "left"
        with suppress(OSError):  # it has ended by itself
            self._line.shutdown(socket.SHUT_RDWR)

    def _tell(self, word: bytes) -> None:
        with suppress(OSError):  # it has ended, or its helper has: that is heard on the line
            self._line.sendall(word)

    def _listen(self) -> None:
        with self._line, self._line.makefile("rb") as news:
            with suppress(OSError):
                while line := news.readline():
                    self._take(json.loads(line), news)
            if not self.over:
                self._take({"failure": "the run ended before its time"}, news)

    def _take(self, message: dict[str, object], news: BinaryIO) -> None:
        match message:
            case {"weights": int(count)}:
                weights = news.read(count)
                self.weights = weights if len(weights) == count else b""
            case {"failure": failure}:
                self.failure = self.failure or str(failure)
            case _:
                self.progress.append(Progress(**message))  # type: ignore[arg-type]
        with self._news:
            self._told += 1
            self._news.notify_all()


# --- the helper ----------------------------------------------------------------------------------


class _Helper:
    """The process of ``ncd.train.helper``, and the line to it."""

    def __init__(self) -> None:
        self.line, other = socket.socketpair()
        paths = (str(ROOT), os.environ.get("PYTHONPATH", ""))
        with other:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "ncd.train.helper"],
                stdin=other.fileno(),
                stdout=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))},
            )

    def __bool__(self) -> bool:
        return self.process.poll() is None


_LOCK = Lock()
_helpers: list[_Helper] = []  # one, once it is asked for


def prepare() -> None:
    """Begins the process that runs are forked from, which takes seconds to be ready."""
    with _LOCK:
        _ready()


def _ready() -> _Helper:
    if not (_helpers and _helpers[0]):
        for old in _helpers:
            old.line.close()
        _helpers[:] = [_Helper()]
    return _helpers[0]


def _hand_over(line: socket.socket) -> None:
    with _LOCK:
        socket.send_fds(_ready().line, [b"."], [line.fileno()])
