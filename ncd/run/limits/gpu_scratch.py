"""The memory that torch takes on a GPU beside the arrays: kernels' own, blocks, libraries.

A run that is stated has no GPU: it takes the CPU's paths, on tensors without data. These rules say
what CUDA does otherwise. They follow the source of torch, in ATen/native/cuda and
c10/cuda/CUDACachingAllocator.cpp, and were held against ``torch.cuda.max_memory_allocated``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any

import torch

from ncd.run.limits import kernel_scratch
from ncd.run.limits.kernel_scratch import Rule, size_of

aten = torch.ops.aten
BLOCK = 512  # bytes: every array takes whole blocks
LARGE = 1 << 20  # bytes of an array from which up to so many more stay unused beside it
# cuBLAS keeps 32 MiB for each thread that multiplies, on a Hopper GPU, and cuBLASLt 1 MiB: for the
# thread that runs forward, and for torch's own that runs backward.
LIBRARIES = 2 * 33 * (1 << 20)
ALIGNED = 4  # the fused kernel of attention wants a multiple of so many features, in float32
SORTED = 64  # bytes of an index that is sorted: copies of it, of its place, and the sort's own
SUMS = 64  # partial sums of a gradient over rows


def held(size: int) -> int:
    """Returns the most bytes that the allocator takes for an array.

    >>> held(4), held(2 << 20) - (2 << 20)
    (512, 1048576)
    """
    whole = -(-size // BLOCK) * BLOCK
    return whole + LARGE if size > LARGE else whole


def scratch(func: Any, args: Sequence[Any], made: Any) -> int:
    """Returns the most bytes that a kernel holds beside its arguments and its results.

    >>> x = torch.ones(8, 4)
    >>> scratch(aten._softmax_backward_data.default, (x, x, -1, torch.float32), x)
    512
    """
    rule = RULES.get(func)
    return held(rule(args, made) if rule else kernel_scratch.scratch(func, args, made))


def kept(func: Any, args: Sequence[Any]) -> int:
    """Returns the bytes that a kernel keeps for the backward pass, beside its results.

    Attention over other numbers of features is done in plain steps on a GPU.
    """
    plain = func == aten._scaled_dot_product_flash_attention_for_cpu.default and _plain_steps(args)
    return 3 * held(_scores(*args[:2])) if plain else 0


def _plain_steps(arrays: Sequence[Any]) -> bool:
    """Returns whether torch has no fused kernel for this query, key and value."""
    return any(x.shape[-1] % ALIGNED for x in arrays[:3])


def _scores(query: Any, key: Any) -> int:
    return prod(query.shape[:-1]) * key.shape[-2] * query.element_size()


def _attention(args: Sequence[Any], made: Any) -> int:
    """Returns the bytes of the scores where they are made, else of a log-sum for each query."""
    if _plain_steps(args):
        return 2 * held(_scores(*args[:2]))
    return prod(args[0].shape[:-1]) * args[0].element_size()


def _attention_backward(args: Sequence[Any], made: Any) -> int:
    """Returns the bytes of the scores' gradients, or of copies of all that the kernel reads."""
    own = sum(held(size_of(x)) for x in args[:5])
    return own + (3 * held(_scores(*args[1:3])) if _plain_steps(args[1:4]) else 0)


def _softmax_backward(args: Sequence[Any], made: Any) -> int:
    """Returns the bytes of the product of the gradient and the output, and of copies in order."""
    return held(size_of(made)) + kernel_scratch.RULES[SOFTMAX](args, made)


def _convolution(args: Sequence[Any], made: Any) -> int:
    """Returns the bytes of pictures and windows as transformed by cuDNN, for Winograd's products.

    A tile of 6 × 6 numbers stands for 4 × 4 places.
    """
    y, x, weight = args[:3] if isinstance(made, tuple) else (made, *args[:2])
    return 3 * (held(size_of(x)) + held(size_of(y))) + 4 * held(size_of(weight))


def _norm_backward(args: Sequence[Any], made: Any) -> int:
    return 2 * SUMS * prod(args[2]) * args[0].element_size() + size_of(args[0]) + size_of(args[1])


SOFTMAX = aten._softmax_backward_data.default
RULES: Mapping[Any, Rule] = {
    SOFTMAX: _softmax_backward,
    aten.convolution.default: _convolution,
    aten.convolution_backward.default: _convolution,
    aten.native_layer_norm_backward.default: _norm_backward,
    aten.embedding_dense_backward.default: lambda args, made: (
        size_of(args[0]) + SORTED * args[1].numel()
    ),
    aten.index_put.default: lambda args, made: SORTED * args[2].numel(),
    aten.index_put_.default: lambda args, made: SORTED * args[2].numel(),
    aten.sort.default: lambda args, made: SORTED * args[0].numel(),
    aten.topk.default: lambda args, made: SORTED * args[0].numel(),
    aten._scaled_dot_product_flash_attention_for_cpu.default: _attention,
    aten._scaled_dot_product_flash_attention_for_cpu_backward.default: _attention_backward,
}
