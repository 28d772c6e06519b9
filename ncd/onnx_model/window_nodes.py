"""Padding, windows and convolutions as ONNX nodes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ncd.onnx_model.layer_settings import Settings
from ncd.onnx_model.nodes import Known, Nodes, Shape, Tensor, plain


def pad(nodes: Nodes, x: Tensor, sides: Known, value: Known | None = None) -> Tensor:
    """Pads the last dimensions; torch names the sides of the last one first."""
    pairs = list(zip(sides.value[::2], sides.value[1::2], strict=True))[::-1]
    pairs = [(0, 0)] * (x.rank - len(pairs)) + pairs
    shape = tuple(a + size + b for size, (a, b) in zip(x.shape, pairs, strict=True))
    ends = nodes.vector((*(a for a, _ in pairs), *(b for _, b in pairs)))
    return nodes.add(
        "Pad", [x, ends, nodes.constant(value.value if value else 0, x.kind)], x.kind, shape
    )


def unfold(nodes: Nodes, x: Tensor, dim: Known, size: Known, step: Known, apart: int = 1) -> Tensor:
    """Gathers each window of a dimension as a new last dimension."""
    axis, width = dim.value % x.rank, size.value
    count = slid(x.shape[axis], apart * (width - 1) + 1, step.value, 0)
    first = nodes.elementwise("Mul", "whole", nodes.places(count), step.value)
    first = nodes.reshape(first, (count, 1))
    offsets = nodes.elementwise("Mul", "whole", nodes.places(width), apart)
    index = nodes.elementwise("Add", "whole", first, offsets)
    shape = (*x.shape[:axis], count, width, *x.shape[axis + 1 :])
    found = nodes.add("Gather", [x, index], x.kind, shape, axis=axis)
    order = [i for i in range(found.rank) if i != axis + 1]
    return nodes.transpose(found, [*order, axis + 1])


def sides(value: Any, count: int) -> tuple[int, ...]:
    """Returns a setting of a window for each of its dimensions."""
    value = plain(value)
    return tuple(value) if isinstance(value, tuple | list) else (value,) * count


def slid(size: int, span: int, step: int, pad: int) -> int:
    """Returns the number of places of a window."""
    return (size + 2 * pad - span) // step + 1


def windowed(
    nodes: Nodes, layer: Settings, weight: Tensor, bias: Tensor | None, x: Tensor
) -> Tensor:
    """Returns a convolution as products of gathered windows, whose settings may follow sizes.

    The node ``Conv`` holds its settings as plain numbers.
    """
    n, groups = x.rank - 2, layer.groups
    around = tuple(side for each in reversed(layer.padding) for side in (each, each))
    x = pad(nodes, x, Known(around)) if around != (0,) * len(around) else x
    windows = zip(layer.kernel_size, layer.stride, layer.dilation, strict=True)
    for dim, (span, step, apart) in enumerate(windows, 2):
        x = unfold(nodes, x, Known(dim), Known(span), Known(step), apart)
    batch, channels, *rest = x.shape
    parts = nodes.reshape(x, (batch, groups, channels // groups, *rest))
    made, *inner = weight.shape
    own = nodes.reshape(weight, (groups, made // groups, *inner))
    places, offsets = "pqr"[:n], "ijk"[:n]
    text = f"bgc{places}{offsets},gdc{offsets}->bgd{places}"
    shape = (batch, groups, made // groups, *rest[:n])
    found = nodes.add("Einsum", [parts, own], "real", shape, equation=text)
    found = nodes.reshape(found, (batch, made, *rest[:n]))
    if bias is None:
        return found
    return nodes.real("Add", found, nodes.reshape(bias, (made, *(1,) * n)))


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
    spans = weight.shape[2:]
    ends = [
        (size - 1) * step - 2 * room + far * (span - 1)
        + extra + 1
        for size, step, room, far, span, extra in zip(
            x.shape[2:], steps, pads, apart, spans, more, strict=True
        )
    ]  # fmt: skip
    channels = weight.shape[1] * plain(groups)
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
