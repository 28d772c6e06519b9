"""Time and memory of a run, measured."""

from __future__ import annotations

import statistics
import time
import weakref
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ncd.cost import cost
from ncd.run.device import synchronise
from ncd.run.module import CircuitModule, compile, trace
from ncd.run.seed import example_inputs
from ncd.terms import Term

Call = Callable[[], object]


def medians(
    calls: Mapping[str, Call], *, device: str = "cpu", rounds: int = 30, warm: int = 3
) -> dict[str, float]:
    """Seconds that each call takes: the median of some rounds, in each of which all take a turn.

    >>> sorted(medians({"a": lambda: 1, "b": lambda: 2}, rounds=3))
    ['a', 'b']
    """
    for call in [call for call in calls.values() for _ in range(warm)]:
        call()
    taken: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            synchronise(device)
            start = time.perf_counter()
            call()
            synchronise(device)
            taken[name].append(time.perf_counter() - start)
    return {name: statistics.median(times) for name, times in taken.items()}


# --- memory --------------------------------------------------------------------------------------


class Storages(TorchDispatchMode):
    """Counts the bytes of every storage that torch makes, from its making to its freeing.

    Scratch memory inside a kernel is not seen.

    >>> with Storages() as counted:
    ...     _ = torch.ones(250) + 1
    >>> counted.peak
    2000
    """

    def __init__(self, known: Iterable[Tensor] = ()) -> None:
        super().__init__()
        self.now = self.peak = 0
        self.alive: dict[int, weakref.ref[Any]] = {}
        for tensor in known:
            self._add(tensor)

    def _add(self, tensor: Tensor) -> None:
        if tensor.is_meta:  # a shape without numbers
            return
        storage = tensor.untyped_storage()
        key, size = storage.data_ptr(), storage.nbytes()
        if not size or key in self.alive:
            return

        def freed(_: object) -> None:
            self.alive.pop(key, None)
            self.now -= size

        self.alive[key] = weakref.ref(storage, freed)
        self.now += size
        self.peak = max(self.peak, self.now)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        for tensor in tree_leaves(made):
            if isinstance(tensor, Tensor):
                self._add(tensor)
        return made


@dataclass(frozen=True)
class Peak:
    """The most bytes held at once: in the forward pass, and with the backward pass after it."""

    forward: int
    backward: int
    how: str


def measured_peak(module: CircuitModule, inputs: tuple[Tensor, ...]) -> Peak:
    """Runs forward and backward, and watches the memory; weights and inputs count as well."""
    if next(iter(inputs)).is_cuda:
        return _cuda_peak(module, inputs)
    with Storages([*module.parameters(), *inputs]) as counted:
        total = summed(module(*inputs))
        forward = counted.peak
        total.backward()
    module.zero_grad()
    return Peak(forward, counted.peak, "every storage that torch made, on the cpu")


def _cuda_peak(module: CircuitModule, inputs: tuple[Tensor, ...]) -> Peak:
    torch.cuda.reset_peak_memory_stats()
    total = summed(module(*inputs))
    forward = torch.cuda.max_memory_allocated()
    total.backward()
    module.zero_grad()
    return Peak(forward, torch.cuda.max_memory_allocated(), "torch.cuda.max_memory_allocated")


def summed(outputs: Tensor | tuple[Tensor, ...]) -> Tensor:
    """One number that every output reaches, to go backward from."""
    tensors = outputs if isinstance(outputs, tuple) else (outputs,)
    return torch.stack([x.square().mean() for x in tensors]).sum()


def one_run(term: Term, seed: int, device: str) -> dict[str, Any]:
    """A run forward and backward: what came out, whether all is finite, time and memory."""
    module = compile(term, seed=seed, device=device)
    inputs = tuple(x.requires_grad_() for x in example_inputs(term, seed, device))
    peak = measured_peak(module, inputs)
    outputs = trace(module, *inputs).outputs
    grads = torch.autograd.grad(summed(outputs), [*inputs, *module.parameters()])
    shown = [
        {
            "array": str(array),
            "shape": array.shape,
            "mean": x.mean().item(),
            "std": x.std(unbiased=False).item(),
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
        "finite": all(bool(x.isfinite().all()) for x in (*outputs, *grads)),
        "seconds": medians(calls, device=device),
        "bytes": {"stated": cost(term).peak, **vars(peak)},
    }


def forward_call(module: nn.Module, inputs: tuple[Tensor, ...]) -> Call:
    """What to time for a forward pass."""
    return lambda: module(*inputs)


def backward_call(module: nn.Module, inputs: tuple[Tensor, ...]) -> Call:
    """What to time for a forward and a backward pass, to every input and every weight."""
    wanted = [*inputs, *module.parameters()]
    return lambda: torch.autograd.grad(summed(module(*inputs)), wanted)
