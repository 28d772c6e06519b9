"""The settings of a layer and the shapes of its weights, which may follow open sizes."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from ncd.lang.formulas.expr import Call
from ncd.onnx_model.nodes import Shape
from ncd.run.execution.evaluate import function, known

Settings = SimpleNamespace  # the arguments of a class of torch, by their names


def settings(call: Call) -> Settings:
    """Returns the arguments of a call, with the defaults of torch; windows as tuples.

    >>> from ncd.lang.formulas.expr import call
    >>> found = settings(call("nn.Conv2d", 3, 8, 5, padding=2))
    >>> found.kernel_size, found.stride, found.groups
    ((5, 5), (1, 1), 1)
    """
    kind = function(call.function)
    given = {name: _value(value) for name, value in call.kwargs}
    bound = inspect.signature(kind).bind(*map(_value, call.args), **given)
    bound.apply_defaults()
    found = Settings(**bound.arguments)
    if hasattr(found, "kernel_size"):
        for name in ("kernel_size", "stride", "padding", "dilation", "output_padding"):
            value = getattr(found, name, 0)
            spread = value if isinstance(value, tuple) else (value,) * int(call.function[-2])
            setattr(found, name, spread)
    if hasattr(found, "normalized_shape") and isinstance(found.normalized_shape, int):
        found.normalized_shape = (found.normalized_shape,)
    return found


def shapes(call: Call) -> Mapping[str, Shape]:
    """Returns the shapes of a layer's weight and bias.

    >>> from ncd.lang.formulas.expr import call
    >>> shapes(call("nn.Linear", 3, 4))
    {'weight': (4, 3), 'bias': (4,)}
    """
    kind = call.function.removeprefix("nn.").rstrip("123d")
    return _SHAPES[kind](settings(call)) if kind in _SHAPES else {}


def _value(expr: Any) -> Any:
    found = known(expr)
    assert found is not None, expr
    return found.value


def _convolution(found: Settings) -> Mapping[str, Shape]:
    weight = (found.out_channels, found.in_channels // found.groups, *found.kernel_size)
    return {"weight": weight, "bias": (found.out_channels,)}


def _transposed(found: Settings) -> Mapping[str, Shape]:
    weight = (found.in_channels, found.out_channels // found.groups, *found.kernel_size)
    return {"weight": weight, "bias": (found.out_channels,)}


_SHAPES: Mapping[str, Callable[[Settings], Mapping[str, Shape]]] = {
    "BatchNorm": lambda found: dict.fromkeys(("weight", "bias"), (found.num_features,)),
    "Conv": _convolution,
    "ConvTranspose": _transposed,
    "GroupNorm": lambda found: dict.fromkeys(("weight", "bias"), (found.num_channels,)),
    "LayerNorm": lambda found: dict.fromkeys(("weight", "bias"), found.normalized_shape),
    "Linear": lambda found: {
        "weight": (found.out_features, found.in_features),
        "bias": (found.out_features,),
    },
    "RMSNorm": lambda found: {"weight": found.normalized_shape},
}
