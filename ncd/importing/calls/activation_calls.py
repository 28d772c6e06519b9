"""Reads functions of one number, such as activations, and dropout."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import Constant, Handler, Operand, Value
from ncd.importing.calls.formulas import mapped, number
from ncd.ops import Dropout, Elementwise

NAMED = (
    *("abs", "ceil", "cos", "erf", "exp", "floor", "log", "relu"),
    *("rsqrt", "sigmoid", "sign", "silu", "sin", "sqrt", "tanh"),
)
WRITTEN: Mapping[str, str] = {
    "neg": "-$1",
    "reciprocal": "1 / $1",
    "square": "$1 ** 2",
    "relu6": "clamp($1, 0, 6)",
    "hardtanh": "clamp($1, {0}, {1})",
    "leaky_relu": "max($1, 0) + {0} * min($1, 0)",
    "elu": "where($1 > 0, $1, {0} * (exp(min($1, 0)) - 1))",
    "mish": "$1 * tanh(softplus($1))",
    "hardsigmoid": "clamp($1 / 6 + 1 / 2, 0, 1)",
    "hardswish": "$1 * clamp($1 / 6 + 1 / 2, 0, 1)",
    "log1p": "log(1 + $1)",
    "expm1": "exp($1) - 1",
    "log_sigmoid": "-softplus(-$1)",
}


USUAL: Mapping[str, tuple[float, ...]] = {
    "hardtanh": (-1.0, 1.0),
    "leaky_relu": (0.01,),
    "elu": (1.0,),
}


def unary(name: str, g: Builder, x: Operand, *settings: float) -> Value:
    if name == "elu" and any(n != 1 for n in settings[1:]):
        g.refuse("another elu")
    if name in NAMED or (name == "elu" and settings[:1] in ((), (1,))):
        x = g.value(x)
        if x.slot.kind != "real":
            return mapped(g, x, f"{name}($1)")
        return g.each(lambda axes, arrays: Elementwise(name), x)
    usual = USUAL.get(name, ())
    given = (*settings[: len(usual)], *usual[len(settings) :])
    title = "" if name in ("neg", "reciprocal", "square") else name.replace("_", " ")
    return mapped(g, x, WRITTEN[name].format(*map(number, given)), title)


def gelu(g: Builder, x: Operand, *, approximate: str = "none") -> Value:
    if approximate == "none":
        return unary_named(g, x, "gelu")
    cube = "$1 / 2 * (1 + tanh(0.7978845608028654 * ($1 + 0.044715 * $1 ** 3)))"
    return mapped(g, x, cube, "gelu")


def unary_named(g: Builder, x: Operand, name: str) -> Value:
    x = g.value(x)
    return g.each(lambda axes, arrays: Elementwise(name), x)


def softplus(g: Builder, x: Operand, beta: float = 1, threshold: float = 20) -> Value:
    if beta != 1 or threshold < 20:
        g.refuse("a softplus with another beta, or that soon becomes a line")
    return unary_named(g, x, "softplus")


def clamp(g: Builder, x: Operand, min: Any = None, max: Any = None) -> Value:
    if isinstance(min, Value | Constant) or isinstance(max, Value | Constant):
        g.refuse("limits that are arrays")
    if min is not None and max is not None:
        return mapped(g, x, f"clamp($1, {number(min)}, {number(max)})", "clamp")
    formula = f"min($1, {number(max)})" if min is None else f"max($1, {number(min)})"
    return mapped(g, x, formula, "clamp")


def dropout(g: Builder, x: Operand, p: float, train: bool) -> Value:
    x = g.value(x)
    if not train or p == 0:
        return x
    return g.each(lambda axes, arrays: Dropout(p), x)


CALLS: dict[str, Handler] = {
    **{name: partial(unary, name) for name in (*NAMED, *WRITTEN)},
    **dict.fromkeys(("dropout", "feature_dropout"), dropout),
    "clamp": clamp,
    "clamp_min": clamp,
    "gelu": gelu,
    "softplus": softplus,
}
