"""What kernels take for themselves: by which rule, and what a copy in plain order adds."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import pytest
import torch
from torch import Tensor

from ncd.run.run_memory import (
    LANES,
    ROWS,
    STRIDED_THREAD_BYTES,
    ConvolutionScratch,
    cpu_scratch_bytes,
    most_convolution_bytes,
)

aten = torch.ops.aten
CONV = ([2, 2], [1, 1], [1, 1], False, [0, 0], 1)


def turned(*shape: int) -> Tensor:
    """Returns a tensor of this shape whose numbers do not lie in order."""
    return torch.randn(shape[::-1]).permute(*reversed(range(len(shape))))


x, weight = turned(2, 5, 8, 8), torch.randn(6, 5, 3, 3)
rows, table = turned(4, 6), torch.tensor([1, 0, 2])
gradient, places = turned(2, 6, 4, 4), turned(3, 2).long()
mean, scale = torch.zeros(5), torch.ones(5)

# A function, its arguments, what it makes, and the arguments that are copied into plain order.
COPIED: dict[str, tuple[Any, Sequence[Any], Any, tuple[int, ...]]] = {
    "softmax": (aten._softmax.default, (rows, -1, False), rows, (0,)),
    "softmax back": (aten._softmax_backward_data.default, (rows, rows, -1), rows, (0, 1)),
    "layer norm": (aten.native_layer_norm.default, (rows, [6]), rows, (0,)),
    "layer norm back": (
        aten.native_layer_norm_backward.default,
        (rows, rows, [6], mean, scale),
        rows,
        (0, 1),
    ),
    "batch norm": (aten.native_batch_norm.default, (x, scale, mean), x, (0,)),
    "batch norm back": (aten.native_batch_norm_backward.default, (x, x, scale), x, (0, 1)),
    "lookup": (aten.index_select.default, (rows, 0, table), rows[:3], (0,)),
    "lookup back": (
        aten.embedding_dense_backward.default,
        (rows, places, 9, -1, False),
        rows,
        (0,),
    ),
    "convolution": (aten.convolution.default, (x, weight, None, *CONV), gradient, (0,)),
    "convolution back": (
        aten.convolution_backward.default,
        (gradient, x, weight, [0], *CONV, [True, True, False]),
        (x, weight, None),
        (0, 1),
    ),
}


@pytest.mark.parametrize("name", COPIED)
def test_what_does_not_lie_in_order_is_copied(name: str) -> None:
    function, args, made, copied = COPIED[name]
    plain = list(args)
    for i in copied:
        plain[i] = args[i].contiguous()
    copies = sum(args[i].numel() * args[i].element_size() for i in copied)
    assert (
        cpu_scratch_bytes(function, args, made) - cpu_scratch_bytes(function, plain, made) == copies
    )


@pytest.mark.parametrize(
    ("window", "around", "products"),
    [((1, 1), 4 * 4, 1), ((3, 3), 8 * 8, 0), ((3, 1), 8 * 4, 0), ((2, 5), 6 * 12, 0)],
)
def test_windows_that_are_apart_keep_a_border_as_wide_as_they_are(
    window: tuple[int, int], around: int, products: int
) -> None:
    """On both sides of the narrow picture, for each thread, with rows of the wide one."""
    x, weight = torch.zeros(2, 5, 9, 8), torch.zeros(6, 5, *window)
    setting = [2, 2], [0, 0], [1, 1], False, [0, 0], 1
    own = ConvolutionScratch(x, weight, (2, 6, 4, 4), setting)
    deep, wide = (-(-n // (LANES or 16)) * (LANES or 16) for n in (6, 5))
    numbers = deep * around + ROWS * wide * 8 + products * deep * wide
    assert own.tables == torch.get_num_threads() * (4 * numbers + STRIDED_THREAD_BYTES)
    assert own.picked == torch.get_num_threads() * wide * 4 * 4 * 4
    near = ConvolutionScratch(x, weight, (2, 6, 8, 7), ([1, 1], *setting[1:]))
    assert near.tables == near.picked == 0


@pytest.mark.parametrize(
    ("one", "two", "copies"),
    [
        (torch.randn(4, 6), torch.randn(6, 5), 0),
        (torch.randn(6, 4).t(), torch.randn(5, 6).t(), 0),
        (torch.randn(4, 12)[:, ::2], torch.randn(6, 5), 4 * 6 * 4),
        (torch.randn(4, 6), torch.randn(6, 10)[:, ::2], 6 * 5 * 4),
    ],
    ids=["in order", "turned", "the first with gaps", "the second with gaps"],
)
def test_a_product_copies_what_has_no_dimension_without_gaps(
    one: Tensor, two: Tensor, copies: int
) -> None:
    assert cpu_scratch_bytes(aten.mm.default, (one, two), one @ two) == copies


def test_numbers_of_another_type_are_converted_first() -> None:
    real, whole = torch.randn(4, 6), torch.ones(4, 6, dtype=torch.long)
    plain = cpu_scratch_bytes(aten.mul.Tensor, (real, real), real)
    assert cpu_scratch_bytes(aten.mul.Tensor, (real, whole), real) - plain == whole.numel() * 8
    chosen = cpu_scratch_bytes(aten.where.self, (whole > 0, real, real), real)
    assert chosen == plain  # a condition is not converted


@pytest.mark.parametrize("back", [False, True], ids=["conv", "transposed"])
@pytest.mark.parametrize(
    ("channels", "side", "window", "stride"),
    [
        ((1, 1), (4000,), (1,), 4000),  # one window of a long row
        ((16, 16), (4000,), (1,), 100),
        ((3, 64), (32, 32), (3, 3), 2),
        ((64, 3), (32, 32), (5, 5), 1),
        ((200, 300), (4, 4), (1, 1), 2),  # weights of more numbers than the pictures
        ((200, 300), (4, 4), (3, 3), 1),
        ((1, 16), (8, 8, 8), (2, 2, 2), 2),
        ((2, 2), (1, 1), (1, 1), 1),
    ],
)
def test_what_sizes_alone_bound_is_never_less_than_what_a_kernel_keeps(
    channels: tuple[int, int], side: tuple[int, ...], window: tuple[int, ...], stride: int, back
) -> None:
    few = tuple((n - k) // stride + 1 for n, k in zip(side, window, strict=True))
    wide = tuple((n - 1) * stride + k for n, k in zip(few, window, strict=True))
    ends = (few, wide) if back else (wide, few)
    with torch.device("meta"):
        x, made = (torch.empty(1, c, *end) for c, end in zip(channels, ends, strict=True))
        weight = torch.empty(*(channels if back else channels[::-1]), *window)
    whole = [0] * len(side)
    setting = [stride] * len(side), whole, [1] * len(side), back, whole, 1
    own = ConvolutionScratch(x, weight, made.shape, setting)
    most = most_convolution_bytes(1, channels, [prod(end) for end in ends], prod(few), prod(window))
    assert (
        max(own.gather_bytes(), own.scatter_bytes(), own.weight_gradient_bytes(), own.columns)
        <= most
    )


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(
    ("queries", "keys", "rows", "columns"),
    [(1, 1, 1, 1), (191, 511, 32, 511), (192, 512, 64, 512), (767, 513, 64, 512),
     (768, 9, 256, 9), (31, 9, 31, 9)],
)  # fmt: skip
def test_each_thread_of_attention_has_a_tile_of_scores(
    queries: int, keys: int, rows: int, columns: int, threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """FlashAttentionKernel.cpp: rows by the number of queries, with a maximum and a sum of each."""
    monkeypatch.setattr(torch, "get_num_threads", lambda: threads)
    query, key, value = (torch.zeros(1, 1, n, 8) for n in (queries, keys, keys))
    forward = aten._scaled_dot_product_flash_attention_for_cpu.default
    tile = rows * (columns + 2 + 8)
    assert cpu_scratch_bytes(forward, (query, key, value), query) == threads * tile * 4
    backward = aten._scaled_dot_product_flash_attention_for_cpu_backward.default
    given = (query, query, key, value, query)
    tile = rows * (2 * columns + 1)
    assert cpu_scratch_bytes(backward, given, (query, key, value)) == threads * tile * 4
    turned = torch.zeros(1, 1, 8, queries).mT  # is copied
    extra = 4 * 8 * queries if queries > 1 else 0
    given = (turned, query, key, value, query)
    assert cpu_scratch_bytes(backward, given, (query, key, value)) == threads * tile * 4 + extra
