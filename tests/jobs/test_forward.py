"""A run forward in the pool: the numbers of the page's own run, of every system."""

from __future__ import annotations

import pytest
import torch

import ncd
from ncd.jobs import pool_jobs as forwards
from ncd.jobs.fork_server import work
from ncd.jobs.local_workers import Message, WorkerChannel, job_request
from ncd.jobs.pool_jobs import ForwardResult, first_map, fits, read
from ncd.run.guard import peak
from ncd.run.run_memory import predicted_forward_peak
from ncd.systems.catalogue_entry import Entry

ENTRIES = list(ncd.catalogue.values())


class Told(WorkerChannel):
    """A line that keeps its messages."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[Message] = []

    def send(self, message: Message) -> None:
        self.messages.append(message)


def ran(entry: Entry, **knobs: int) -> ForwardResult:
    line, before = Told(), torch.get_num_threads()
    given = {"name": entry.name, "knobs": knobs, "seed": 3, "device": "cpu"}
    work(job_request("forward", given), line)
    torch.set_num_threads(before)
    assert "result" in line.messages[-1], line.messages[-1]
    return read(line.messages[-1]["result"])


@pytest.mark.few(15)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_every_system_has_the_numbers_of_its_trace(entry: Entry) -> None:
    term = entry.build()
    circuit = ncd.elaborate(term)
    values = ncd.trace(ncd.compile(term, 3), *ncd.example_inputs(term, 3)).values
    found = ran(entry)
    assert {value.id for value in circuit.outputs} <= found.arrays.keys()
    for id, seen in found.arrays.items():
        array, tensor = circuit.values[id].array, values[id].detach()
        numbers = tensor.float()[tensor.isfinite()].double()
        ends = (seen.smallest, seen.largest)
        if len(numbers):
            assert ends == (float(numbers.min()), float(numbers.max()))
            spread = float(numbers.std(correction=0))
            assert seen.mean == pytest.approx(float(numbers.mean()), rel=1e-4, abs=1e-5)
            assert seen.deviation == pytest.approx(spread, rel=1e-3, abs=1e-5)
        grid = first_map(array, tensor)
        assert seen.shape == tuple(grid.shape) and len(seen.cells) <= forwards.MAX_SIDE
        corner = grid[: seen.block[0], : seen.block[1]].float()
        if corner.isfinite().all():
            assert seen.cells[0][0] == pytest.approx(float(corner.mean()), rel=1e-3, abs=1e-5)


@pytest.mark.few(12)
@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
def test_it_takes_less_memory_than_a_page_s_run(entry: Entry) -> None:
    term = entry.build()
    assert 0 < predicted_forward_peak(term) <= peak(ncd.elaborate(term), watched=True)


def test_the_pool_s_limits_are_told_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    term = ncd.catalogue["multi-head-attention"].build(y=8192, x=8192)
    assert fits(term)  # 2.2 GB
    monkeypatch.setenv("NCD_POOL_BYTES", "1e9")
    assert not fits(term)
    monkeypatch.setenv("NCD_POOL_BYTES", "9e9")
    assert fits(term)
    monkeypatch.setenv("NCD_POOL_FLOPS", "1e9")
    assert not fits(term)


def test_numbers_are_looked_at_in_parts_whatever_the_shape(monkeypatch: pytest.MonkeyPatch) -> None:
    array = ncd.Id("a:3 b:50 c:70").dom[0]
    tensor = torch.randn(70, 3, 50, generator=torch.Generator().manual_seed(0)).permute(1, 2, 0)
    whole = forwards.summary(array, tensor)
    monkeypatch.setattr(forwards, "CHUNK", 64)
    parts = forwards.summary(array, tensor)
    assert sum(len(part) for part in forwards.parts(tensor)) == tensor.numel()
    assert parts.cells == whole.cells and parts.largest == whole.largest
    assert parts.deviation == pytest.approx(whole.deviation)


INF = float("inf")


@pytest.mark.parametrize(
    ("text", "numbers", "mean", "spread", "ends", "cells"),
    [
        ("()", 5.0, 5, 0, (5, 5), ((5.0,),)),
        ("x:1", [-5.0], -5, 0, (-5, -5), ((-5.0,),)),
        ("x:2", [1.0, 3.0], 2, 1, (1, 3), ((1.0, 3.0),)),
        ("x:2", [INF, -INF], 0, 0, (0, 0), ((None, None),)),  # nothing is known of them
        ("b:2 x:2x1", [[[1.0], [2.0]], [[7.0], [8.0]]], 4.5, 3.0414, (1, 8), ((1.0,), (2.0,))),
    ],
)
def test_a_few_numbers_have_their_own_statistics(
    text: str,
    numbers: object,
    mean: float,
    spread: float,
    ends: tuple[float, float],
    cells: tuple[tuple[float | None, ...], ...],
) -> None:
    found = forwards.summary(ncd.Array.parse(text), torch.tensor(numbers))
    assert (found.mean, found.smallest, found.largest) == (mean, *ends)
    assert found.deviation == pytest.approx(spread, rel=1e-4)
    assert (found.cells, found.block) == (cells, (1, 1))


@pytest.mark.parametrize("chunk", [1, forwards.CHUNK])
def test_a_large_map_is_of_means_of_blocks_and_what_is_masked_does_not_count(
    chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forwards, "CHUNK", chunk)
    rows = forwards.MAX_SIDE + 1
    grid = torch.arange(2.0 * rows).reshape(rows, 2)
    grid[1, 0] = -INF
    cells, block = forwards.pool_map(grid)
    assert (block, len(cells)) == ((2, 1), forwards.MAX_SIDE // 2 + 1)
    assert (cells[0], cells[1], cells[-1]) == ((0.0, 2.0), (5.0, 6.0), (128.0, 129.0))


def test_a_job_may_take_four_times_the_memory_of_a_page_and_ten_times_the_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("NCD_MAX_BYTES", "1000")
    monkeypatch.setenv("NCD_MAX_FLOPS", "500")
    assert (forwards.limits().bytes, forwards.limits().flops) == (4000, 5000)


def test_what_the_machine_has_no_room_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwards, "predicted_forward_peak", lambda term: 10**15)
    line = Told()
    given = {"name": "layer-norm", "knobs": {}, "seed": 0, "device": "cpu"}
    work(job_request("forward", given), line)
    failure = line.messages[-1]["failure"]
    assert failure.startswith("LimitError: the run takes 1,000,000,000,000,000 bytes of memory, ")
