"""The functions of formulas on plain numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

PLAIN: Mapping[str, Callable[[float], int | float]] = {
    "abs": abs,
    "ceil": math.ceil,
    "cos": math.cos,
    "elu": lambda x: x if x > 0 else math.expm1(x),
    "erf": math.erf,
    "exp": math.exp,
    "floor": math.floor,
    "gelu": lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))),
    "log": math.log,
    "relu": lambda x: max(x, 0),
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sigmoid": lambda x: 0.5 + 0.5 * math.tanh(x / 2),
    "sign": lambda x: (x > 0) - (x < 0),
    "silu": lambda x: x * (0.5 + 0.5 * math.tanh(x / 2)),
    "sin": math.sin,
    "softplus": lambda x: max(x, 0) + math.log1p(math.exp(-abs(x))),
    "sqrt": math.sqrt,
    "tanh": math.tanh,
}
