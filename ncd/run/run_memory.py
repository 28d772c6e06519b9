"""The memory of a run with what torch's kernels take, stated without running, or measured.

There are two families of kernels. ATen's own unrolls the windows of one picture at a time into
columns (``slow_conv2d`` and its kin). oneDNN's copies its input, weight and output into formats in
which channels are filled up to whole vectors, and keeps tables for each thread. Which formats it
takes depends on the processor; what is stated here is the largest, found by measuring.

A kernel may copy what it is given into another order or type, and may keep tables for each thread.
Torch tells of neither, so each rule follows the source of a kernel, in ATen/native/cpu. The sums
are upper bounds; a test holds them against torch's profiler.

A run that is stated has no GPU: it takes the CPU's paths, on tensors without data. These rules say
what CUDA does otherwise. They follow the source of torch, in ATen/native/cuda and
c10/cuda/CUDACachingAllocator.cpp, and were held against ``torch.cuda.max_memory_allocated``.
"""

from __future__ import annotations

import operator
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from math import prod
from typing import Any

import torch
from torch import Tensor, nn
from torch._prims_common import suggest_memory_format
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from ncd.circuit.circuit import Cell
from ncd.circuit.costs import BYTES, INTEGER_BYTES
from ncd.circuit.elaborate import elaborate
from ncd.language.axes import Array
from ncd.language.number_formats import Formats
from ncd.language.terms import Term
from ncd.run.module import CircuitModule

# --- The memory that torch's convolutions take for themselves on a CPU

VECTORS = {"AVX512": 16, "AVX2": 8}  # numbers in a vector of the processor
LANES = VECTORS.get(torch.backends.cpu.get_cpu_capability(), 0)  # 0: none that oneDNN is fast with
FEW_CHANNELS = 4  # channels below which it leaves an input as it is
FEWEST_CHANNELS = 3  # and below which it does not for the gradient of a weight, with windows apart
CONVOLUTION_BYTES = 1000  # bytes that every convolution keeps beside its copies
TABLES = 26_000  # bytes of the same where the gradient of a weight is made
SUM_BYTES = 13_000  # bytes where pictures are summed up in plain order
STRIDED_THREAD_BYTES = 60_000  # bytes that each thread keeps where windows are apart
GROUPED_WINDOW_BYTES = (
    1500  # bytes for each place of a window, where each channel has a window of its own
)
ROWS = 8  # rows of a picture that each thread keeps then


class ConvolutionScratch:
    """The bytes that a convolution makes on its way.

    The *wide* pictures are those that windows lie in, the *narrow* ones have a place for each
    window: the input and the output, and in a transposed convolution the output and the input.

    Args:
        x: the input, of shape (batch, channels, *places).
        weight: of shape (channels out, channels in, *window), or with its channels swapped.
        output: the shape of the output.
        setting: stride, padding, dilation, transposed, output padding, groups, as aten takes them.
    """

    def __init__(
        self, x: Tensor, weight: Tensor, output: Sequence[int], setting: Sequence[Any]
    ) -> None:
        stride, _, dilation, self.transposed, *_ = setting
        self.unrolled = "Slow" in str(torch._C._select_conv_backend(x, weight, None, *setting))
        self.threads, self.result = torch.get_num_threads(), prod(output) * BYTES
        shapes = (tuple(output), tuple(x.shape)) if self.transposed else (tuple(x.shape), output)
        (_, channels, *wide), (_, deep, *narrow) = shapes
        sides, self.window = weight.shape[2:], prod(weight.shape[2:])
        self.columns = channels * self.window * prod(narrow) * BYTES
        self.wide, self.narrow = (_padded_bytes(shape) for shape in shapes)
        self.weight = _weights(channels, deep, setting[-1]) * self.window * BYTES
        self.apart = GROUPED_WINDOW_BYTES * self.window if setting[-1] > 1 else 0
        self.taken, self.kernel = self.wide, self.weight  # where nothing is summed into the wide
        if channels < FEW_CHANNELS and self.window > 1 and not self.transposed:
            self.taken = prod(shapes[0]) * BYTES
            self.kernel = channels * _lanes(deep) * self.window * BYTES
        beyond = (side > min(ends) for side, *ends in zip(sides, wide, narrow, strict=True))
        self.odd = max(dilation) > 1 or not LANES
        unrolls = self.odd or any(beyond)
        self.multiplied = self.threads * self.columns if unrolls else 0
        self.picked = self.tables = 0
        if max(stride) > 1:
            around = [n + 2 * (side - 1) for n, side in zip(narrow, sides, strict=True)]
            each = _lanes(deep) * prod(around) + ROWS * _lanes(channels) * wide[-1]
            each += _lanes(channels) * _lanes(deep) if self.window == 1 else 0
            self.tables = self.threads * (each * BYTES + STRIDED_THREAD_BYTES)
            self.picked = self.threads * _lanes(channels) * prod(narrow) * BYTES
        few = self.taken < self.wide and not self.odd and setting[-1] == 1
        self.plain = few and max(stride) > 1  # the gradient of the input is summed in this order
        self.summed = (prod(shapes[0]) + prod(shapes[1])) * BYTES  # in plain order
        fewest = self.plain and channels < FEWEST_CHANNELS
        self.copied = self.wide if fewest else self.taken

    def gather_bytes(self) -> int:
        """Returns the bytes held while computing narrow images from wide ones."""
        return (
            self.taken
            + self.narrow
            + self.kernel
            + self.picked
            + self.multiplied
            + CONVOLUTION_BYTES
        )

    def scatter_bytes(self) -> int:
        """Returns the bytes held while computing wide images from narrow ones, by summation."""
        if self.plain:
            beside = self.threads * STRIDED_THREAD_BYTES + SUM_BYTES
            return self.summed + self.weight + beside + self.multiplied + CONVOLUTION_BYTES
        beside = (self.wide if self.transposed else 0) + self.tables
        return self.wide + self.narrow + self.weight + beside + self.multiplied + CONVOLUTION_BYTES

    def weight_gradient_bytes(self) -> int:
        """Returns the bytes held for the gradient of the weights; each thread sums its own part."""
        parts = self.kernel + (self.weight if self.multiplied else 0)
        parts += 4 * self.weight if self.odd else 0
        found = self.copied + self.narrow + self.threads * parts
        return found + self.picked + self.multiplied + TABLES + self.apart


def forward(x: Tensor, weight: Tensor, setting: Sequence[Any], made: Tensor) -> int:
    """Returns the bytes that ``aten.convolution`` holds beside its arguments and its result."""
    own = ConvolutionScratch(x, weight, made.shape, setting)
    if own.unrolled:
        again = own.transposed and (own.window == 1 or x.dim() == 5)
        return own.columns + again * own.result
    if own.transposed:
        return max(own.scatter_bytes() - own.result, 2 * own.wide)
    return max(own.gather_bytes() - own.result, own.narrow)


def backward(
    gradient: Tensor, x: Tensor, weight: Tensor, setting: Sequence[Any], made: Sequence[Any]
) -> int:
    """Returns the bytes that ``aten.convolution_backward`` holds beside what it takes and gives.

    It makes the gradient of the input first, then that of the weight.
    """
    own = ConvolutionScratch(x, weight, gradient.shape, setting)
    if own.unrolled:
        channels, *places = gradient.shape[1:]
        return own.columns + (3 * channels + prod(places)) * BYTES
    given, *others = [0 if grad is None else grad.numel() * BYTES for grad in made]
    first = own.gather_bytes() if own.transposed else own.scatter_bytes()
    again = own.wide * (2 if own.picked else 1)  # copies of what it gives
    if own.plain:
        again = 2 * given
    return max(
        first - given - sum(others),
        again,
        own.weight_gradient_bytes() - sum(others),
        own.weight + CONVOLUTION_BYTES,
    )


def most_convolution_bytes(
    pictures: int, channels: Sequence[int], places: Sequence[int], narrow: int, window: int
) -> int:
    """Returns an upper bound of the bytes that any of these kernels holds, from sizes alone.

    Args:
        pictures: how many there are.
        channels: how many the input and the output have.
        places: how many a picture has, in the input and in the output.
        narrow: how many it has where each place is of a window.
        window: how many places a window has.
    """
    filled = [_lanes(count) for count in channels]
    weight = prod(filled) * window
    stacks = pictures * sum(map(operator.mul, filled, places))
    each = (10 * narrow * window + ROWS * max(places)) * max(filled) + 6 * weight
    threads = torch.get_num_threads()
    return (
        (4 * stacks + 4 * weight + threads * each) * BYTES + threads * STRIDED_THREAD_BYTES + TABLES
    )


def _lanes(channels: int) -> int:
    """Returns how many channels oneDNN holds: it fills them up to whole vectors."""
    return -(-channels // (LANES or 16)) * (LANES or 16)


def _weights(channels: int, deep: int, groups: int) -> int:
    """Returns how many weights oneDNN holds for each place of a window."""
    if groups == channels == deep and groups >= LANES:  # the groups themselves are filled up
        return _lanes(groups)
    return groups * _lanes(channels // groups) * _lanes(deep // groups)


def _padded_bytes(shape: Sequence[int]) -> int:
    """Returns the bytes of a stack of images whose channels are padded to whole vectors."""
    return prod((shape[0], _lanes(shape[1]), *shape[2:])) * BYTES


# --- The memory that torch's CPU kernels take for themselves while they run, from their arguments

aten = torch.ops.aten
SCALARS = 64  # bytes of the numbers that torch wraps as tensors, about an op
SPLITS = ((768, 256), (192, 64), (0, 32))  # rows of queries at a time, from how many queries on
KEYS = 512  # columns of keys at a time

Rule = Callable[[Sequence[Any], Any], int]  # of the arguments and the results


def cpu_scratch_bytes(func: Any, args: Sequence[Any], made: Any) -> int:
    """Returns the most bytes that a kernel holds beside its arguments and its results.

    >>> x = torch.ones(8, 4)
    >>> # It is copied into plain order.
    >>> cpu_scratch_bytes(aten._softmax.default, (x.t(), -1, False), x)
    128
    """
    rule = CPU_RULES.get(func)
    own = rule(args, made) if rule is not None else 0
    return own + (SCALARS + _cast(func, args, made) if arithmetic(func) else 0)


def arithmetic(func: Any) -> bool:
    """Returns whether a kernel works number by number, or sums, and so may wrap numbers itself."""
    return torch.Tag.pointwise in func.tags or func in SUM_FUNCTIONS


# --- copies in another type or order --------------------------------------------------------------


def _cast(func: Any, args: Sequence[Any], made: Any) -> int:
    """Returns the bytes of arguments copied to the type in which an elementwise op computes."""
    given = [x for x in _tensors(args) if x.dim()]
    if func in CHOICES:
        given = [x for x in given if x.dtype != torch.bool]
    kinds = {x.dtype for x in (*given, *_tensors(made))} - {torch.bool}
    if len({x.dtype for x in given} | kinds) < 2:
        return 0
    size = max((kind.itemsize for kind in kinds), default=1)
    real = any(kind.is_floating_point for kind in kinds)
    return sum(x.numel() * size for x in given if x.is_floating_point() != real or not real)


def _tensors(parts: Any) -> Iterator[Tensor]:
    return (x for x in tree_leaves(parts) if isinstance(x, Tensor))


def size_of(x: Tensor) -> int:
    """Returns the bytes of a tensor's numbers."""
    return x.numel() * x.element_size()


def _copy_rule(*places: int) -> Rule:
    """Returns a rule for kernels that copy these arguments unless they are contiguous."""
    return lambda args, made: sum(
        0 if args[i].is_contiguous() else size_of(args[i]) for i in places
    )


def _dense(*places: int) -> Rule:
    """Returns a rule for matrix products, which copy arguments without a contiguous dimension."""

    def rule(args: Sequence[Any], made: Any) -> int:
        given = [args[i] for i in places]
        return sum(size_of(x) for x in given if 1 not in x.stride()[-2:])

    return rule


# --- norms ----------------------------------------------------------------------------------------


def _layer_norm_backward(args: Sequence[Any], made: Any) -> int:
    """Returns the bytes of each thread's sums for the gradients of scale and shift."""
    return 2 * torch.get_num_threads() * prod(args[2]) * BYTES + _copy_rule(0, 1)(args, made)


def _batch_norm(args: Sequence[Any], made: Any) -> int:
    return 16 * args[0].shape[1] + _copy_rule(0)(args, made)


def _batch_norm_backward(args: Sequence[Any], made: Any) -> int:
    """Returns the bytes of the gradient before it is centred."""
    return size_of(args[1]) + 16 * args[1].shape[1] + _copy_rule(0, 1)(args, made)


# --- attention ------------------------------------------------------------------------------------


def _attention_tile(query: Tensor, key: Tensor) -> tuple[int, int]:
    """Returns how many queries and keys a thread processes together (FlashAttentionKernel.cpp)."""
    queries, keys = query.shape[-2], key.shape[-2]
    rows = next(rows for least, rows in SPLITS if queries >= least)
    return min(rows, queries), min(KEYS, keys)


def _cpu_attention(args: Sequence[Any], made: Any) -> int:
    """Returns the bytes of each thread's tiles of scores and outputs, with maxima and sums."""
    rows, columns = _attention_tile(args[0], args[1])
    tile = rows * (columns + 2 + args[2].shape[-1])
    return torch.get_num_threads() * tile * BYTES


def _cpu_attention_backward(args: Sequence[Any], made: Any) -> int:
    """Returns the bytes of each thread's tiles of weights and gradients, and sums."""
    rows, columns = _attention_tile(args[1], args[2])
    tile = rows * (2 * columns + 1)
    given = sum(size_of(x) for x in args[:5] if x.stride(-1) != 1)
    return torch.get_num_threads() * tile * BYTES + given


# --- convolutions ---------------------------------------------------------------------------------


def _cpu_convolution(args: Sequence[Any], made: Any) -> int:
    own = forward(args[0], args[1], args[3:], made)
    return own + _copy_rule(0)(args, made)


def _convolution_backward(args: Sequence[Any], made: Any) -> int:
    gradient, x, weight, _, *setting = args[:10]
    own = backward(gradient, x, weight, setting, made)
    return own + _copy_rule(0, 1)(args, made)


def most_kernel_bytes(cell: Cell, batch: int = 1) -> int:
    """Returns an upper bound of the bytes that any kernel of an op holds, from sizes alone."""
    site, threads = cell.site, torch.get_num_threads()
    arrays = [
        *site.inputs,
        *site.outputs,
        *(initial.array for initial in cell.initial_values.values()),
    ]
    copies = 3 * INTEGER_BYTES * batch * max((array.numel for array in arrays), default=1)
    longest = max((axis.numel for array in arrays for axis in array), default=1)
    tile = SPLITS[0][1] * (2 * KEYS + 2 + longest)
    weights = sum(initial.array.numel for initial in cell.initial_values.values())
    found = SCALARS + copies + threads * BYTES * (tile + 2 * weights)
    if cell.layer is None or "Conv" not in cell.layer.function:
        return found
    ends = (site.own_inputs[0], site.own_outputs[0])
    channels = [prod(axis.numel for axis in array[:-1]) for array in ends]
    places = [array[-1].numel for array in ends]
    pictures = batch * site.inputs[0].numel // (channels[0] * places[0])
    window = cell.initial_values["weight"].array[-1].numel
    narrow = places[0 if "Transpose" in cell.layer.function else 1]
    return found + most_convolution_bytes(pictures, channels, places, narrow, window)


SUM_FUNCTIONS = (aten.sum.default, aten.sum.dim_IntList, aten.mean.default, aten.mean.dim)
CHOICES = (aten.where.self, aten.masked_fill.Scalar)
CPU_RULES: Mapping[Any, Rule] = {
    aten._softmax.default: _copy_rule(0),
    aten._safe_softmax.default: lambda args, made: 2 * made.numel(),  # where rows are hidden
    aten._softmax_backward_data.default: _copy_rule(0, 1),
    aten.native_layer_norm.default: _copy_rule(0),
    aten.native_layer_norm_backward.default: _layer_norm_backward,
    aten.native_batch_norm.default: _batch_norm,
    aten.native_batch_norm_backward.default: _batch_norm_backward,
    aten.embedding_dense_backward.default: _copy_rule(0),
    aten.index_select.default: _copy_rule(0),
    aten.unfold_backward.default: lambda args, made: 8 * made.shape[args[2]],
    aten.mm.default: _dense(0, 1),
    aten.bmm.default: _dense(0, 1),
    aten._scaled_dot_product_flash_attention_for_cpu.default: _cpu_attention,
    aten._scaled_dot_product_flash_attention_for_cpu_backward.default: _cpu_attention_backward,
    aten.convolution.default: _cpu_convolution,
    aten.convolution_backward.default: _convolution_backward,
}


# --- The memory that torch takes on a GPU beside the arrays: kernels' own, blocks, libraries

BLOCK = 512  # bytes: every array takes whole blocks
LARGE_ARRAY_BYTES = 1 << 20  # bytes of an array from which up to so many more stay unused beside it
# cuBLAS keeps 32 MiB for each thread that multiplies, on a Hopper GPU, and cuBLASLt 1 MiB: for the
# thread that runs forward, and for torch's own that runs backward.
LIBRARIES = 2 * 33 * (1 << 20)
FEATURE_MULTIPLE = (
    4  # the fused kernel of attention wants a multiple of so many features, in float32
)
SORTED_INDEX_BYTES = (
    64  # bytes of an index that is sorted: copies of it, of its place, and the sort's own
)
GPU_SUM_BLOCKS = 64  # partial sums of a gradient over rows


def allocated_bytes(size: int) -> int:
    """Returns the most bytes that the allocator takes for an array.

    >>> allocated_bytes(4), allocated_bytes(2 << 20) - (2 << 20)
    (512, 1048576)
    """
    whole = -(-size // BLOCK) * BLOCK
    return whole + LARGE_ARRAY_BYTES if size > LARGE_ARRAY_BYTES else whole


def gpu_scratch_bytes(func: Any, args: Sequence[Any], made: Any) -> int:
    """Returns the most bytes that a kernel holds beside its arguments and its results.

    >>> x = torch.ones(8, 4)
    >>> gpu_scratch_bytes(aten._softmax_backward_data.default, (x, x, -1, torch.float32), x)
    512
    """
    rule = GPU_RULES.get(func)
    return allocated_bytes(rule(args, made) if rule else cpu_scratch_bytes(func, args, made))


def saved_kernel_bytes(func: Any, args: Sequence[Any]) -> int:
    """Returns the bytes that a kernel keeps for the backward pass, beside its results.

    Attention over other numbers of features is done in plain steps on a GPU.
    """
    plain = func == aten._scaled_dot_product_flash_attention_for_cpu.default and _plain_steps(args)
    return 3 * allocated_bytes(_scores(*args[:2])) if plain else 0


def _plain_steps(arrays: Sequence[Any]) -> bool:
    """Returns whether torch has no fused kernel for this query, key and value."""
    return any(x.shape[-1] % FEATURE_MULTIPLE for x in arrays[:3])


def _scores(query: Any, key: Any) -> int:
    return prod(query.shape[:-1]) * key.shape[-2] * query.element_size()


def _gpu_attention(args: Sequence[Any], made: Any) -> int:
    """Returns the bytes of the scores where they are made, else of a log-sum for each query."""
    if _plain_steps(args):
        return 2 * allocated_bytes(_scores(*args[:2]))
    return prod(args[0].shape[:-1]) * args[0].element_size()


def _gpu_attention_backward(args: Sequence[Any], made: Any) -> int:
    """Returns the bytes of the scores' gradients, or of copies of all that the kernel reads."""
    own = sum(allocated_bytes(size_of(x)) for x in args[:5])
    return own + (3 * allocated_bytes(_scores(*args[1:3])) if _plain_steps(args[1:4]) else 0)


def _softmax_backward(args: Sequence[Any], made: Any) -> int:
    """Returns the bytes of the product of the gradient and the output, and of copies in order."""
    return allocated_bytes(size_of(made)) + CPU_RULES[SOFTMAX](args, made)


def _gpu_convolution(args: Sequence[Any], made: Any) -> int:
    """Returns the bytes of pictures and windows as transformed by cuDNN, for Winograd's products.

    A tile of 6 × 6 numbers stands for 4 × 4 places.
    """
    y, x, weight = args[:3] if isinstance(made, tuple) else (made, *args[:2])
    return 3 * (allocated_bytes(size_of(x)) + allocated_bytes(size_of(y))) + 4 * allocated_bytes(
        size_of(weight)
    )


def _norm_backward(args: Sequence[Any], made: Any) -> int:
    return (
        2 * GPU_SUM_BLOCKS * prod(args[2]) * args[0].element_size()
        + size_of(args[0])
        + size_of(args[1])
    )


SOFTMAX = aten._softmax_backward_data.default
GPU_RULES: Mapping[Any, Rule] = {
    SOFTMAX: _softmax_backward,
    aten.convolution.default: _gpu_convolution,
    aten.convolution_backward.default: _gpu_convolution,
    aten.native_layer_norm_backward.default: _norm_backward,
    aten.embedding_dense_backward.default: lambda args, made: (
        size_of(args[0]) + SORTED_INDEX_BYTES * args[1].numel()
    ),
    aten.index_put.default: lambda args, made: SORTED_INDEX_BYTES * args[2].numel(),
    aten.index_put_.default: lambda args, made: SORTED_INDEX_BYTES * args[2].numel(),
    aten.sort.default: lambda args, made: SORTED_INDEX_BYTES * args[0].numel(),
    aten.topk.default: lambda args, made: SORTED_INDEX_BYTES * args[0].numel(),
    aten._scaled_dot_product_flash_attention_for_cpu.default: _gpu_attention,
    aten._scaled_dot_product_flash_attention_for_cpu_backward.default: _gpu_attention_backward,
}


# --- The memory of a run: measured while it runs, or stated without running it

MAX_CACHED_OPS = 5_000  # ops at their sizes that torch remembers, at 2 kB each
NUMBER = 8  # bytes of a number that an op saves for its backward pass
NORM_FUNCTIONS = (
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
            size = allocated_bytes(size)

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
        self._add_scratch(func, args, made)
        return made

    def _add_scratch(self, func: Any, args: Any, made: Any) -> None:
        """Counts memory that a kernel allocated itself, and a number that it may have saved."""
        self.saved += NUMBER * arithmetic(func)
        if self.gpu:
            self.saved += saved_kernel_bytes(func, args)
        own = gpu_scratch_bytes if self.gpu else cpu_scratch_bytes
        self.peak = max(self.peak, self.now + self.saved + own(func, args, made))


def _as_it_lies(func: Any, args: Any, made: Any) -> Any:
    """Returns an op's output in the memory layout that the real kernel gives it.

    A norm of a permuted tensor returns one in plain order; the fake kernel keeps the permutation,
    so that copies needed by the next op would not be counted.
    """
    if func not in NORM_FUNCTIONS or not isinstance(made[0], FakeTensor):
        return made
    order = (
        suggest_memory_format(args[0]) if func in NORM_FUNCTIONS[:2] else torch.contiguous_format
    )
    return (torch.empty_like(made[0], memory_format=order), *made[1:])


@dataclass(frozen=True)
class PeakMemory:
    """The most bytes held at once: in the forward pass, and with the backward pass after it.

    On a CPU they include what kernels take for themselves, which is not measured but follows from
    their arguments.
    """

    forward: int
    backward: int
    how: str


def measured_peak(
    module: CircuitModule, inputs: tuple[Tensor, ...], *, watched: bool = False
) -> PeakMemory:
    """Runs forward and backward, and watches the memory; weights and inputs count as well.

    ``watched``: every array is kept to be looked at, as in :func:`ncd.trace`. The ``.grad`` of
    the weights and the inputs are empty afterwards.
    """
    tensors = (*inputs, *module.parameters())
    _forget(tensors)
    if any(x.is_cuda for x in tensors):
        return _cuda_peak(module, inputs, watched)
    forward, backward = _peak_bytes(module, inputs, watched)
    how = "every storage that torch made, and its kernels' scratch, on the cpu"
    return PeakMemory(forward, backward, how)


def _peak_bytes(
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


def _cuda_peak(module: CircuitModule, inputs: tuple[Tensor, ...], watched: bool) -> PeakMemory:
    """Returns the peak on the module's own GPU, without what others hold there."""
    own = (*inputs, *module.parameters(), *module.buffers())
    place = next(x.device for x in own if x.is_cuda)
    torch.cuda.reset_peak_memory_stats(place)
    others = torch.cuda.memory_allocated(place) - sum(x.untyped_storage().nbytes() for x in own)

    def read() -> int:
        return torch.cuda.max_memory_allocated(place) - others

    forward = _forward_backward(module, inputs, watched, read)
    _forget(own)
    return PeakMemory(forward, read(), "torch.cuda.max_memory_allocated")


def _forward_backward(
    module: CircuitModule, inputs: tuple[Tensor, ...], watched: bool, read: Any
) -> int:
    """Runs forward and backward; returns the result of ``read``, called in between."""
    kept: dict[str, Tensor] | None = {} if watched else None
    total = scalar_of_outputs(module.execute(inputs, keep=kept))
    forward: int = read()
    if total.requires_grad:
        total.backward()
    return forward


def scalar_of_outputs(outputs: Tensor | tuple[Tensor, ...]) -> Tensor:
    """Returns one number that depends on every real output, as the start of a backward pass."""
    tensors = outputs if isinstance(outputs, tuple) else (outputs,)
    means = [x.square().mean() for x in tensors if x.is_floating_point()]
    return torch.stack(means).sum() if means else torch.zeros(())


# --- what a run would take -----------------------------------------------------------------------


def predicted_peak(
    term: Term, watched: bool = False, formats: Formats | None = None, device: str = "cpu"
) -> PeakMemory:
    """Returns the memory that :func:`measured_peak` would measure, without numbers.

    The module runs forward and backward on tensors without data. On a CPU it is what is measured;
    on a GPU, whose allocator and libraries take more, it is no less. Raises RuntimeError or
    OverflowError if there are more numbers than torch can count.
    """
    gpu = torch.device(device).type == "cuda"
    return _stated_peak(term, watched, formats or Formats(), torch.get_num_threads(), gpu)


@lru_cache(maxsize=256)
def _stated_peak(
    term: Term, watched: bool, formats: Formats, threads: int, gpu: bool
) -> PeakMemory:
    """Returns the memory for a number of threads, as some kernels allocate per thread."""
    circuit = elaborate(term)
    module = CircuitModule(circuit, seed=None)
    module.formats = formats
    with blank_run():
        forward, backward = _peak_bytes(module, meta_inputs(module), watched, gpu)
    beside = LIBRARIES if gpu else 0
    return PeakMemory(forward + beside, backward + beside, "stated without a run")


@lru_cache(maxsize=256)
def predicted_forward_peak(term: Term) -> int:
    """Returns the most bytes of a forward run that frees each array after it was looked at.

    Raises as :func:`predicted_peak` does.
    """
    module = CircuitModule(elaborate(term), seed=None)
    with blank_run(), torch.no_grad():
        inputs = meta_inputs(module)
        with Storages([*inputs, *module.parameters(), *module.buffers()]) as counted:
            module.execute(inputs, watch=lambda cell, given, made: None)
        return counted.peak


@contextmanager
def blank_run() -> Iterator[None]:
    """Returns tensors without data that claim to be on the CPU, so torch takes the same paths.

    What torch keeps of each op at each size, for good, is let go where it is too much.
    """
    if FakeTensorMode.cache_info().size > MAX_CACHED_OPS:
        FakeTensorMode.cache_clear()
    with FakeTensorMode():
        yield


def meta_inputs(module: CircuitModule) -> tuple[Tensor, ...]:
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
