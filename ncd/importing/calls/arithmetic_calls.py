"""Reads sums, products and comparisons of arrays and numbers."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

from ncd.importing.base.atoms import Dim, leaves
from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import Handler, Operand, Value
from ncd.importing.calls.formulas import broadcast, explicit, mapped, number, truth
from ncd.importing.calls.mask_calls import scalar_of, with_constant_mask
from ncd.ops import Scale

SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**"}


FULL = {"subtract": "sub", "multiply": "mul", "divide": "div", "true_divide": "div"}


COMPARED = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def binary(name: str, g: Builder, one: Any, two: Any, alpha: float = 1, **more: Any) -> Value:
    """Adds a sum, difference, product, quotient or power of arrays and numbers."""
    sign = SIGNS[name]
    if more.get("rounding_mode") is not None:
        return left(ROUNDED[more["rounding_mode"]], g, one, two)
    plain = [isinstance(x, int | float) for x in (one, two)]
    if plain[1] and name in ("mul", "div"):
        return scaled(g, one, two if name == "mul" else 1 / two)
    if plain[0] and name == "mul":
        return scaled(g, two, one)
    if plain[1]:
        amount = two * alpha
        if name in ("add", "sub") and amount == 0:
            return g.value(one)
        return mapped(g, one, f"$1 {sign} {number(amount)}")
    if plain[0]:
        return mapped(g, two, f"{number(one)} {sign} $1")
    if alpha != 1:
        return broadcast(g, one, two, f"$1 {sign} {number(alpha)} * $2")
    if name == "add" and (masked := with_constant_mask(g, one, two)) is not None:
        return masked
    scalar = scalar_of(two)
    if scalar is not None:
        return binary(name, g, one, scalar)
    return broadcast(g, one, two, f"$1 {sign} $2")


def scaled(g: Builder, x: Operand, factor: float) -> Value:
    """Multiplies by a number: 1 / √k is written as a power of the size of k."""
    value = g.value(x)
    for atoms in (g.summed.get(value.slot, ()), value.dims[-1] if value.dims else ()):
        found = leaves(atoms)
        root = len(found) == 1 and not found[0].group and found[0].size > 1
        if root and math.isclose(factor, found[0].size ** -0.5, rel_tol=1e-7):
            return _rooted(g, value, found)
    return mapped(g, value, f"$1 * {number(factor)}") if factor != 1 else value


def _rooted(g: Builder, x: Value, atoms: Dim) -> Value:
    atoms[0].sealed = True
    return g.each(lambda axes, arrays: Scale(axes(atoms)), x)


def rsub(g: Builder, one: Any, two: Any, alpha: float = 1) -> Value:
    return binary("sub", g, two, one, alpha=alpha) if alpha == 1 else g.refuse("rsub with alpha")


def compared(name: str, g: Builder, one: Any, two: Any) -> Value:
    """Adds a comparison; it gives a mask of whole numbers below 2."""
    if not isinstance(two, int | float):
        scalar = scalar_of(two)
        if scalar is None:
            return truth(g, one, two, f"$1 {COMPARED[name]} $2")
        two = scalar
    return as_mask(g, g.solid(g.value(one)), f"$1 {COMPARED[name]} {number(two)}")


def as_mask(g: Builder, x: Value, formula: str) -> Value:
    """Adds a formula that is 0 or 1."""
    return explicit(g, [g.solid(x)], x.dims, formula, kind="bool")


TESTED = {
    "isnan": "$1 != $1",
    "isinf": "abs($1) == inf",
    "isfinite": "abs($1) < inf",
    "isposinf": "$1 == inf",
    "isneginf": "$1 == -inf",
}
ROUNDED = {"floor": "floor($1 / $2)", "trunc": "sign($1 / $2) * floor(abs($1 / $2))"}
LEFT = {
    "fmod": f"$1 - {ROUNDED['trunc']} * $2",
    "remainder": f"$1 - {ROUNDED['floor']} * $2",
}


def tested(name: str, g: Builder, x: Operand) -> Value:
    """Adds a mask of the numbers of one kind, such as those that are infinite."""
    return as_mask(g, g.solid(g.value(x)), TESTED[name])


def left(formula: str, g: Builder, one: Any, two: Any) -> Value:
    """Adds a quotient of whole numbers, or what it leaves; of real ones rounding decides it."""
    values = [g.value(x) for x in (one, two) if not isinstance(x, int | float)]
    if any(value.slot.kind == "real" for value in values) or isinstance(one, int | float):
        g.refuse("a rounded quotient of real numbers")
    if isinstance(two, int | float):
        return mapped(g, one, formula.replace("$2", number(two)))
    return broadcast(g, one, two, formula)


LOGIC = {"and": "min($1, $2)", "or": "max($1, $2)", "xor": "$1 != $2"}


def logical(name: str, g: Builder, one: Operand, two: Any = None) -> Value:
    """Adds a mask computed from one or two other masks."""
    values = [g.value(x) for x in ((one,) if name == "not" else (one, two))]
    if any(value.slot.kind != "bool" for value in values):
        g.refuse("bits of whole numbers")
    if name == "not":
        return as_mask(g, values[0], "1 - $1")
    return truth(g, values[0], values[1], LOGIC[name])


def limit(name: str, g: Builder, one: Operand, two: Operand) -> Value:
    """Adds the elementwise maximum or minimum."""
    return broadcast(g, one, two, f"{name}($1, $2)")


CALLS: dict[str, Handler] = {
    **{name: partial(binary, name) for name in SIGNS},
    **{name: partial(compared, name) for name in COMPARED},
    **{f"logical_{name}": partial(logical, name) for name in (*LOGIC, "not")},
    "maximum": partial(limit, "max"),
    "minimum": partial(limit, "min"),
    **{name: partial(tested, name) for name in TESTED},
    **{name: partial(left, formula) for name, formula in LEFT.items()},
    "hypot": lambda g, one, two: broadcast(g, one, two, "sqrt($1 ** 2 + $2 ** 2)"),
    "rsub": rsub,
    **{full: partial(binary, name) for full, name in FULL.items()},
}
