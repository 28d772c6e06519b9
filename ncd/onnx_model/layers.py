"""The layers of torch that ops have, as ONNX nodes; settings are read from the call of a layer.

Batch norm uses the statistics of its batch, as a compiled module does; dropout drops nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping

import torch

from ncd.lang.formulas.traced_sizes import traced
from ncd.onnx_model.functions import FUNCTIONS
from ncd.onnx_model.layer_settings import Settings
from ncd.onnx_model.nodes import Nodes, Tensor
from ncd.onnx_model.window_nodes import slid, transposed, windowed

Weights = Mapping[str, Tensor]
LayerWriter = Callable[[Nodes, Settings, Weights, Tensor], Tensor]


def _linear(nodes: Nodes, layer: Settings, weights: Weights, x: Tensor) -> Tensor:
    found: Tensor = FUNCTIONS["F.linear"](nodes, x, weights["weight"], weights.get("bias"))
    return found


def _in_batch(writer: LayerWriter) -> LayerWriter:
    """Returns the writer of a convolution that also takes an array without a batch."""

    def written(nodes: Nodes, layer: Settings, weights: Weights, x: Tensor) -> Tensor:
        if x.rank == len(layer.kernel_size) + 2:
            return writer(nodes, layer, weights, x)
        found = writer(nodes, layer, weights, nodes.reshape(x, (1, *x.shape)))
        return nodes.reshape(found, found.shape[1:])

    return written


def _convolution(nodes: Nodes, layer: Settings, weights: Weights, x: Tensor) -> Tensor:
    spans, steps, pads, apart = layer.kernel_size, layer.stride, layer.padding, layer.dilation
    if any(map(traced, (layer.groups, *spans, *steps, *pads, *apart))):
        return windowed(nodes, layer, weights["weight"], weights.get("bias"), x)
    ends = [
        slid(size, far * (span - 1) + 1, step, pad)
        for size, far, span, step, pad in zip(x.shape[2:], apart, spans, steps, pads, strict=True)
    ]
    attributes = {"kernel_shape": spans, "strides": steps, "pads": pads * 2, "dilations": apart}
    given = [x, *(weights[name] for name in ("weight", "bias") if name in weights)]
    shape = (x.shape[0], layer.out_channels, *ends)
    return nodes.add("Conv", given, "real", shape, group=layer.groups, **attributes)


def _transposed(nodes: Nodes, layer: Settings, weights: Weights, x: Tensor) -> Tensor:
    return transposed(
        nodes,
        x,
        weights["weight"],
        weights.get("bias"),
        layer.stride,
        layer.padding,
        layer.output_padding,
        layer.groups,
        layer.dilation,
    )


def _layer_norm(nodes: Nodes, layer: Settings, weights: Weights, x: Tensor) -> Tensor:
    axis = x.rank - len(layer.normalized_shape)
    ones = nodes.expand(nodes.constant(1, "real"), x.shape[axis:])
    scale = weights.get("weight", ones)
    given = [x, scale, weights["bias"]] if "bias" in weights else [x, scale]
    return nodes.add(
        "LayerNormalization", given, "real", x.shape, axis=axis, epsilon=float(layer.eps)
    )


def _rms_norm(nodes: Nodes, layer: Settings, weights: Weights, x: Tensor) -> Tensor:
    dims = range(-len(layer.normalized_shape), 0)
    eps = torch.finfo(torch.float32).eps if layer.eps is None else layer.eps
    mean = nodes.reduced("ReduceMean", nodes.real("Mul", x, x), dims, keep=True)
    size = nodes.real("Sqrt", nodes.real("Add", mean, float(eps)))
    found = nodes.real("Div", x, size)
    return nodes.real("Mul", found, weights["weight"]) if "weight" in weights else found


def _standardised(nodes: Nodes, x: Tensor, dims: Iterable[int], eps: float) -> Tensor:
    """Subtracts the mean over some dimensions and divides by the standard deviation."""
    centred = nodes.real("Sub", x, nodes.reduced("ReduceMean", x, dims, keep=True))
    squares = nodes.real("Mul", centred, centred)
    variance = nodes.reduced("ReduceMean", squares, dims, keep=True)
    return nodes.real("Div", centred, nodes.real("Sqrt", nodes.real("Add", variance, float(eps))))


def _by_channel(nodes: Nodes, weights: Weights, x: Tensor) -> Tensor:
    """Multiplies each channel, the second dimension, by a weight and adds a bias."""
    for op, name in (("Mul", "weight"), ("Add", "bias")):
        if name in weights:
            shape = (weights[name].shape[0], *(1,) * (x.rank - 2))
            x = nodes.real(op, x, nodes.reshape(weights[name], shape))
    return x


def _batch_norm(nodes: Nodes, layer: Settings, weights: Weights, x: Tensor) -> Tensor:
    dims = [dim for dim in range(x.rank) if dim != 1]
    return _by_channel(nodes, weights, _standardised(nodes, x, dims, layer.eps))


def _group_norm(nodes: Nodes, layer: Settings, weights: Weights, x: Tensor) -> Tensor:
    members = layer.num_channels // layer.num_groups * math.prod(x.shape[2:])
    parts = nodes.reshape(x, (x.shape[0], layer.num_groups, members))
    found = nodes.reshape(_standardised(nodes, parts, [-1], layer.eps), x.shape)
    return _by_channel(nodes, weights, found)


LAYERS: Mapping[str, LayerWriter] = {
    **{f"BatchNorm{n}d": _batch_norm for n in (1, 2, 3)},
    **{f"Conv{n}d": _in_batch(_convolution) for n in (1, 2, 3)},
    **{f"ConvTranspose{n}d": _in_batch(_transposed) for n in (1, 2, 3)},
    "GroupNorm": _group_norm,
    "LayerNorm": _layer_norm,
    "Linear": _linear,
    "RMSNorm": _rms_norm,
    "Dropout": lambda nodes, layer, weights, x: x,
}
