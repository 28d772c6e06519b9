"""Many visitors on one device: their runs at once, in the app's threads and in its workers."""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch import Tensor

import ncd
from ncd.jobs.job_pool import Pool
from ncd.jobs.local_workers import Local
from ncd.jobs.pool_jobs import read
from ncd.run import torch_pool
from ncd.run.guard import peak
from ncd.systems.catalogue import CATALOGUE
from tools.bench.measurements import Line
from tools.gpu.agreement import CLOSE, Setting, apart
from tools.gpu.findings import Finding

PAGES = ("multi-head-attention", "encoder-block", "lenet", "gpt-2", "lstm")
PATIENCE = 60.0  # seconds for a job


@dataclass(frozen=True)
class Visit:
    """A visitor's run: a system and a seed of their own."""

    name: str
    seed: int

    @property
    def term(self) -> ncd.Term:
        return CATALOGUE[self.name].build()

    def run(self, device: str) -> dict[str, Tensor]:
        """Returns every array of the run, as a page shows them."""
        module = ncd.compile(self.term, self.seed, device)
        with torch.no_grad():
            found = ncd.trace(module, *ncd.example_inputs(self.term, self.seed, device))
            return {id: value.cpu() for id, value in found.values.items()}  # without their history


def visitors(setting: Setting) -> Iterator[Finding]:
    """Measures fifty visitors' runs at once beside the same runs one after the other."""
    device, count = setting.device, setting.pick(50, 4)
    visits = [Visit(PAGES[i % len(PAGES)], i) for i in range(count)]
    begun, before = time.perf_counter(), _allocated(device)
    alone = [torch_pool.submit(lambda v=v: v.run(device)).result() for v in visits]
    one_by_one = time.perf_counter() - begun
    _reset(device)
    taken: list[float] = []

    def visit(own: Visit) -> dict[str, Tensor]:
        start = time.perf_counter()
        found = torch_pool.submit(lambda: own.run(device)).result()
        taken.append(time.perf_counter() - start)
        return found

    begun = time.perf_counter()
    with ThreadPoolExecutor(count) as browsers:
        together = list(browsers.map(visit, visits))
    seconds = time.perf_counter() - begun
    what = f"{count} visitors at once"
    against = f"one by one {1e3 * one_by_one:.1f} ms"
    yield Finding(Line(what, seconds, against, seconds / one_by_one))
    yield Finding(Line(f"{what}: the median visitor's wait", statistics.median(taken)))
    yield Finding(Line(f"{what}: the longest wait", max(taken)))
    other = sum(not _same(a, b) for a, b in zip(together, alone, strict=True))
    fault = f"{other} runs give other numbers than alone" if other else ""
    yield Finding(Line(f"{what}: runs with other numbers", other, unit="runs"), fault)
    if device.startswith("cuda"):
        yield from _memory(what, visits, before, device)
    yield _job(setting)


def _same(one: dict[str, Tensor], two: dict[str, Tensor]) -> bool:
    return all(apart(x, two[id]) == 0 for id, x in one.items())


def _memory(what: str, visits: list[Visit], before: int, device: str) -> Iterator[Finding]:
    """Compares the most that all took, and what stays, with what the guard allows them."""
    most = torch.cuda.max_memory_allocated(device)
    allowed = sum(peak(ncd.elaborate(v.term), watched=True, device=device) for v in visits)
    fault = "" if most <= allowed else "more than the guard allows them"
    line = Line(f"{what}: held", most, f"stated {allowed:,}", most / allowed, "bytes")
    yield Finding(line, fault)
    gc.collect()
    torch.cuda.synchronize(device)
    left = _allocated(device)
    torch._C._cuda_clearCublasWorkspaces()
    after = _allocated(device) - before
    beside = f"with workspaces {left - before:,}"
    fault = f"{after:,} bytes stay" if after > 0 else ""
    more = {"tensors": _alive()}
    yield Finding(Line(f"{what}: left afterwards", after, beside, unit="bytes"), fault, more)


def _alive() -> list[str]:
    """Returns the tensors on a GPU that Python still holds."""
    found = [x for x in gc.get_objects() if type(x) in (Tensor, torch.nn.Parameter) and x.is_cuda]
    return [f"{tuple(x.shape)} {x.dtype}" for x in found]


def _job(setting: Setting) -> Finding:
    """Runs a system in a worker of the pool, a process that was forked."""
    name, pool = "multi-head-attention", Pool(Local())
    knobs = {"y": 256, "x": 256}
    given = {"name": name, "knobs": knobs, "seed": 0, "device": setting.device}
    ticket, late = pool.submit("forward", given), time.monotonic() + PATIENCE
    while not ticket.ended and time.monotonic() < late:
        ticket.poll(1.0)
    what = f"{name} in a worker of the pool"
    if not ticket.result:
        return Finding(Line(what, 0), ticket.failure or f"nothing after {PATIENCE:g} s")
    found = read(ticket.result)
    own = Visit(name, 0)
    term = CATALOGUE[own.name].build(**knobs)
    values = ncd.trace(ncd.compile(term), *ncd.example_inputs(term)).values
    off = max(
        abs(array.mean - values[id].detach().mean().item()) for id, array in found.arrays.items()
    )
    fault = "" if off < CLOSE else "its arrays have other means than on the CPU"
    return Finding(Line(what, found.seconds, f"means off by {off:.1e}"), fault)


def _allocated(device: str) -> int:
    return torch.cuda.memory_allocated(device) if device.startswith("cuda") else 0


def _reset(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
        torch.cuda.reset_peak_memory_stats(device)
