"""The memory of a run: measured while it runs, or stated without running it."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch._prims_common import suggest_memory_format
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.formats import Formats
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array
from ncd.run.execution.module import CircuitModule
from ncd.run.limits import gpu_scratch
from ncd.run.limits.kernel_scratch import arithmetic, scratch

MOST = 5_000  # ops at their sizes that torch remembers, at 2 kB each
NUMBER = 8  # bytes of a number that an op saves for its backward pass
PLAIN = (
    torch.ops.aten.native_batch_norm.default,
    torch.ops.aten.native_batch_norm_backward.default,
    torch.ops.aten.native_layer_norm.default,
    torch.ops.aten.native_layer_norm_backward.default,
)


class Storages(TorchDispatchMode):
    """Counts the bytes of every storage that torch makes, from its making to its freeing.

    What a CPU kernel takes for itself while it runs is added by :func:`scratch`; with ``gpu`` it is
    what a GPU's kernels and its allocator take.

    >>> with Storages() as counted:
    ...     _ = torch.ones(250) + 1
    >>> counted.peak  # the two tensors, and what the number 1 may take
    2072
    """

    def __init__(self, known: Iterable[Tensor] = (), gpu: bool = False) -> None:
        super().__init__()
        self.gpu = gpu
        self.now = self.saved = self.peak = 0
        self.alive: dict[int, weakref.ref[Any]] = {}
        for tensor in known:
            self._add(tensor)

    def _add(self, tensor: Tensor) -> None:
        if tensor.is_meta:  # a shape without numbers
            return
        storage = tensor.untyped_storage()
        key, size = storage._cdata, storage.nbytes()
        if not size or key in self.alive:
            return
        if self.gpu:
            size = gpu_scratch.held(size)

        def freed(_: object) -> None:
            self.alive.pop(key, None)
            self.now -= size

        self.alive[key] = weakref.ref(storage, freed)
        self.now += size
        self.peak = max(self.peak, self.now)

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = _as_it_lies(func, args, func(*args, **(kwargs or {})))
        for tensor in tree_leaves(made):
            if isinstance(tensor, Tensor):
                self._add(tensor)
        self._beside(func, args, made)
        return made

    def _beside(self, func: Any, args: Any, made: Any) -> None:
        """Counts memory that a kernel allocated itself, and a number that it may have saved."""
        self.saved += NUMBER * arithmetic(func)
        if self.gpu:
            self.saved += gpu_scratch.kept(func, args)
        own = gpu_scratch.scratch if self.gpu else scratch
        self.peak = max(self.peak, self.now + self.saved + own(func, args, made))


def _as_it_lies(func: Any, args: Any, made: Any) -> Any:
    """Returns an op's output in the memory layout that the real kernel gives it.

    A norm of a permuted tensor returns one in plain order; the fake kernel keeps the permutation,
    so that copies needed by the next op would not be counted.
    """
    if func not in PLAIN or not isinstance(made[0], FakeTensor):
        return made
    order = suggest_memory_format(args[0]) if func in PLAIN[:2] else torch.contiguous_format
    return (torch.empty_like(made[0], memory_format=order), *made[1:])


@dataclass(frozen=True)
class Peak:
    """The most bytes held at once: in the forward pass, and with the backward pass after it.

    On a CPU they include what kernels take for themselves, which is not measured but follows from
    their arguments.
    """

    forward: int
    backward: int
    how: str


def measured_peak(
    module: CircuitModule, inputs: tuple[Tensor, ...], *, watched: bool = False
) -> Peak:
    """Runs forward and backward, and watches the memory; weights and inputs count as well.

    ``watched``: every array is kept to be looked at, as in :func:`ncd.run.trace`. The ``.grad`` of
    the weights and the inputs are empty afterwards.
    """
    tensors = (*inputs, *module.parameters())
    _forget(tensors)
    if any(x.is_cuda for x in tensors):
        return _cuda_peak(module, inputs, watched)
    forward, backward = _counted(module, inputs, watched)
    how = "every storage that torch made, and its kernels' scratch, on the cpu"
    return Peak(forward, backward, how)


def _counted(
    module: CircuitModule, inputs: tuple[Tensor, ...], watched: bool, gpu: bool = False
) -> tuple[int, int]:
    """Returns the most bytes of a run forward, and with the backward pass, on the CPU's paths."""
    tensors = (*inputs, *module.parameters())
    with Storages([*tensors, *module.buffers()], gpu) as counted:
        forward = _forward_backward(module, inputs, watched, lambda: counted.peak)
    _forget(tensors)
    return forward, counted.peak


def _forget(tensors: Iterable[Tensor]) -> None:
    for tensor in tensors:
        tensor.grad = None


def _cuda_peak(module: CircuitModule, inputs: tuple[Tensor, ...], watched: bool) -> Peak:
    """Returns the peak on the module's own GPU, without what others hold there."""
    own = (*inputs, *module.parameters(), *module.buffers())
    place = next(x.device for x in own if x.is_cuda)
    torch.cuda.reset_peak_memory_stats(place)
    others = torch.cuda.memory_allocated(place) - sum(x.untyped_storage().nbytes() for x in own)

    def read() -> int:
        return torch.cuda.max_memory_allocated(place) - others

    forward = _forward_backward(module, inputs, watched, read)
    _forget(own)
    return Peak(forward, read(), "torch.cuda.max_memory_allocated")


def _forward_backward(
    module: CircuitModule, inputs: tuple[Tensor, ...], watched: bool, read: Any
) -> int:
    """Runs forward and backward; returns the result of ``read``, called in between."""
    kept: dict[str, Tensor] | None = {} if watched else None
    total = summed(module.execute(inputs, keep=kept))
    forward: int = read()
    if total.requires_grad:
        total.backward()
    return forward


def summed(outputs: Tensor | tuple[Tensor, ...]) -> Tensor:
    """Returns one number that depends on every real output, as the start of a backward pass."""
    tensors = outputs if isinstance(outputs, tuple) else (outputs,)
    means = [x.square().mean() for x in tensors if x.is_floating_point()]
    return torch.stack(means).sum() if means else torch.zeros(())


# --- what a run would take -----------------------------------------------------------------------


def stated_peak(
    term: Term, watched: bool = False, formats: Formats | None = None, device: str = "cpu"
) -> Peak:
    """Returns the memory that :func:`measured_peak` would measure, without numbers.

    The module runs forward and backward on tensors without data. On a CPU it is what is measured;
    on a GPU, whose allocator and libraries take more, it is no less. Raises RuntimeError or
    OverflowError if there are more numbers than torch can count.
    """
    gpu = torch.device(device).type == "cuda"
    return _stated_peak(term, watched, formats or Formats(), torch.get_num_threads(), gpu)


@lru_cache(maxsize=256)
def _stated_peak(term: Term, watched: bool, formats: Formats, threads: int, gpu: bool) -> Peak:
    """Returns the memory for a number of threads, as some kernels allocate per thread."""
    circuit = elaborate(term)
    module = CircuitModule(circuit, seed=None)
    module.formats = formats
    with blank_run():
        forward, backward = _counted(module, blanks(module), watched, gpu)
    beside = gpu_scratch.LIBRARIES if gpu else 0
    return Peak(forward + beside, backward + beside, "stated without a run")


@lru_cache(maxsize=256)
def stated_forward(term: Term) -> int:
    """Returns the most bytes of a forward run that frees each array after it was looked at.

    Raises as :func:`stated_peak` does.
    """
    module = CircuitModule(elaborate(term), seed=None)
    with blank_run(), torch.no_grad():
        inputs = blanks(module)
        with Storages([*inputs, *module.parameters(), *module.buffers()]) as counted:
            module.execute(inputs, watch=lambda cell, given, made: None)
        return counted.peak


@contextmanager
def blank_run() -> Iterator[None]:
    """Returns tensors without data that claim to be on the CPU, so torch takes the same paths.

    What torch keeps of each op at each size, for good, is let go where it is too much.
    """
    if FakeTensorMode.cache_info().size > MOST:
        FakeTensorMode.cache_clear()
    with FakeTensorMode():
        yield


def blanks(module: CircuitModule) -> tuple[Tensor, ...]:
    """Returns inputs without data, and removes the data of the module's weights."""
    for part in module.modules():
        _take_blank(part)
    return tuple(_blank(value.array) for value in module.circuit.inputs)


def _take_blank(part: nn.Module) -> None:
    for name, old in part._parameters.items():
        if old is not None:
            part._parameters[name] = nn.Parameter(torch.empty(old.shape, dtype=old.dtype))
    for name, buffer in part._buffers.items():
        if buffer is not None:
            part._buffers[name] = torch.empty(buffer.shape, dtype=buffer.dtype)


def _blank(array: Array) -> Tensor:
    if array.below is not None:
        return torch.empty(array.shape, dtype=torch.int64)
    return torch.empty(array.shape, requires_grad=True)
