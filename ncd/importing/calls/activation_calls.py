"""Reads functions of one number, such as activations, and dropout."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from ncd.importing.base.atoms import size
from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import Constant, Handler, Operand, Value
from ncd.importing.calls.formulas import broadcast, mapped, number
from ncd.lang.formulas.elementwise_functions import ELEMENTWISE
from ncd.ops import Dropout, Elementwise

# Those that take nothing but the array, in torch as in formulas.
NAMED = tuple(name for name in ELEMENTWISE if name not in ("elu", "gelu", "softplus"))
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
    "log2": "log($1) / log(2)",
    "log10": "log($1) / log(10)",
    "exp2": "exp($1 * log(2))",
    "expm1": "exp($1) - 1",
    "sinh": "(exp($1) - exp(-$1)) / 2",
    "cosh": "(exp($1) + exp(-$1)) / 2",
    "erfc": "1 - erf($1)",
    "trunc": "sign($1) * floor(abs($1))",
    "frac": "$1 - sign($1) * floor(abs($1))",
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
    if beta == 1 and threshold >= 20:
        return unary_named(g, x, "softplus")
    wide = f"$1 * {number(beta)}"
    curve = f"softplus({wide}) / {number(beta)}"
    return mapped(g, x, f"where({wide} > {number(threshold)}, $1, {curve})", "softplus")


NEAREST = "where($1 - floor($1) == 1 / 2, 2 * floor($1 / 2 + 1 / 2), floor($1 + 1 / 2))"


def rounded(g: Builder, x: Operand, *, decimals: int = 0) -> Value:
    """Adds the nearest whole number, the even one of two; or as many digits behind the point."""
    if not decimals:
        return mapped(g, x, NEAREST, "round")
    moved = mapped(g, x, f"$1 * {number(10.0**decimals)}")
    return mapped(g, mapped(g, moved, NEAREST, "round"), f"$1 / {number(10.0**decimals)}")


def clamp(g: Builder, x: Operand, min: Any = None, max: Any = None) -> Value:
    if isinstance(min, Value | Constant) or isinstance(max, Value | Constant):
        found = g.value(x)
        for name, limit in (("max", min), ("min", max)):
            if isinstance(limit, Value | Constant):
                found = broadcast(g, found, limit, f"{name}($1, $2)", "clamp")
        return found
    if min is not None and max is not None:
        return mapped(g, x, f"clamp($1, {number(min)}, {number(max)})", "clamp")
    formula = f"min($1, {number(max)})" if min is None else f"max($1, {number(min)})"
    return mapped(g, x, formula, "clamp")


def dropout(g: Builder, x: Operand, p: float, train: bool) -> Value:
    x = g.value(x)
    if not train or p == 0:
        return x
    return g.each(lambda axes, arrays: Dropout(p), x)


def prelu(g: Builder, x: Operand, slope: Any) -> Value:
    """Adds a function whose slope below 0 is learned, for all numbers or for each channel."""
    row = g.value(slope)
    one = not row.dims or size(row.dims[0]) == 1
    column = Value(() if one else (*row.dims, *((),) * (len(g.shape) - 2)), row.slot)
    return broadcast(g, x, column, "max($1, 0) + $2 * min($1, 0)", "prelu")


def leaky_at_random(
    g: Builder, x: Operand, low: float = 1 / 8, high: float = 1 / 3, train: bool = False, *more: Any
) -> Value:
    if train:
        g.refuse("slopes that are drawn at random")
    return mapped(g, x, f"max($1, 0) + {number((low + high) / 2)} * min($1, 0)", "rrelu")


def kept(g: Builder, x: Operand, p: float, train: bool) -> Value:
    """Returns what a dropout of another kind leaves as it is."""
    if train and p:
        g.refuse("numbers that are drawn at random")
    return g.value(x)


CALLS: dict[str, Handler] = {
    **{name: partial(unary, name) for name in (*NAMED, *WRITTEN)},
    **dict.fromkeys(("dropout", "feature_dropout"), dropout),
    **dict.fromkeys(("alpha_dropout", "feature_alpha_dropout"), kept),
    **dict.fromkeys(("clamp", "clamp_min", "clip"), clamp),
    "clamp_max": lambda g, x, max: clamp(g, x, None, max),
    **dict.fromkeys(("prelu", "_prelu_kernel"), prelu),
    "round": rounded,
    "rrelu": leaky_at_random,
    "gelu": gelu,
    "softplus": softplus,
}
