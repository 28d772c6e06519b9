"""The channel between a worker and the pool, as the worker sees it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from threading import Event
from time import monotonic
from typing import Any

Message = Mapping[str, Any]
LONGEST = 300.0  # seconds of one job
OFTEN = 0.1  # seconds between two messages, as each wakes the waiting threads


def question(kind: str, given: Mapping[str, Any]) -> str:
    """Returns a question as text, equal for equal questions.

    >>> question("train", {"seed": 1, "name": "unet"})
    '{"given": {"name": "unet", "seed": 1}, "kind": "train"}'
    """
    return json.dumps({"kind": kind, "given": given}, sort_keys=True)


class Line(ABC):
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
    def late(self) -> bool:
        """Whether the job has taken too long."""
        return monotonic() - self._begun > LONGEST

    def want(self) -> None:
        """Requests the result so far."""
        self._wanted.set()

    def wanted(self) -> bool:
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
        self.send({"result": result, "whole": whole, "last": whole or self.late})

    def fail(self, why: str) -> None:
        """Reports why there is no result."""
        self._flush()
        self.send({"failure": why})

    def _flush(self) -> None:
        if self._news:
            self.send({"news": self._news})
        self._news, self._sent = [], monotonic()
