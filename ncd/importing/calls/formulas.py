"""Elementwise formulas of one or two arrays, broadcast as torch does."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ncd.importing.base.atoms import Atom, Dim, every, leaves
from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import Axes, Operand, Value
from ncd.importing.base.op_order import first_that_fits
from ncd.lang.formulas.formula import parse
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array, Signature, Type
from ncd.ops import Add, Map

SCALAR = Signature.parse("() -> ()")


def number(value: float) -> str:
    """Returns a number as a formula has it.

    >>> number(-0.5), number(-math.inf), number(2.0)
    ('(-0.5)', '(-inf)', '2')
    """
    if math.isinf(value):
        return "inf" if value > 0 else "(-inf)"
    if abs(value) >= 1e15:
        return f"{value:.17g}" if value > 0 else f"(-{-value:.17g})"
    text = repr(int(value)) if float(value).is_integer() else repr(float(value))
    return f"({text})" if value < 0 else text


def mapped(g: Builder, x: Operand, formula: str, title: str = "") -> Value:
    """Adds a formula of one array."""
    x = g.value(x)
    if x.slot.kind != "real":
        return explicit(g, [x], x.dims, formula, title)
    return g.each(lambda axes, arrays: Map(SCALAR, parse(formula), title), x)


def explicit(
    g: Builder, values: Sequence[Value], dims: tuple[Dim, ...], formula: str, title: str = ""
) -> Value:
    """Adds a formula whose pattern has every axis."""
    atoms = every(dims)

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        return full_formula(axes(atoms), arrays, formula, title)

    return g.op(make, values, dims)


def full_formula(wanted: Array, arrays: Sequence[Array], formula: str, title: str) -> Term:
    """Returns a formula on every axis; the result has them in the order of the widest array."""
    pattern = Signature(Type(arrays), Type((Array(_widest(wanted, arrays), wanted.below),)))
    return Map(pattern, parse(formula), title)


def _widest(wanted: Array, arrays: Sequence[Array]) -> Array:
    most = max(arrays, key=len)
    first = [axis for axis in most if axis.name in wanted.names]
    return Array((*(axis for axis in wanted if axis.name not in most.names), *first))


def truth(g: Builder, one: Operand, two: Operand, formula: str) -> Value:
    """Adds a formula of two arrays that is 0 or 1, as a mask."""
    x, y, dims = g.aligned(g.value(one), g.value(two))
    x, y = g.solid(x), g.solid(y)
    bound = Atom(2, "bit")

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        return full_formula(Array(axes(every(dims)), axes((bound,))[0]), arrays, formula, "")

    return g.op(make, [x, y], dims, kind="bool", below=bound)


def broadcast(g: Builder, one: Operand, two: Operand, formula: str, title: str = "") -> Value:
    """Adds a formula of two arrays, broadcast as torch does."""
    x, y, dims = g.aligned(g.value(one), g.value(two))
    real = x.slot.kind == y.slot.kind == "real"
    held = {*leaves(x.slot.atoms), *leaves(y.slot.atoms)}
    atoms = tuple(atom for atom in every(dims) if atom in held)

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        wanted = axes(atoms)

        def short() -> Term:
            pair = Signature.parse("(), () -> ()")
            return Add() if formula == "$1 + $2" else Map(pair, parse(formula), title)

        def full() -> Term:
            return full_formula(wanted, arrays, formula, title)

        order = _widest(wanted, arrays)
        return first_that_fits(arrays, order, *((short, full) if real else (full,)))

    slot = g.slot((atoms,))
    g.step(make, [x, y], [slot], also=every(dims))
    return Value(dims, slot)
