"""The functions of one number that formulas know, a row of one table for each.

Whatever reads formulas reads this table: the parser, derivatives, LaTeX, generated torch code, the
values at plain numbers and on tensors, ONNX, the importer, ``Elementwise``. A new one is a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class ElementwiseFunction:
    """A function of one number.

    Attributes:
        of_number: Its value at a plain number.
        derivative: The formula of its derivative, of the number ``$1`` and the result ``$2``; 0
            where it is constant between jumps.
        torch: Its name in torch.
        onnx: The ONNX operator that computes it; empty where it takes several.
        latex: A pattern of its argument; by default its name and the argument in brackets.
        keeps_whole: Whether whole numbers stay whole.
    """

    of_number: Callable[[float], int | float]
    derivative: str
    torch: str
    onnx: str = ""
    latex: str = ""
    keeps_whole: bool = False

    @property
    def is_in_math(self) -> bool:
        """Whether Python's module ``math`` has it, under the same name."""
        return self.of_number is getattr(math, self.torch.rpartition(".")[2], None)


ELEMENTWISE: Mapping[str, ElementwiseFunction] = {
    "abs": ElementwiseFunction(
        abs, "sign($1)", "torch.abs", "Abs", r"\left|{}\right|", keeps_whole=True
    ),
    "ceil": ElementwiseFunction(
        math.ceil, "0", "torch.ceil", "Ceil", r"\lceil {} \rceil", keeps_whole=True
    ),
    "cos": ElementwiseFunction(math.cos, "-sin($1)", "torch.cos", "Cos"),
    "elu": ElementwiseFunction(
        lambda x: x if x > 0 else math.expm1(x), "where($1 < 0, $2 + 1, 1)", "F.elu", "Elu"
    ),
    "erf": ElementwiseFunction(
        math.erf, f"{2 / math.sqrt(math.pi)} * exp(-$1 ** 2)", "torch.erf", "Erf"
    ),
    "exp": ElementwiseFunction(math.exp, "$2", "torch.exp", "Exp", "e^{{{}}}"),
    "expm1": ElementwiseFunction(math.expm1, "$2 + 1", "torch.expm1", latex="e^{{{}}} - 1"),
    "floor": ElementwiseFunction(
        math.floor, "0", "torch.floor", "Floor", r"\lfloor {} \rfloor", keeps_whole=True
    ),
    "gelu": ElementwiseFunction(
        lambda x: x * 0.5 * (1 + math.erf(x / math.sqrt(2))),
        "0.5 * (1 + erf($1 / sqrt(2))) + 0.3989422804014327 * $1 * exp(-$1 ** 2 / 2)",
        "F.gelu",
        latex=r"{0}\,\Phi({0})",
    ),
    "log": ElementwiseFunction(math.log, "1 / $1", "torch.log", "Log"),
    "log1p": ElementwiseFunction(math.log1p, "1 / (1 + $1)", "torch.log1p", latex=r"\log(1 + {})"),
    "relu": ElementwiseFunction(lambda x: max(x, 0), "$1 > 0", "F.relu", "Relu", r"\max({}, 0)"),
    "rsqrt": ElementwiseFunction(
        lambda x: 1 / math.sqrt(x),
        "-0.5 * $2 ** 3",
        "torch.rsqrt",
        latex=r"\frac{{1}}{{\sqrt{{{}}}}}",
    ),
    "sigmoid": ElementwiseFunction(
        lambda x: 0.5 + 0.5 * math.tanh(x / 2),
        "$2 * (1 - $2)",
        "torch.sigmoid",
        "Sigmoid",
        r"\sigma({})",
    ),
    "sign": ElementwiseFunction(
        lambda x: (x > 0) - (x < 0), "0", "torch.sign", "Sign", keeps_whole=True
    ),
    "silu": ElementwiseFunction(
        lambda x: x * (0.5 + 0.5 * math.tanh(x / 2)),
        "sigmoid($1) * (1 + $1 * (1 - sigmoid($1)))",
        "F.silu",
        latex=r"{0}\,\sigma({0})",
    ),
    "sin": ElementwiseFunction(math.sin, "cos($1)", "torch.sin", "Sin"),
    "softplus": ElementwiseFunction(
        lambda x: max(x, 0) + math.log1p(math.exp(-abs(x))),
        "sigmoid($1)",
        "F.softplus",
        "Softplus",
    ),
    "sqrt": ElementwiseFunction(math.sqrt, "0.5 / $2", "torch.sqrt", "Sqrt", r"\sqrt{{{}}}"),
    "tanh": ElementwiseFunction(math.tanh, "1 - $2 ** 2", "torch.tanh", "Tanh"),
}

# By the name of a function, what else it is called.
OTHER_NAMES: Mapping[str, str] = {
    "abs": "absolute fabs",
    "erf": "error_function",
    "log": "ln",
    "relu": "rectifier ramp",
    "sigmoid": "logistic expit",
    "sign": "sgn signum",
    "silu": "swish",
}


def function_called(name: str) -> str:
    """Returns the function that is called so elsewhere; empty if there is none.

    >>> function_called("swish"), function_called("ReLU"), function_called("cube")
    ('silu', 'relu', '')
    """
    wanted = name.lower()
    if wanted in ELEMENTWISE:
        return wanted
    return next((own for own, others in OTHER_NAMES.items() if wanted in others.split()), "")
