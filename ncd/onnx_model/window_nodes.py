"""Padding, windows and convolutions as ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ncd.onnx_model.nodes import Known, Nodes, Shape, Size, Tensor, plain, whole_size


def pad(nodes: Nodes, x: Tensor, sides: Known, value: Known | None = None) -> Tensor:
    """Pads the last dimensions; torch names the sides of the last one first."""
    pairs = list(zip(sides.value[::2], sides.value[1::2], strict=True))[::-1]
    pairs = [(0, 0)] * (x.rank - len(pairs)) + pairs
    shape = tuple(_padded(size, *pair) for size, pair in zip(x.shape, pairs, strict=True))
    ends = nodes.constant([a for a, _ in pairs] + [b for _, b in pairs], "whole")
    return nodes.add(
        "Pad", [x, ends, nodes.constant(value.value if value else 0, x.kind)], x.kind, shape
    )


def _padded(size: Size, before: int, after: int) -> Size:
    if before == after == 0:
        return size
    return whole_size(size, "padding fixes its axis") + before + after


def unfold(nodes: Nodes, x: Tensor, dim: Known, size: Known, step: Known) -> Tensor:
    """Gathers each window of a dimension as a new last dimension."""
    axis, width = dim.value % x.rank, size.value
    count = (whole_size(x.shape[axis], "a window fixes its axis") - width) // step.value + 1
    index = np.arange(count)[:, None] * step.value + np.arange(width)
    shape = (*x.shape[:axis], count, width, *x.shape[axis + 1 :])
    found = nodes.add("Gather", [x, nodes.constant(index, "whole")], x.kind, shape, axis=axis)
    order = [i for i in range(found.rank) if i != axis + 1]
    return nodes.transpose(found, [*order, axis + 1])


def sides(value: Any, count: int) -> tuple[int, ...]:
    """Returns a setting of a window for each of its dimensions."""
    value = plain(value)
    return tuple(value) if isinstance(value, tuple | list) else (value,) * count


def slid(size: Size, span: int, step: int, pad: int) -> Size:
    """Returns the number of places of a window; a free size is one that the window keeps."""
    if not isinstance(size, int):
        assert step == 1 and 2 * pad == span - 1, "a window that changes a size fixes it"
        return size
    return (size + 2 * pad - span) // step + 1


def max_pool(n: int) -> Callable[..., Tensor]:
    """Returns max pooling over the last ``n`` dimensions."""

    def pooled(nodes: Nodes, x: Tensor, kernel: Known, stride: Known, padding: Any = 0) -> Tensor:
        if x.rank == n + 1:
            found = pooled(nodes, nodes.reshape(x, (1, *x.shape)), kernel, stride, padding)
            return nodes.reshape(found, found.shape[1:])
        spans, steps, pads = sides(kernel, n), sides(stride, n), sides(padding, n)
        ends = [
            slid(size, span, step, pad)
            for size, span, step, pad in zip(x.shape[2:], spans, steps, pads, strict=True)
        ]
        attributes = {"kernel_shape": spans, "strides": steps, "pads": pads * 2}
        return nodes.add("MaxPool", [x], "real", (*x.shape[:2], *ends), **attributes)

    return pooled


def transposed(
    nodes: Nodes,
    x: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: Any = 1,
    dilation: Any = 1,
) -> Tensor:
    """Returns a transposed convolution."""
    n = x.rank - 2
    steps, pads, more, apart = (sides(v, n) for v in (stride, padding, output_padding, dilation))
    spans = [whole_size(size, "a kernel is known") for size in weight.shape[2:]]
    ends: list[int] = [
        (whole_size(size, "a convolution fixes its axes") - 1) * step - 2 * room + far * (span - 1)
        + extra + 1
        for size, step, room, far, span, extra in zip(
            x.shape[2:], steps, pads, apart, spans, more, strict=True
        )
    ]  # fmt: skip
    channels = whole_size(weight.shape[1], "channels are known") * plain(groups)
    shape: Shape = (x.shape[0], channels, *ends)
    given = [x, weight] if bias is None else [x, weight, bias]
    return nodes.add(
        "ConvTranspose",
        given,
        "real",
        shape,
        kernel_shape=spans,
        strides=steps,
        pads=pads * 2,
        output_padding=more,
        dilations=apart,
        group=plain(groups),
    )
