"""What a formula means at one position, number by number."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ncd.formulas.formula import Formula, Name, Number, Operand


def sigmoid(v: Any) -> Any:
    return 1 / (1 + np.exp(-v))


def gelu(v: float) -> float:
    return v * (1 + math.erf(v / math.sqrt(2))) / 2


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "abs": abs,
    "ceil": np.ceil,
    "cos": np.cos,
    "elu": lambda v: v if v > 0 or v != v else np.expm1(v),
    "erf": math.erf,
    "exp": np.exp,
    "expm1": np.expm1,
    "floor": np.floor,
    "gelu": gelu,
    "log": np.log,
    "log1p": np.log1p,
    "relu": lambda v: v if v > 0 or v != v else 0.0,
    "rsqrt": lambda v: 1 / np.sqrt(v),
    "sigmoid": sigmoid,
    "sign": np.sign,
    "silu": lambda v: v * sigmoid(v),
    "sin": np.sin,
    "softplus": lambda v: np.logaddexp(v, 0.0),
    "sqrt": np.sqrt,
    "tanh": np.tanh,
    "min": np.minimum,
    "max": np.maximum,
    "clamp": lambda v, low, high: np.minimum(np.maximum(v, low), high),
    "where": lambda test, yes, no: yes if test else no,
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: np.float64(a) / np.float64(b),
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: np.float64(a) ** np.float64(b),
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "and": lambda a, b: bool(a) and bool(b),
    "or": lambda a, b: bool(a) or bool(b),
    "not": lambda a: not a,
}


def value(formula: Formula, operands: list[float], names: Mapping[str, float]) -> Any:
    """A formula at one position."""
    if isinstance(formula, Number):
        return np.float64(formula.value)
    if isinstance(formula, Operand):
        return operands[formula.number - 1]
    if isinstance(formula, Name):
        return names[formula.text]
    parts = [value(part, operands, names) for part in formula.parts]
    if formula.operation == "-":
        return -np.float64(parts[0]) if len(parts) == 1 else np.float64(parts[0]) - parts[1]
    return FUNCTIONS[formula.operation](
        *(p if isinstance(p, bool) else np.float64(p) for p in parts)
    )
