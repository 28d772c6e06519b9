"""Runs: training in a process of its own, which holds no page and can be stopped at any step."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.context import ForkServerContext, ForkServerProcess
from multiprocessing.queues import Queue
from multiprocessing.synchronize import Event
from queue import Empty

import torch

from ncd.train.fit import Fit, Progress
from ncd.train.weights import written

PATIENCE = 5.0  # seconds for a run to end by itself
AFTER = 10  # how much a run gives way to those who look at pages; the nicest is 19

_News = Progress | bytes | str


@dataclass
class Run:
    """One visitor's training, begun when it is made.

    ``progress`` grows each time :meth:`look` is called; ``weights`` are there when it has ended,
    and ``failure`` says why it has not gone well.
    """

    name: str
    knobs: Mapping[str, int]
    seed: int = 0
    steps: int | None = None
    progress: list[Progress] = field(default_factory=list)
    weights: bytes = b""
    failure: str = ""

    def __post_init__(self) -> None:
        context = _context()
        self._news: Queue[_News] = context.Queue()
        self._stop: Event = context.Event()
        given = (self.name, dict(self.knobs), self.seed, self.steps, self._news, self._stop)
        self._process: ForkServerProcess = context.Process(target=_work, args=given, daemon=True)
        self._process.start()

    @property
    def over(self) -> bool:
        """Whether it has ended, well or not."""
        return bool(self.weights or self.failure)

    def look(self, wait: float = 0.0) -> bool:
        """Takes in what is new, after at most ``wait`` seconds; says whether there was any."""
        before = len(self.progress)
        while not self.over:
            try:
                news = self._news.get(timeout=wait) if wait else self._news.get_nowait()
            except Empty:
                if not self._process.is_alive() and self._news.empty():
                    self.failure = f"the run ended with code {self._process.exitcode}"
                break
            wait = 0.0
            self._take(news)
        return self.over or len(self.progress) > before

    def _take(self, news: _News) -> None:
        if isinstance(news, Progress):
            self.progress.append(news)
        elif isinstance(news, bytes):
            self.weights = news
        else:
            self.failure = news

    def stop(self) -> None:
        """Ends it after the step that it is at; what it has learned by then is kept."""
        self._stop.set()

    def leave(self) -> None:
        """Ends it at once, since nobody waits for it any more."""
        self._stop.set()
        if self._process.is_alive():
            self._process.terminate()
        self._process.join(PATIENCE)
        self.failure = self.failure or "left"


def _context() -> ForkServerContext:
    """Processes that begin with torch already there, and with nothing of any visitor."""
    context = get_context("forkserver")
    context.set_forkserver_preload(["ncd.train.runs"])
    return context


def _work(
    name: str,
    knobs: Mapping[str, int],
    seed: int,
    steps: int | None,
    news: Queue[_News],
    stop: Event,
) -> None:
    torch.set_num_threads(1)
    os.nice(AFTER)
    try:
        fit = Fit(name, knobs, seed, steps)
        for progress in fit:
            news.put(progress)
            if stop.is_set():
                break
        news.put(written(fit.module, {"system": name, "seed": str(seed)}))
    except Exception as error:  # told to the one who waits, in one line
        news.put(f"{type(error).__name__}: {error}".partition("\n")[0])
