"""Devices: what they are, what is left of them, and how their work is timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace

import pytest
import torch

import ncd
from ncd.errors import LimitError
from ncd.jobs import fork_server
from ncd.jobs.local_workers import Message, WorkerChannel, job_request
from ncd.jobs.pool_jobs import read
from ncd.run import device, guard, limits
from ncd.run.device import Timer, description, exact, free_bytes
from ncd.run.limits import check_free
from ncd.run.measurement import medians, op_seconds

GIGA = 10**9


class Event:
    """An event in the queue of a GPU, whose clock moves by a second with each op."""

    now = 0.0

    def __init__(self, enable_timing: bool = False) -> None:
        assert enable_timing

    def record(self, stream: object) -> None:
        assert stream == "the stream of cuda:1"
        self.at = Event.now

    def synchronize(self) -> None:
        """It has been passed already."""

    def elapsed_time(self, other: Event) -> float:
        return 1e3 * (other.at - self.at)  # milliseconds


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A GPU that has no numbers, and tells its own time, memory and name."""
    Event.now = 0.0
    monkeypatch.setattr(torch.cuda, "Event", Event)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda name: f"the stream of {name}")
    monkeypatch.setattr(torch.cuda, "synchronize", lambda name: None)
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda name: (3 * GIGA, 80 * GIGA))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda name: 2 * GIGA)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda name: GIGA)
    found = SimpleNamespace(name="NVIDIA H100 80GB HBM3", total_memory=85_000_000_000)
    monkeypatch.setattr(torch.cuda, "get_device_properties", lambda name: found)
    description.cache_clear()
    yield "cuda:1"
    description.cache_clear()


def pass_time(seconds: float) -> None:
    Event.now += seconds


# --- time -----------------------------------------------------------------------------------------


def test_a_gpu_is_timed_by_its_events(gpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(perf_counter=lambda: pytest.fail("a clock times the asking alone"))
    monkeypatch.setattr(device, "time", clock)
    timer = Timer(gpu)
    for seconds in (0.5, 2.0):
        timer.mark()
        pass_time(seconds)
    timer.mark()
    assert timer.laps() == [0.5, 2.0]
    times = medians({"a": lambda: pass_time(3.0)}, device=gpu, rounds=3, warm=1)
    assert times == {"a": 3.0}


def test_ops_on_a_gpu_are_timed_by_its_events(gpu: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of an op that is done several times, all times together."""
    term = ncd.Id("a:3") >> ncd.Elementwise("relu") >> ncd.Elementwise("tanh")
    module = ncd.compile(term)
    first, second = module.circuit.cells

    def execute(inputs: object, watch: Callable[..., object]) -> None:
        for cell, seconds in ((first, 2.0), (second, 5.0), (first, 1.0)):
            pass_time(seconds)
            watch(cell, (), ())

    monkeypatch.setattr(module, "execute", execute)
    taken, runs = op_seconds(module, (), device=gpu, rounds=4, budget=60.0)
    assert (taken, runs) == ({first.id: 3.0, second.id: 5.0}, 4)


def test_a_cpu_is_timed_by_a_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter([1.0, 4.0])
    monkeypatch.setattr(device, "time", SimpleNamespace(perf_counter=lambda: next(ticks)))
    timer = Timer("cpu")
    timer.mark()
    timer.mark()
    assert timer.laps() == [3.0]


class Kept(WorkerChannel):
    """A line that keeps its messages."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Message] = []

    def send(self, message: Message) -> None:
        self.messages.append(message)


def test_a_run_in_the_pool_is_not_timed_while_it_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The time of the ops alone; to look at an array takes a second here."""
    clock = iter(range(10**6))
    monkeypatch.setattr(device, "time", SimpleNamespace(perf_counter=lambda: float(next(clock))))
    line, entry = Kept(), ncd.catalogue["multi-head-attention"]
    given = {"name": entry.name, "knobs": {}, "seed": 0, "device": "cpu"}
    threads = torch.get_num_threads()
    fork_server.work(job_request("forward", given), line)
    torch.set_num_threads(threads)
    found = read(line.messages[-1]["result"])
    assert found.seconds == len(ncd.elaborate(entry.build()).cells)  # a tick for each op


# --- what it is -----------------------------------------------------------------------------------


def test_a_gpu_says_its_name_and_memory(gpu: str) -> None:
    assert description(gpu) == "NVIDIA H100 80GB HBM3, 85 GB"
    assert free_bytes(gpu) == 4 * GIGA  # with what torch keeps without using it


def test_a_cpu_says_its_cores_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    pages = {"SC_PAGE_SIZE": 4096, "SC_PHYS_PAGES": 2_000_000}
    monkeypatch.setattr(device.os, "sysconf", lambda name: pages[name])
    for cores, said in ((1, "1 core, 8 GB"), (16, "16 cores, 8 GB")):
        description.cache_clear()
        monkeypatch.setattr(device.os, "cpu_count", lambda n=cores: n)
        assert description("cpu") == said
    description.cache_clear()


def test_workers_and_commands_are_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the server is: no TF32, and sums in the same order each time."""
    flags = ("allow_tf32", "deterministic")
    before = [getattr(torch.backends.cudnn, flag) for flag in flags]
    monkeypatch.setattr(fork_server, "warm_up", lambda: None)
    from ncd.__main__ import main

    layer = ["layer-norm", "--json"]
    try:
        for begin in (
            exact,
            lambda: fork_server.make_ready("source"),
            lambda: main(["run", *layer]),
        ):
            torch.backends.cudnn.allow_tf32, torch.backends.cudnn.deterministic = True, False
            begin()
            assert [getattr(torch.backends.cudnn, flag) for flag in flags] == [False, True]
    finally:
        torch.backends.cudnn.allow_tf32, torch.backends.cudnn.deterministic = before


# --- what is left ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "where"), [("cpu", "the machine"), ("cuda", "cuda")])
def test_a_run_that_needs_more_than_is_left_is_refused(
    name: str, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "free_bytes", lambda device: 5_000)
    check_free(5_000, name)
    with pytest.raises(LimitError) as caught:
        check_free(5_001, name)
    assert str(caught.value) == (
        f"the run takes 5,001 bytes of memory, and {where} has 5,000 left. "
        "Try again later, or smaller sizes."
    )


def test_nothing_is_made_on_a_gpu_that_others_have_filled(monkeypatch: pytest.MonkeyPatch) -> None:
    term = ncd.catalogue["multi-head-attention"].build()
    need = guard.peak(ncd.elaborate(term), device="cuda")
    for module in (limits, guard):
        monkeypatch.setattr(module, "free_bytes", lambda device: need - 1)
    monkeypatch.setattr(device, "devices", lambda: ("cpu", "cuda"))
    with pytest.raises(LimitError) as caught:
        ncd.compile(term, device="cuda")
    assert str(caught.value) == (
        f"the run takes {need:,} bytes of memory, and cuda has {need - 1:,} left. "
        "Try again later, or smaller sizes."
    )
