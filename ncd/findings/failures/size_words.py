"""Sizes in words, with the places in the text that they come from."""

from __future__ import annotations

import sys
from typing import Any

import sympy
from torch import Tensor, nn

from ncd.findings.failures.failure import Failure, flattened, source_of
from ncd.findings.reading.traced_numbers import Place

FRONT = Place(0, 0, 0, 0)  # before all others
AXES = {
    2: ("batch", "channels"),
    3: ("batch", "channels", "length"),
    4: ("batch", "channels", "height", "width"),
    5: ("batch", "channels", "depth", "height", "width"),
}


def shape_words(sizes: tuple[int, ...]) -> str:
    """Returns a shape in words.

    >>> shape_words((2, 3)), shape_words(())
    ('2 × 3', 'a single number')
    """
    return " × ".join(map(str, sizes)) or "a single number"


def size_words(failure: Failure, expr: Any, noun: str = "") -> str:
    """Returns a size with its origin: ``10 channels (hidden_units, line 4)``."""
    table = failure.trace.table
    while expr in table.windows:
        expr = table.windows[expr]
    value = f"{table.value(expr)} {noun}".strip()
    if expr in table.places:
        place = table.places[expr]
        if place.is_input:
            where = f"line {place.line}" if place.line else "which is assumed"
            return f"{value} (the {place.name or 'size'} of the input, {where})"
        name = f"{place.name}, " if place.name else ""
        return f"{value} ({name}line {place.line})"
    if getattr(expr, "is_Mul", False) and all(a.is_Symbol or a.is_Integer for a in expr.args):
        parts = [part_words(failure, part) for part in _ordered(failure, expr)]
        return f"{value} ({' · '.join(parts)})"
    names = sorted({(table.places[s].line, table.places[s].name) for s in table.numbers(expr)})
    words = [f"{name}, line {line}" if name else f"line {line}" for line, name in names if line]
    return f"{value} (from {'; '.join(words[:2])})" if 0 < len(words) <= 2 else str(value)


def _ordered(failure: Failure, product: Any) -> list[Any]:
    places = failure.trace.table.places
    return sorted(product.args, key=lambda one: (places.get(one, FRONT), str(one)))


def part_words(failure: Failure, expr: Any) -> str:
    """Returns a factor of a size: its name if it has one, and its value."""
    place = failure.trace.table.places.get(expr)
    value = str(failure.value(expr))
    return f"{place.name} {value}" if place is not None and place.name else value


def features_words(failure: Failure, array: Tensor) -> str:
    """Returns the last axis of an array: ``490 features: 10 channels · 7 · 7, flattened …``."""
    expr = failure.trace.recorder.shape(array)[-1]
    flat = flattened(failure, array)
    if flat is None:
        return size_words(failure, expr, "features")
    sizes, call = flat
    named = [str(n) for n in sizes]
    if len(call.shapes[0]) in (3, 4, 5) and len(sizes) == len(call.shapes[0]) - 1:
        named[0] += " channels"
    line = getattr(call.node, "lineno", 0)
    by = f"`{source_of(failure.trace.text, call.node, 40)}` on line {line}"
    if call.layer is not None and isinstance(call.layer.module, nn.Flatten):
        by = "the Flatten before it"
    return f"{failure.value(expr)} features: {' · '.join(named)}, flattened by {by}"


def equation(failure: Failure) -> tuple[str, Any, Any] | None:
    """Returns what had to hold: ``equal``, ``divisible`` or ``at most``, and both sides."""
    test = failure.test
    if test is None:
        return None
    expr, holds = test.expr, test.holds
    if isinstance(expr, sympy.Or):
        expr, holds = expr.args[-1], False
    if isinstance(expr, sympy.Ne):
        expr, holds = sympy.Eq(*expr.args, evaluate=False), not holds
    if isinstance(expr, sympy.Eq) and not holds:
        a, b = expr.args
        for one, other in ((a, b), (b, a)):
            if type(one).__name__ in ("Mod", "PythonMod") and other == 0:
                return "divisible", one.args[0], one.args[1]
            if (parts := _rounded(one)) is not None and parts[0] == other:
                return "divisible", *parts
        return ("equal", *_cancelled(a, b))
    less = {"StrictLessThan": (0, 1), "LessThan": (0, 1), "StrictGreaterThan": (1, 0)}
    order = less.get(type(expr).__name__)
    if order is not None and len(expr.args) == 2:
        small, large = (expr.args[i] for i in order)
        return ("at most", large, small) if holds else ("at most", small, large)
    return None


def _rounded(expr: Any) -> tuple[Any, Any] | None:
    """Returns the number and the divisor of ``width // heads * heads``."""
    if not expr.is_Mul or len(expr.args) != 2:
        return None
    for one, other in (expr.args, expr.args[::-1]):
        if type(one).__name__ == "FloorDiv" and one.args[1] == other:
            return one.args[0], other
    return None


def _cancelled(a: Any, b: Any) -> tuple[Any, Any]:
    """Returns both sides of an equation without the factors that they share."""
    if a.is_Mul or b.is_Mul:
        left, right = set(sympy.Mul.make_args(a)), set(sympy.Mul.make_args(b))
        shared = {one for one in left & right if not one.is_number}
        if shared and left - shared and right - shared:
            return sympy.Mul(*(left - shared)), sympy.Mul(*(right - shared))
    return a, b


def equation_words(failure: Failure) -> str:
    """Returns what does not hold, in words; empty if no test of sizes says it."""
    found = equation(failure)
    if found is None:
        return ""
    kind, a, b = found
    left, right = size_words(failure, a), size_words(failure, b)
    values = failure.value(a), failure.value(b)
    if values[0] == values[1] or max(values) >= sys.maxsize:
        return ""  # torch itself asks whether a number fits into 64 bits
    if kind == "divisible":
        return f"{left} is not divisible by {right}"
    return (
        f"{left} and {right} must be equal" if kind == "equal" else f"{left} is more than {right}"
    )
