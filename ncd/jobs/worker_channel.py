"""The line between a worker and who waits for it, as the worker has it."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from threading import Event
from time import monotonic
from typing import Any

Message = Mapping[str, Any]
LONGEST = 300.0  # seconds of one job
OFTEN = 0.1  # seconds between two messages, each of which wakes up who waits


def asked(kind: str, given: Mapping[str, Any]) -> str:
    """A question as text, the same for the same question.

    >>> asked("train", {"seed": 1, "name": "unet"}) == asked("train", {"name": "unet", "seed": 1})
    True
    """
    return json.dumps({"kind": kind, "given": given}, sort_keys=True)


class Line(ABC):
    """What a worker tells of its job, and what it is asked meanwhile.

    A message has ``news``, the steps since the last one; or a ``result``, which is ``whole`` or as
    far as it has come, and is the ``last`` message or not; or the ``failure``, which is the last.
    """

    def __init__(self) -> None:
        self._begun = self._sent = monotonic()
        self._news: list[Message] = []
        self._wanted = Event()

    @abstractmethod
    def send(self, message: Message) -> None:
        """Takes a message to who waits."""

    @property
    def late(self) -> bool:
        """Whether the job has taken too long."""
        return monotonic() - self._begun > LONGEST

    def want(self) -> None:
        """Asks for the result as far as it has come."""
        self._wanted.set()

    def wanted(self) -> bool:
        """Whether the result was asked for, since this was last looked at."""
        wanted = self._wanted.is_set()
        self._wanted.clear()
        return wanted

    def tell(self, step: Message) -> None:
        """Tells of a step; many that come soon after each other go in one message."""
        self._news.append(step)
        if monotonic() - self._sent > OFTEN:
            self._flush()

    def give(self, result: bytes, *, whole: bool = True) -> None:
        """Gives the result: the whole one is the last that is told, and so is one that is late."""
        self._flush()
        self.send({"result": result, "whole": whole, "last": whole or self.late})

    def fail(self, why: str) -> None:
        """Tells why there is no result."""
        self._flush()
        self.send({"failure": why})

    def _flush(self) -> None:
        if self._news:
            self.send({"news": self._news})
        self._news, self._sent = [], monotonic()
