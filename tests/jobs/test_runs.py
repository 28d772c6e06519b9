"""Training in the pool: as alone, stopped, left, lost, and inside of a page."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator

import pytest
import torch
from streamlit.testing.v1 import AppTest

from ncd.jobs.job_pool import LOST_WORKER_TEXT, QUIET, Pool, Ticket
from ncd.jobs.local_workers import Local
from ncd.jobs.training_runs import TrainingRun
from ncd.systems.training.trained_weights import read_weights
from ncd.systems.training.training_loop import TaskTraining, TrainingProgress
from tests.support.polling import until

NAME, SMALL = "image-recogniser", {"x": 8, "n": 32}
LONG = 100_000  # steps: more than any test waits for


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def backend() -> Local:
    return Local()


@pytest.fixture
def pool(backend: Local) -> Pool:
    """A pool of its own, which has kept nothing."""
    return Pool(backend)


def ended(run: TrainingRun | Ticket, seconds: float = 300) -> TrainingRun | Ticket:
    """Waits for the end of a job, and asks for it meanwhile as a page does."""

    def over() -> bool:
        run.poll(0.5)
        return run.ended

    until(over, seconds)
    return run


def begun(run: TrainingRun) -> TrainingRun:
    while not run.progress:
        assert not run.ended, run.failure
        run.poll(0.5)
    return run


def processes(backend: Local) -> set[str]:
    """The processes of all workers that are alive: not those whose end is not yet noticed."""
    assert backend.helper
    asked = ["ps", "-o", "pid=,stat=", "--ppid", str(backend.helper.process.pid)]
    told = subprocess.run(asked, capture_output=True).stdout.decode().splitlines()
    return {number for number, state in map(str.split, told) if not state.startswith("Z")}


def left(backend: Local, count: int) -> set[str]:
    """The processes of the workers, once there are this many: one may take its time to end."""
    until(lambda: len(processes(backend)) == count)
    return processes(backend)


def lose(backend: Local, run: TrainingRun) -> None:
    """Kills the one worker there is, in the middle."""
    begun(run)
    (worker,) = left(backend, 1)
    os.kill(int(worker), signal.SIGKILL)


def losses(progress: list[TrainingProgress]) -> list[float]:
    return [now.loss for now in progress]


def test_runs_in_a_queue_have_the_numbers_of_each_alone(pool: Pool) -> None:
    runs = [TrainingRun(NAME, SMALL, seed, steps=20, pool=pool) for seed in range(4)]
    for seed, run in enumerate(runs):
        fit = TaskTraining(NAME, SMALL, seed, steps=20)
        assert losses(ended(run).progress) == [now.loss for now in fit]
        read_weights(twin := TaskTraining(NAME, SMALL, seed=9).module, run.weights)
        for mine, its in zip(twin.parameters(), fit.module.parameters(), strict=True):
            assert torch.equal(mine, its)


def test_of_twenty_in_the_queue_each_ends_or_is_cancelled(pool: Pool) -> None:
    runs = [TrainingRun(NAME, SMALL, seed, steps=5, pool=pool) for seed in range(20)]
    assert [run.queue_position for run in runs[-3:]] == [
        max(0, n - pool.backend.slots) for n in (18, 19, 20)
    ]
    for run in runs[3::4]:
        run.stop()
    for run in runs[4::4]:
        run.leave()
    for run in runs:
        while not run.ended:
            for each in runs:  # all of them wait
                each.poll(0.05)
    for seed, run in enumerate(runs):
        assert run.ended and bool(run.weights) == (run.failure not in QUIET)
        if run.weights:
            alone = [now.loss for now in TaskTraining(NAME, SMALL, seed, steps=5)]
            assert losses(run.progress) == alone
    assert sum(bool(run.weights) for run in runs) >= 10


def test_a_run_that_is_stopped_keeps_what_it_has_learned(pool: Pool) -> None:
    run = begun(TrainingRun(NAME, SMALL, steps=LONG, pool=pool))
    run.stop()
    last = ended(run).progress[-1]
    assert last.step == len(run.progress) < LONG and last.score is not None and not run.failure
    alone = [*TaskTraining(NAME, SMALL, steps=last.step)]
    assert losses(run.progress) == [now.loss for now in alone]
    read_weights(TaskTraining(NAME, SMALL, seed=5).module, run.weights)


def test_a_run_whose_visitor_leaves_ends_at_once(pool: Pool, backend: Local) -> None:
    run = begun(TrainingRun(NAME, SMALL, steps=LONG, pool=pool))
    left(backend, 1)
    run.leave()
    assert run.ended
    left(backend, 0)


def test_a_worker_killed_in_the_middle_is_a_retry(pool: Pool, backend: Local) -> None:
    run = TrainingRun(NAME, SMALL, steps=2000, pool=pool)
    lose(backend, run)
    while not run.again:
        assert run.poll(60)
    run.stop()
    count = len(ended(run).progress)
    assert run.weights and not run.failure
    assert losses(run.progress) == [now.loss for now in TaskTraining(NAME, SMALL, steps=count)]


def test_killed_twice_it_says_so_and_the_next_goes_well(pool: Pool, backend: Local) -> None:
    run = TrainingRun(NAME, SMALL, steps=LONG, pool=pool)
    lose(backend, run)
    while not run.again:
        assert run.poll(60)
    lose(backend, run)
    assert ended(run).failure == LOST_WORKER_TEXT
    assert backend.helper
    backend.helper.process.kill()
    backend.helper.process.wait()
    assert ended(TrainingRun(NAME, SMALL, steps=2, pool=pool)).weights


def test_a_run_works_inside_a_page() -> None:
    """The page's file is ``__main__`` there, and must not be run anew elsewhere."""

    def script() -> None:
        import streamlit as st

        from ncd.jobs.training_runs import TrainingRun as Run

        run = Run("image-recogniser", {"x": 8, "n": 8}, steps=3)
        while not run.ended:
            run.poll(60)
        st.text(f"{[now.step for now in run.progress]}{run.failure}")

    app = AppTest.from_function(script, default_timeout=120).run()
    assert not app.exception and app.text[0].value == "[1, 2, 3]"


def test_a_run_that_fails_says_why(pool: Pool) -> None:
    run = ended(TrainingRun(NAME, {**SMALL, "k": 3}, pool=pool))
    assert run.failure == "SizeError: k is 3, but there are ten digits. Try k = 10."
