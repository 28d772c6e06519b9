"""The memory that torch's CPU kernels take for themselves while they run, from their arguments.

A kernel may copy what it is given into another order or type, and may keep tables for each thread.
Torch tells of neither, so each rule follows the source of a kernel, in ATen/native/cpu. The sums
are upper bounds; a test holds them against torch's profiler.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.utils._pytree import tree_leaves

from ncd.costs import BYTES, WHOLE
from ncd.lang.circuits.circuit import Cell
from ncd.run.limits import convolution_scratch

aten = torch.ops.aten
SCALARS = 64  # bytes of the numbers that torch wraps as tensors, about an op
SPLITS = ((768, 256), (192, 64), (0, 32))  # rows of queries at a time, from how many queries on
KEYS = 512  # columns of keys at a time

Rule = Callable[[Sequence[Any], Any], int]  # of the arguments and the results


def scratch(func: Any, args: Sequence[Any], made: Any) -> int:
    """Returns the most bytes that a kernel holds beside its arguments and its results.

    >>> x = torch.ones(8, 4)
    >>> scratch(aten._softmax.default, (x.t(), -1, False), x)  # it is copied into plain order
    128
    """
    rule = RULES.get(func)
    own = rule(args, made) if rule is not None else 0
    return own + (SCALARS + _cast(func, args, made) if arithmetic(func) else 0)


def arithmetic(func: Any) -> bool:
    """Returns whether a kernel works number by number, or sums, and so may wrap numbers itself."""
    return torch.Tag.pointwise in func.tags or func in SUMS


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


def _plain(*places: int) -> Rule:
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
    return 2 * torch.get_num_threads() * prod(args[2]) * BYTES + _plain(0, 1)(args, made)


def _batch_norm(args: Sequence[Any], made: Any) -> int:
    return 16 * args[0].shape[1] + _plain(0)(args, made)


def _batch_norm_backward(args: Sequence[Any], made: Any) -> int:
    """Returns the bytes of the gradient before it is centred."""
    return size_of(args[1]) + 16 * args[1].shape[1] + _plain(0, 1)(args, made)


# --- attention ------------------------------------------------------------------------------------


def _attention_tile(query: Tensor, key: Tensor) -> tuple[int, int]:
    """Returns how many queries and keys a thread processes together (FlashAttentionKernel.cpp)."""
    queries, keys = query.shape[-2], key.shape[-2]
    rows = next(rows for least, rows in SPLITS if queries >= least)
    return min(rows, queries), min(KEYS, keys)


def _attention(args: Sequence[Any], made: Any) -> int:
    """Returns the bytes of each thread's tiles of scores and outputs, with maxima and sums."""
    rows, columns = _attention_tile(args[0], args[1])
    tile = rows * (columns + 2 + args[2].shape[-1])
    return torch.get_num_threads() * tile * BYTES


def _attention_backward(args: Sequence[Any], made: Any) -> int:
    """Returns the bytes of each thread's tiles of weights and gradients, and sums."""
    rows, columns = _attention_tile(args[1], args[2])
    tile = rows * (2 * columns + 1)
    given = sum(size_of(x) for x in args[:5] if x.stride(-1) != 1)
    return torch.get_num_threads() * tile * BYTES + given


# --- convolutions ---------------------------------------------------------------------------------


def _convolution(args: Sequence[Any], made: Any) -> int:
    own = convolution_scratch.forward(args[0], args[1], args[3:], made)
    return own + _plain(0)(args, made)


def _convolution_backward(args: Sequence[Any], made: Any) -> int:
    gradient, x, weight, _, *setting = args[:10]
    own = convolution_scratch.backward(gradient, x, weight, setting, made)
    return own + _plain(0, 1)(args, made)


def most(cell: Cell, batch: int = 1) -> int:
    """Returns an upper bound of the bytes that any kernel of an op holds, from sizes alone."""
    site, threads = cell.site, torch.get_num_threads()
    arrays = [*site.ins, *site.outs, *(initial.array for initial in cell.initial.values())]
    copies = 3 * WHOLE * batch * max((array.numel for array in arrays), default=1)
    longest = max((axis.numel for array in arrays for axis in array), default=1)
    tile = SPLITS[0][1] * (2 * KEYS + 2 + longest)
    weights = sum(initial.array.numel for initial in cell.initial.values())
    found = SCALARS + copies + threads * BYTES * (tile + 2 * weights)
    if cell.layer is None or "Conv" not in cell.layer.function:
        return found
    ends = (site.dom[0], site.cod[0])
    channels = [prod(axis.numel for axis in array[:-1]) for array in ends]
    places = [array[-1].numel for array in ends]
    pictures = batch * site.ins[0].numel // (channels[0] * places[0])
    window = cell.initial["weight"].array[-1].numel
    narrow = places[0 if "Transpose" in cell.layer.function else 1]
    return found + convolution_scratch.most(pictures, channels, places, narrow, window)


SUMS = (aten.sum.default, aten.sum.dim_IntList, aten.mean.default, aten.mean.dim)
CHOICES = (aten.where.self, aten.masked_fill.Scalar)
RULES: Mapping[Any, Rule] = {
    aten._softmax.default: _plain(0),
    aten._safe_softmax.default: lambda args, made: 2 * made.numel(),  # where rows are hidden
    aten._softmax_backward_data.default: _plain(0, 1),
    aten.native_layer_norm.default: _plain(0),
    aten.native_layer_norm_backward.default: _layer_norm_backward,
    aten.native_batch_norm.default: _batch_norm,
    aten.native_batch_norm_backward.default: _batch_norm_backward,
    aten.embedding_dense_backward.default: _plain(0),
    aten.index_select.default: _plain(0),
    aten.unfold_backward.default: lambda args, made: 8 * made.shape[args[2]],
    aten.mm.default: _dense(0, 1),
    aten.bmm.default: _dense(0, 1),
    aten._scaled_dot_product_flash_attention_for_cpu.default: _attention,
    aten._scaled_dot_product_flash_attention_for_cpu_backward.default: _attention_backward,
    aten.convolution.default: _convolution,
    aten.convolution_backward.default: _convolution_backward,
}
