"""Training runs as jobs of the pool, which can be stopped at any step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ncd.jobs.job_pool import Pool, Ticket, pool
from ncd.train import Progress


@dataclass
class Run:
    """A visitor's training run, requested when it is created.

    :meth:`look` must be called at least once a minute, else the run stops. ``loop`` is one of
    ``ncd.jobs.training_job.LOOPS``, and ``given`` its arguments beside the knobs.

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
        """Every step so far; it starts again if a worker was lost."""
        told = self.ticket.told
        if told is not self._of:
            self._of, self._progress = told, []
        self._progress += [Progress(**each) for each in told[len(self._progress) :]]
        return self._progress

    @property
    def weights(self) -> bytes:
        """The trained weights, once it has ended."""
        return self.ticket.result

    @property
    def failure(self) -> str:
        """The reason why there are no weights; empty if there are."""
        return self.ticket.failure

    @property
    def over(self) -> bool:
        """Whether it has ended, successfully or not."""
        return self.ticket.over

    @property
    def place(self) -> int:
        """Its place in the queue, from 1; 0 once it runs."""
        return self.ticket.place

    @property
    def again(self) -> bool:
        """Whether it has started again after its worker was lost."""
        return self.ticket.again

    def look(self, wait: float = 0.0) -> bool:
        """Waits up to ``wait`` seconds; returns whether anything is new since the last look."""
        return self.ticket.look(wait)

    def stop(self) -> None:
        """Ends it after its current step; what it has learned is kept."""
        self.ticket.stop()

    def leave(self) -> None:
        """Ends it at once, as nobody waits for it."""
        self.ticket.leave()


def prepare() -> None:
    """Starts the pool's first process, which takes seconds, before anything is requested."""
    pool().backend.prepare()
