"""Training runs as jobs of the pool, which can be stopped at any step."""

from __future__ import annotations

from collections.abc import Mapping

from ncd.jobs import job_pool
from ncd.jobs.job_pool import Pool, Ticket
from ncd.jobs.local_workers import Message
from ncd.systems.training.training_loop import TrainingProgress


class TrainingRun(Ticket):
    """A visitor's training run, requested when it is created.

    :meth:`poll` must be called at least once a minute, else the run stops. ``loop`` is one of
    ``ncd.jobs.pool_jobs.LOOPS``, and ``given`` its arguments beside those of every loop.

    >>> run = TrainingRun("image-recogniser", {"x": 8, "n": 8}, steps=2)
    >>> while not run.ended:
    ...     news = run.poll(wait=60)
    >>> [now.step for now in run.progress], len(run.weights) > 1000, run.failure
    ([1, 2], True, '')
    """

    def __init__(
        self,
        name: str,
        knobs: Mapping[str, int],
        seed: int = 0,
        steps: int | None = None,
        device: str = "cpu",
        loop: str = "fit",
        given: Mapping[str, str] | None = None,
        pool: Pool | None = None,
    ) -> None:
        self.seed, self.steps, self.given = seed, steps, given or {}
        settings = {"knobs": dict(knobs), "seed": seed, "steps": steps, "device": device}
        asked = {"loop": loop, "name": name, **settings, **self.given}
        super().__init__(pool or job_pool.pool(), "train", asked)
        self._progress: list[TrainingProgress] = []
        self._of: list[Message] = self.reports

    @property
    def progress(self) -> list[TrainingProgress]:
        """Every step so far; it starts again if a worker was lost."""
        if self.reports is not self._of:
            self._of, self._progress = self.reports, []
        self._progress += [TrainingProgress(**each) for each in self.reports[len(self._progress) :]]
        return self._progress

    @property
    def weights(self) -> bytes:
        """The trained weights, once it has ended."""
        return self.result


def prepare() -> None:
    """Starts the pool's first process, which takes seconds, before anything is requested."""
    job_pool.pool().backend.prepare()
