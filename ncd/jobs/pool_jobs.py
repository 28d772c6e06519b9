"""The jobs that run a large system forward and that train, under the pool's limits.

It needs less memory than a page's run, which also goes backward and keeps every array.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from time import perf_counter
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from ncd.circuit.circuit import Cell, Circuit
from ncd.circuit.costs import cost_of
from ncd.circuit.elaborate import elaborate
from ncd.errors import LimitError
from ncd.jobs.local_workers import WorkerChannel
from ncd.language.axes import Array
from ncd.language.terms import Term
from ncd.run.device import Timer
from ncd.run.device import device as find_device
from ncd.run.guard import STEPS
from ncd.run.limits import Limits, check_free, number
from ncd.run.module import CircuitModule
from ncd.run.run_memory import predicted_forward_peak
from ncd.run.seeding import example_inputs
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.training.module_or_functional import TwoWayTraining
from ncd.systems.training.plane_training import PlaneTraining
from ncd.systems.training.trained_weights import write_weights
from ncd.systems.training.training_loop import TaskTraining, TrainingLoop
from ncd.write.term_json import from_json

# --- The limits of a job that runs a system forward, which are above those of a page

BYTES, FLOPS = "NCD_POOL_BYTES", "NCD_POOL_FLOPS"
MEMORY_FACTOR = 4  # by default a job may take so much more memory than a page,
LONGER = 10  # and so many more operations


def limits() -> Limits:
    """Returns the limits of the pool: ``NCD_POOL_BYTES`` and ``NCD_POOL_FLOPS``.

    Raises LimitError if one is not a number.
    """
    own = Limits.from_environment()
    return Limits(number(BYTES, MEMORY_FACTOR * own.bytes), number(FLOPS, LONGER * own.flops))


def fits(term: Term) -> bool:
    """Returns whether the pool accepts a forward run of this term."""
    circuit, most = elaborate(term), limits()
    if cost_of(circuit).flops > most.flops or sum(cell.run_count for cell in circuit.cells) > STEPS:
        return False
    try:
        return predicted_forward_peak(term) <= most.bytes
    except (RuntimeError, TypeError, OverflowError):  # more elements than torch can count
        return False


# --- The job that trains, reports :class:`ncd.train.Progress`, and returns weights

LOOPS: Mapping[str, type[TrainingLoop]] = {
    "fit": TaskTraining,
    "plane": PlaneTraining,
    "way": TwoWayTraining,
}


def train(line: WorkerChannel, loop: str, **asked: Any) -> None:
    """Trains; on request, or after too long, it scores the weights and returns them.

    Scoring draws no random numbers, so it does not change the weights that follow.
    """
    fit = LOOPS[loop](**asked)
    for progress in fit:
        late = line.timed_out
        asked_for = line.has_new_request() or late
        if asked_for and progress.score is None:
            progress = replace(progress, score=fit.score())
        line.tell(asdict(progress))
        whole = progress.step == progress.steps
        if asked_for or whole:
            note = {"system": fit.name, "seed": str(fit.seed), "steps": str(progress.step)}
            line.give(write_weights(fit.module, note), whole=whole)
        if late:
            return


# --- The job that runs a large system forward once, freeing each array after looking at it

MAX_SIDE = 64  # cells along each side of a picture
MAX_ARRAYS = 100  # arrays that are summarised, besides the outputs
CHUNK = 1 << 22  # elements processed at once


Cells = tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class ArraySummary:
    """The summary of an array: statistics of its finite numbers, and its pooled first map.

    ``cells`` are the rows of the map; None has no finite number. ``block`` is the number of values
    per cell, down and across.
    """

    mean: float
    deviation: float
    smallest: float
    largest: float
    cells: Cells
    block: tuple[int, int]
    shape: tuple[int, int]


@dataclass(frozen=True)
class ForwardResult:
    """A finished run: its seconds, the bytes it held, and its arrays by id."""

    seconds: float
    bytes: int
    arrays: Mapping[str, ArraySummary]


def forward(
    line: WorkerChannel, name: str, knobs: Mapping[str, int], seed: int, device: str, term: str = ""
) -> None:
    """Runs a system on inputs from the seed, and gives a :class:`ForwardResult`.

    It is the system of the catalogue that is named, or ``term``, a visitor's own as JSON.

    Raises LimitError if the machine has less free memory than the run needs.
    """
    system = from_json(term) if term else _catalogue_term(name, knobs)
    circuit, held = elaborate(system), predicted_forward_peak(system)
    check_free(held, device)
    inputs = example_inputs(system, seed, device, limits())
    module = CircuitModule(circuit, seed).to(find_device(device))
    arrays: dict[str, ArraySummary] = {}
    chosen, steps = summarised_ids(circuit), sum(cell.run_count for cell in circuit.cells)
    step, begun, timer = 0, perf_counter(), Timer(device)

    def watch(cell: Cell, given: tuple[Tensor, ...], made: tuple[Tensor, ...]) -> None:
        nonlocal step
        if line.timed_out:
            raise LimitError("the run takes too long", cure="smaller sizes")
        timer.mark()
        for value, tensor in zip(cell.outputs, made, strict=True):
            if value.id in chosen:
                arrays[value.id] = summary(value.array, tensor)
        timer.mark()
        step += 1
        line.tell({"step": step, "steps": steps, "seconds": perf_counter() - begun})

    with torch.no_grad():
        arrays |= {v.id: summary(v.array, x) for v, x in zip(circuit.inputs, inputs, strict=True)}
        begun = perf_counter()
        timer.mark()
        module.execute(inputs, watch=watch)
    seconds = sum(timer.laps()[::2])  # those of the ops, without looking at their results
    line.give(json.dumps(asdict(ForwardResult(seconds, held, arrays))).encode())


def _catalogue_term(name: str, knobs: Mapping[str, int]) -> Term:
    entry = CATALOGUE[name]
    return entry.build(**entry.settings(knobs))


def read(result: bytes) -> ForwardResult:
    """Parses the result of :func:`forward`."""
    found: dict[str, Any] = json.loads(result)
    arrays = {id: _read(each) for id, each in found.pop("arrays").items()}
    return ForwardResult(**found, arrays=arrays)


def _read(each: dict[str, Any]) -> ArraySummary:
    (high, wide), (rows, columns) = each.pop("block"), each.pop("shape")
    return ArraySummary(**each, block=(high, wide), shape=(rows, columns))


def summarised_ids(circuit: Circuit) -> frozenset[str]:
    """Returns the ids of the arrays that are summarised: those outside scans, up to a limit."""
    inside = {id for scan in circuit.scans for body in scan.bodies for id in body.values}
    every = [value.id for cell in circuit.cells for value in cell.outputs]
    kept = [id for id in every if id not in inside][:MAX_ARRAYS]
    return frozenset((*kept, *(value.id for value in circuit.outputs)))


# --- one array -----------------------------------------------------------------------------------


def summary(array: Array, tensor: Tensor) -> ArraySummary:
    """Returns the summary of an array, without copying it whole.

    >>> from ncd import Id
    >>> numbers = torch.tensor([[1.0, 3.0], [-torch.inf, 2.0]])
    >>> found = summary(Id("y:2 x:2").dom[0], numbers)
    >>> found.mean, found.smallest, found.largest, found.cells
    (2.0, 1.0, 3.0, ((1.0, 3.0), (None, 2.0)))
    """
    count, total, squares = 0, 0.0, 0.0
    low, high = float("inf"), float("-inf")
    for part in parts(tensor):
        known = part.isfinite()
        numbers = (part if known.all() else part[known]).float()
        if n := len(numbers):
            variance, mean = map(float, torch.var_mean(numbers, correction=0))
            least, most = map(float, numbers.aminmax())
            count, total = count + n, total + n * mean
            squares += n * (variance + mean * mean)
            low, high = min(low, least), max(high, most)
    mean = total / max(1, count)
    spread = max(0.0, squares / max(1, count) - mean * mean) ** 0.5
    ends = (low, high) if count else (0.0, 0.0)
    grid = first_map(array, tensor)
    return ArraySummary(mean, spread, *ends, *pool_map(grid), (grid.shape[0], grid.shape[1]))


def parts(tensor: Tensor) -> Iterator[Tensor]:
    """Yields the numbers of a tensor in rows of bounded size, each possibly a copy."""
    if tensor.numel() <= CHUNK:
        yield tensor.reshape(-1)
    elif (each := tensor.numel() // len(tensor)) > CHUNK:
        for row in tensor:
            yield from parts(row)
    else:
        for rows in tensor.split(CHUNK // each):
            yield rows.reshape(-1)


def map_dimensions(array: Array) -> tuple[int, int]:
    """Returns the two dimensions of an array's map: a spatial axis, else its first two."""
    at = 0
    for axis in array:
        if axis.spatial and len(axis.shape) == 2:
            return at, at + 1
        at += len(axis.shape)
    return 0, 1


def first_map(array: Array, tensor: Tensor) -> Tensor:
    """Returns the first map of an array, at index 0 of all other dimensions."""
    for dim in reversed(range(tensor.ndim)):
        if dim not in map_dimensions(array):
            tensor = tensor.select(dim, 0)
    return tensor.reshape(-1, tensor.shape[-1] if tensor.ndim else 1)


def pool_map(grid: Tensor) -> tuple[Cells, tuple[int, int]]:
    """Returns the means of blocks of a map, and the size of a block."""
    high, wide = (-(-size // MAX_SIDE) for size in grid.shape)
    rows = max(1, CHUNK // max(1, grid.shape[1] * high)) * high
    cells: list[tuple[float | None, ...]] = []
    for part in grid.split(rows):
        known = part.isfinite()
        numbers = torch.where(known, part, 0).float()[None]
        shares = F.avg_pool2d(known.float()[None], (high, wide), ceil_mode=True)
        means = F.avg_pool2d(numbers, (high, wide), ceil_mode=True) / shares
        cells += [tuple(map(_rounded_number, row)) for row in means[0].cpu().tolist()]
    return tuple(cells), (high, wide)


def _rounded_number(x: float) -> float | None:
    return float(f"{x:.4g}") if x == x else None
