"""Reads a function of torch that a graph writes out as that function's op."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from torch import fx

from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import Constant, Value
from ncd.importing.calls.activation_calls import gelu, unary_named
from ncd.importing.calls.norm_calls import layer_norm, rms_norm
from ncd.importing.calls.reduction_calls import softmax
from ncd.importing.idioms.idiom_search import Idiom

Norm = Callable[..., Value]


def read_idiom(g: Builder, idiom: Idiom, env: Mapping[fx.Node, Any]) -> Value:
    """Adds the op of a function that a graph writes out; raises CannotImport if it has none.

    Args:
        g: The record of the import, at the function's last node.
        idiom: The function.
        env: The results of nodes so far.
    """
    x = g.value(env[idiom.x])
    match idiom.name:
        case "gelu tanh":
            return gelu(g, x, approximate="tanh")
        case "softmax":
            return softmax(g, x, *idiom.dims)
        case "layer norm":
            return _norm(g, layer_norm, idiom, x, env)
        case "rms norm":
            return _norm(g, rms_norm, idiom, x, env)
    return unary_named(g, x, idiom.name)


def _norm(g: Builder, norm: Norm, idiom: Idiom, x: Value, env: Mapping[fx.Node, Any]) -> Value:
    """Adds a norm along any dimensions; torch's own are along the last."""
    others = [i for i in range(len(x.dims)) if i not in idiom.dims]
    order = [*others, *idiom.dims]
    shape = [x.shape[i] for i in idiom.dims]
    rows = (env[idiom.learned[name]] for name in ("w", "b") if name in idiom.learned)
    turned = Value(tuple(x.dims[i] for i in order), x.slot)
    found = norm(g, turned, shape, *(_row(row, shape) for row in rows), eps=idiom.eps)
    back = [order.index(i) for i in range(len(order))]
    return Value(tuple(found.dims[i] for i in back), found.slot)


def _row(row: Constant, shape: list[int]) -> Constant:
    """Returns a parameter without its dimensions of size 1."""
    if [*row.tensor.shape] == shape:
        return row
    return Constant(row.tensor.reshape(shape), row.name, rows=row.rows)
