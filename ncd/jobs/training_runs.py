"""Runs: training as a job of the pool, which holds no page and can be stopped at any step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ncd.jobs.job_pool import Pool, Ticket, pool
from ncd.train import Progress


@dataclass
class Run:
    """One visitor's training, asked for when it is made.

    ``progress`` grows by itself; ``weights`` are there when it has ended, and ``failure`` says why
    it has not gone well. Who waits for it calls :meth:`look` once a minute at least, else it stops.
    ``loop`` is one of ``ncd.jobs.training_job.LOOPS``, and ``given`` what it takes beside the
    knobs. ``place`` is where it stands in the queue, 0 once it runs.

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
    pool: Pool = field(default_factory=pool, repr=False)
    ticket: Ticket = field(init=False, repr=False)

    def __post_init__(self) -> None:
        fields = ("name", "seed", "steps", "device", "loop")
        asked = {name: getattr(self, name) for name in fields}
        asked |= {"knobs": dict(self.knobs), "given": dict(self.given)}
        self.ticket = self.pool.ask("train", asked)
        self._progress: list[Progress] = []
        self._of = self.ticket.told

    @property
    def progress(self) -> list[Progress]:
        """Every step so far; it begins anew where a worker was lost."""
        told = self.ticket.told
        if told is not self._of:
            self._of, self._progress = told, []
        self._progress += [Progress(**each) for each in told[len(self._progress) :]]
        return self._progress

    @property
    def weights(self) -> bytes:
        """What was learned, once it has ended."""
        return self.ticket.result

    @property
    def failure(self) -> str:
        """Why nothing was learned."""
        return self.ticket.failure

    @property
    def over(self) -> bool:
        """Whether it has ended, well or not."""
        return self.ticket.over

    @property
    def place(self) -> int:
        """Its place in the queue, the first is 1; 0 once it runs."""
        return self.ticket.place

    @property
    def again(self) -> bool:
        """Whether it has begun once more, its worker having been lost."""
        return self.ticket.again

    def look(self, wait: float = 0.0) -> bool:
        """Whether there is anything new since the last look, after at most ``wait`` seconds."""
        return self.ticket.look(wait)

    def stop(self) -> None:
        """Ends it after the step that it is at; what it has learned by then is kept."""
        self.ticket.stop()

    def leave(self) -> None:
        """Ends it at once, since nobody waits for it any more."""
        self.ticket.leave()


def prepare() -> None:
    """Makes the pool ready, which takes seconds, before anything is asked of it."""
    pool().backend.prepare()
