"""Measures time and memory of a run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ncd.circuit.circuit import Cell
from ncd.circuit.elaborate import elaborate
from ncd.language.terms import Term
from ncd.run.device import Timer, synchronise
from ncd.run.guard import compile, peak
from ncd.run.module import CircuitModule, trace
from ncd.run.run_memory import measured_peak, scalar_of_outputs
from ncd.run.seeding import example_inputs

Call = Callable[[], object]
FEWEST = 3  # rounds, however long they take


def _repeat(turn: Call, rounds: int, budget: float) -> int:
    """Makes the calls in turn until enough rounds or time have passed; returns the rounds."""
    start, done = time.perf_counter(), 0
    while done < rounds and (done < FEWEST or time.perf_counter() - start < budget):
        turn()
        done += 1
    return done


def medians(
    calls: Mapping[str, Call],
    *,
    device: str | torch.device = "cpu",
    rounds: int = 30,
    warm: int = 3,
    budget: float = float("inf"),
    before: Call = lambda: None,
) -> dict[str, float]:
    """Returns the median seconds of each call over rounds in which every call takes a turn.

    The order changes from round to round, as a call is slower after one that fills the processor's
    caches. After ``budget`` seconds no further round begins, but there are at least three.
    ``before`` runs before each call, untimed.

    >>> sorted(medians({"a": lambda: 1, "b": lambda: 2}, rounds=3))
    ['a', 'b']
    """
    for call in [call for call in calls.values() for _ in range(warm)]:
        before()
        call()
    taken: dict[str, list[float]] = {name: [] for name in calls}
    every, mixed = [*calls.items()], torch.Generator().manual_seed(0)

    def turn() -> None:
        for n in torch.randperm(len(every), generator=mixed).tolist():
            name, call = every[n]
            before()
            synchronise(device)
            timer = Timer(device)
            timer.mark()
            call()
            timer.mark()
            taken[name] += timer.laps()

    _repeat(turn, rounds, budget)
    return {name: statistics.median(times) for name, times in taken.items()}


def op_seconds(
    module: CircuitModule,
    inputs: tuple[Tensor, ...],
    *,
    device: str | torch.device = "cpu",
    rounds: int = 15,
    budget: float = 0.15,
) -> tuple[dict[str, float], int]:
    """Returns the median seconds of each op, by cell id, and the number of rounds.

    Ops inside a scan count all positions together.
    """
    taken: dict[str, list[float]] = {cell.id: [] for cell in module.circuit.cells}

    def turn() -> None:
        done: list[str] = []

        def watch(cell: Cell, given: object, made: object) -> None:
            timer.mark()
            done.append(cell.id)

        for times in taken.values():
            times.append(0.0)
        synchronise(device)
        timer = Timer(device)
        timer.mark()
        module.execute(inputs, watch=watch)
        for id, seconds in zip(done, timer.laps(), strict=True):
            taken[id][-1] += seconds

    with torch.no_grad():
        turn()
        done = _repeat(turn, rounds, budget)
    return {id: statistics.median(times[1:]) for id, times in taken.items()}, done


def one_run(term: Term, seed: int, device: str) -> dict[str, Any]:
    """Runs forward and backward; returns outputs, whether all is finite, times and memory."""
    module = compile(term, seed=seed, device=device)
    inputs = _leaves(example_inputs(term, seed, device))
    measured = measured_peak(module, inputs)
    outputs = trace(module, *inputs).outputs
    wanted, total = wanted_by(module, inputs), scalar_of_outputs(outputs)
    grads = torch.autograd.grad(total, wanted, allow_unused=True) if total.requires_grad else ()
    shown = [
        {
            "array": str(array),
            "shape": array.shape,
            "mean": x.double().mean().item(),
            "std": x.double().std(unbiased=False).item(),
        }
        for array, x in zip(term.cod, outputs, strict=True)
    ]
    calls = {
        "forward": forward_call(module, inputs),
        "forward and backward": backward_call(module, inputs),
    }
    return {
        "seed": seed,
        "device": device,
        "outputs": shown,
        "finite": all(bool(x.isfinite().all()) for x in (*outputs, *grads) if x is not None),
        "seconds": medians(calls, device=device),
        "bytes": {"stated": peak(elaborate(term), device=device), **vars(measured)},
    }


def _leaves(inputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    return tuple(x.requires_grad_() if x.is_floating_point() else x for x in inputs)


def wanted_by(module: nn.Module, inputs: tuple[Tensor, ...]) -> list[Tensor]:
    """Returns the tensors that get gradients: every real input and every weight."""
    return [x for x in (*inputs, *module.parameters()) if x.requires_grad]


def forward_call(module: nn.Module, inputs: tuple[Tensor, ...]) -> Call:
    """Returns a forward pass as a call to time."""
    return lambda: module(*inputs)


def backward_call(module: nn.Module, inputs: tuple[Tensor, ...]) -> Call:
    """Returns a forward and a backward pass, to all real inputs and weights, as a call to time."""
    wanted = wanted_by(module, inputs)

    def call() -> object:
        total = scalar_of_outputs(module(*inputs))
        if not total.requires_grad:
            return total
        return torch.autograd.grad(total, wanted, allow_unused=True)

    return call
