"""The functions that are recognised where a module writes them out, as formulas of ``x``."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache

from ncd.importing.idioms.forms import Form, named

CENTRED = "(x - mean(x)) / sqrt(mean((x - mean(x)) ** 2) + eps)"
# The function of torch, by what it computes. ``w`` and ``b`` are learned, ``eps`` is a number;
# ``mean``, ``total`` and ``largest`` are along some dimensions, and keep these.
PATTERNS: tuple[tuple[str, str], ...] = (
    ("silu", "x * sigmoid(x)"),
    ("silu", "x / (1 + exp(-x))"),
    ("sigmoid", "1 / (1 + exp(-x))"),
    ("gelu", "x / 2 * (1 + erf(x / 2 ** 0.5))"),
    ("gelu tanh", "x / 2 * (1 + tanh((2 / pi) ** 0.5 * (x + 0.044715 * x ** 3)))"),
    ("gelu tanh", "x / 2 * (1 + tanh((2 / pi) ** 0.5 * x * (1 + 0.044715 * x ** 2)))"),
    ("softmax", "exp(x) / total(exp(x))"),
    ("softmax", "exp(x - largest(x)) / total(exp(x - largest(x)))"),
    ("layer norm", f"{CENTRED} * w + b"),
    ("layer norm", f"{CENTRED} * w"),
    ("layer norm", CENTRED),
    ("rms norm", "x / sqrt(mean(x ** 2) + eps) * w"),
)
FUNCTIONS = ("erf", "exp", "largest", "sigmoid", "tanh", "total")
ANCHORS = ("erf", "exp", "pow", "rsqrt", "sigmoid", "sqrt", "tanh")  # one is in each of them


@dataclass(frozen=True)
class Pattern:
    """A function of torch with the normal form of what it computes."""

    name: str
    form: Form


@lru_cache(maxsize=64)
def patterns(count: int) -> tuple[Pattern, ...]:
    """Returns all patterns for means of ``count`` numbers.

    >>> [pattern.name for pattern in patterns(4)][:3]
    ['silu', 'silu', 'sigmoid']
    """
    return tuple(
        Pattern(name, _form(ast.parse(text, mode="eval").body, count)) for name, text in PATTERNS
    )


def function(name: str, form: Form) -> Form:
    """Returns a function of a form."""
    return named((name, form))


def mean(form: Form, count: int) -> Form:
    """Returns a mean as a sum over so many numbers."""
    return function("total", form).scaled(1 / count)


CONSTANTS: Mapping[str, float] = {"pi": 3.141592653589793}


def _form(node: ast.expr, count: int) -> Form:
    """Returns the normal form of a formula of the table."""
    match node:
        case ast.Constant(value=int() | float() as value):
            return Form(float(value))
        case ast.Name(id=name):
            return Form(CONSTANTS[name]) if name in CONSTANTS else named(name)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return _form(inner, count).scaled(-1.0)
        case ast.Call(func=ast.Name(id=name), args=[inner]):
            form = _form(inner, count)
            if name == "sqrt":
                return form**0.5
            return mean(form, count) if name == "mean" else function(name, form)
        case ast.BinOp(left=left, op=op, right=right):
            return _joined(_form(left, count), op, _form(right, count))
    raise AssertionError(ast.unparse(node))


def _joined(one: Form, op: ast.operator, two: Form) -> Form:
    match op:
        case ast.Add():
            return one + two
        case ast.Sub():
            return one + two.scaled(-1.0)
        case ast.Mult():
            return one * two
        case ast.Div():
            return one * two**-1
        case _:
            return one**two.number
