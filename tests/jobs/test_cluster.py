"""The pool on Ray: the same numbers as without, to the bit, and a killed worker is a retry."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from ncd.jobs.job_pool import Pool
from ncd.jobs.local_workers import Local
from ncd.jobs.pool_jobs import ForwardResult, read
from ncd.jobs.ray_workers import Cluster
from ncd.jobs.training_runs import TrainingRun
from tests.browser.server import free_port
from tests.jobs.test_runs import LONG, NAME, SMALL, begun, ended, losses
from tests.support.polling import until

ray = pytest.importorskip("ray", reason="Ray is not installed: requirements-ray.txt")
pytestmark = pytest.mark.slow
WORKERS = 2
HEAD = (
    f"start --head --num-cpus={WORKERS} --node-ip-address=127.0.0.1 --include-dashboard=false "
    "--disable-usage-stats --object-store-memory=100000000"
)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A cluster of this machine alone, with two workers."""
    address, command = f"127.0.0.1:{free_port()}", Path(sys.executable).with_name("ray")
    asked = [str(command), *HEAD.split(), "--port", address.partition(":")[2], "--block"]
    head = subprocess.Popen(asked, stdout=subprocess.DEVNULL, start_new_session=True)
    try:
        yield address
    finally:
        ray.shutdown()
        os.killpg(head.pid, signal.SIGKILL)  # asked to end, it would take leave of itself for long
        head.wait(60)


@pytest.fixture(scope="module")
def cluster(address: str) -> Cluster:
    cluster = Cluster(address)

    def answers() -> bool:
        with suppress(ConnectionError, RuntimeError):
            cluster.give_back(cluster.take())
            return True
        return False

    until(answers, 120)
    return cluster


def test_the_same_results_as_without_to_the_bit(cluster: Cluster) -> None:
    pools = Pool(cluster), Pool(Local())
    runs = [
        [TrainingRun(NAME, SMALL, seed, steps=20, pool=pool) for seed in range(4)] for pool in pools
    ]
    for one, other in zip(*runs, strict=True):
        assert losses(ended(one).progress) == losses(ended(other).progress)
        assert one.weights == other.weights
    assert cluster.slots == WORKERS


def test_the_same_run_forward(cluster: Cluster) -> None:
    def ran(pool: Pool) -> ForwardResult:
        given = {"name": "layer-norm", "knobs": {}, "seed": 1, "device": "cpu"}
        ticket = pool.submit("forward", given)
        while not ticket.ended:
            ticket.poll(60)
        return read(ticket.result)

    assert ran(Pool(cluster)).arrays == ran(Pool(Local())).arrays


def test_a_worker_killed_in_the_middle_is_a_retry(cluster: Cluster) -> None:
    run = begun(TrainingRun(NAME, SMALL, steps=LONG, pool=Pool(cluster)))
    killed = run._job.worker
    assert killed is not None
    process = ray.get(killed.hand.process.remote())
    os.kill(process, signal.SIGKILL)
    while not run.again:
        assert run.poll(60)
    begun(run).stop()
    count = len(ended(run).progress)
    alone = ended(TrainingRun(NAME, SMALL, steps=count, pool=Pool(Local())))
    assert run.weights == alone.weights and losses(run.progress) == losses(alone.progress)


@pytest.mark.few(0)
def test_who_leaves_frees_the_worker(cluster: Cluster) -> None:
    pool = Pool(cluster)
    for run in [
        begun(TrainingRun(NAME, SMALL, seed, steps=LONG, pool=pool)) for seed in range(WORKERS)
    ]:
        run.leave()
    assert ended(TrainingRun(NAME, SMALL, steps=2, pool=pool)).weights


def test_where_no_cluster_is_the_page_is_told() -> None:
    address = f"127.0.0.1:{free_port()}"
    run = ended(TrainingRun(NAME, SMALL, steps=2, pool=Pool(Cluster(address))))
    assert run.failure == f"ConnectionError: no cluster of Ray answers at {address}"
