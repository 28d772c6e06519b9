"""The interface of workers, which the pool starts and listens to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from ncd.jobs.worker_channel import Message


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
