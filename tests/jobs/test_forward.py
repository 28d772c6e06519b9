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


def test_what_the_machine_has_no_room_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forwards, "predicted_forward_peak", lambda term: 10**15)
    line = Told()
    given = {"name": "layer-norm", "knobs": {}, "seed": 0, "device": "cpu"}
    work(job_request("forward", given), line)
    failure = line.messages[-1]["failure"]
    assert failure.startswith("LimitError: the run takes 1,000,000,000,000,000 bytes of memory, ")
