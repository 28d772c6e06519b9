"""The arithmetic with which torch's layers make one number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ncd.lang.formulas.expr import Group
from ncd.lang.types.axes import Dim
from ncd.run.explain.arithmetic_kinds import (
    MOST,
    How,
    Normed,
    Numbers,
    Products,
    Span,
    Spans,
    exact,
    ravelled,
    whole,
    windowed,
)

Place = tuple[int, ...]


def _linear(layer: nn.Linear, x: Tensor, groups: tuple[Group, ...], index: Place) -> Products:
    *lead, out = index
    factors = Numbers(0, exact(x[tuple(lead)])), Numbers("weight", exact(layer.weight[out]))
    return Products(whole(groups[-1]), factors, _one(layer.bias, out))


def _conv(layer: Any, x: Tensor, groups: tuple[Group, ...], index: Place) -> Products:
    n = len(layer.kernel_size)
    lead, out, at = index[: -n - 1], index[-n - 1], index[-n:]
    few = layer.in_channels // layer.groups
    channels = _channels(groups[-n - 1], layer.groups, out * layer.groups // layer.out_channels)
    first = ravelled([s.first for s in channels], [s.dim.size for s in channels])
    setting = zip(groups[-n:], at, layer.stride, layer.padding, strict=True)
    window = tuple(
        Span(dim, layer.kernel_size[i], place * stride - pad, layer.dilation[i])
        for i, ((dim,), place, stride, pad) in enumerate(setting)
    )
    numbers = windowed(x[lead].narrow(0, first, few), window, 0.0)
    factors = Numbers(0, numbers), Numbers("weight", exact(layer.weight[out]).flatten())
    return Products((*channels, *window), factors, _one(layer.bias, out), n)


def _channels(dims: Group, parts: int, part: int) -> Spans:
    """Returns the channels of one group, by their own dimensions if possible."""
    if parts == 1:
        return whole(dims)
    if dims[0].size % parts:
        dims = (Dim("·".join(dim.name for dim in dims), 0, math.prod(dim.size for dim in dims)),)
    count = dims[0].size // parts
    return Span(dims[0], count, part * count), *whole(dims[1:])


def _turned(layer: Any, x: Tensor, groups: tuple[Group, ...], index: Place) -> Products:
    """Returns a transposed convolution: the numbers whose windows reach this place."""
    n = len(layer.kernel_size)
    lead, out, at = index[: -n - 1], index[-n - 1], index[-n:]
    window, taps = [], []
    for i, (dim,) in enumerate(groups[-n:]):
        place, stride = at[i] + layer.padding[i], layer.stride[i]
        first = max(0, -(-(place - layer.kernel_size[i] + 1) // stride))
        last = min(dim.size - 1, place // stride)
        window.append(Span(dim, max(0, last - first + 1), first))
        taps.append(torch.tensor([place - stride * j for j in window[-1].positions]).long())
    weight = exact(layer.weight[:, out])
    for i, tap in enumerate(taps):
        weight = weight.index_select(i + 1, tap)
    factors = Numbers(0, windowed(x[lead], tuple(window), 0.0)), Numbers("weight", weight.flatten())
    spans = (*whole(groups[-n - 1]), *window)
    return Products(spans, factors, _one(layer.bias, out), n)


def _layer_norm(layer: Any, x: Tensor, groups: tuple[Group, ...], index: Place) -> Normed:
    """Returns layer norm, or root-mean-square norm, which has no mean."""
    n = len(layer.normalized_shape)
    lead, own = index[: len(index) - n], index[len(index) - n :]
    spans = tuple(span for group in groups[-n:] for span in whole(group))
    numbers = exact(x[lead]).flatten()
    centred = isinstance(layer, nn.LayerNorm)
    mean = float(numbers.mean()) if centred else None
    variance = float((numbers - (mean or 0.0)).square().mean())
    at = ravelled(own, layer.normalized_shape)
    weight, bias = (_one(getattr(layer, name, None), own) for name in ("weight", "bias"))
    return Normed(spans, numbers, at, mean, variance, layer.eps, weight, bias)


def _batch_norm(layer: Any, x: Tensor, groups: tuple[Group, ...], index: Place) -> Normed | None:
    b, c, *rest = index
    channel = x[:, c]
    if channel.numel() > MOST:
        return None
    spans = tuple(s for i, group in enumerate(groups) if i != 1 for s in whole(group))
    numbers = exact(channel).flatten()
    kept = not layer.training
    mean, variance = numbers.mean(), numbers.var(correction=0)
    if kept:
        mean, variance = layer.running_mean[c], layer.running_var[c]
    at = ravelled((b, *rest), channel.shape)
    weight, bias = _one(layer.weight, c), _one(layer.bias, c)
    return Normed(spans, numbers, at, float(mean), float(variance), layer.eps, weight, bias, kept)


def _one(x: Tensor | None, index: int | Place) -> float | None:
    """Returns a number of a parameter, or None if the layer lacks it."""
    return None if x is None else float(x.detach()[index])


LAYERS: Mapping[str, Callable[..., How | None]] = {
    "BatchNorm": _batch_norm,
    "Conv": _conv,
    "ConvTranspose": _turned,
    "LayerNorm": _layer_norm,
    "Linear": _linear,
    "RMSNorm": _layer_norm,
}
