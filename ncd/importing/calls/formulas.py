"""Elementwise formulas of one or two arrays, broadcast as torch does."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ncd.importing.base.atoms import Atom, Dim, every, leaves, size
from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import Axes, Kind, Operand, Value
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
    if math.isnan(value):
        return "(inf - inf)"
    if math.isinf(value):
        return "inf" if value > 0 else "(-inf)"
    if abs(value) >= 2**53:  # too large for a whole number: with an exponent, or a point
        return repr(float(value)) if value > 0 else f"({float(value)!r})"
    if abs(value) >= 1e15:
        return f"{value:.17g}" if value > 0 else f"(-{-value:.17g})"
    text = repr(int(value)) if float(value).is_integer() else repr(float(value))
    return f"({text})" if value < 0 else text


def mapped(g: Builder, x: Operand, formula: str, title: str = "") -> Value:
    """Adds a formula of one array."""
    x = g.value(x)
    if x.slot.kind != "real":
        return explicit(g, [x], x.dims, formula, title, g.kind)
    return g.each(lambda axes, arrays: Map(SCALAR, parse(formula), title), x)


def as_real(g: Builder, x: Operand) -> Value:
    """Returns whole numbers as real ones."""
    x = g.value(x)
    return x if x.slot.kind == "real" else explicit(g, [g.solid(x)], x.dims, "$1")


def explicit(
    g: Builder,
    values: Sequence[Value],
    dims: tuple[Dim, ...],
    formula: str,
    title: str = "",
    kind: Kind = "real",
    below: Atom | None = None,
) -> Value:
    """Adds a formula whose pattern has every axis."""
    atoms, bound = every(dims), below or g.bound(kind)

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        wanted = Array(axes(atoms), axes((bound,))[0] if bound is not None else None)
        return full_formula(wanted, arrays, formula, title)

    return g.op(make, values, dims, kind=kind, below=bound)


def full_formula(wanted: Array, arrays: Sequence[Array], formula: str, title: str) -> Term:
    """Returns a formula on every axis; the result has them in the order of the widest array."""
    return Map(Signature(Type(arrays), Type((_widest(wanted, arrays),))), parse(formula), title)


def _widest(wanted: Array, arrays: Sequence[Array]) -> Array:
    most = max(arrays, key=len)
    first = [axis for axis in most if axis.name in wanted.names]
    rest = (axis for axis in wanted if axis.name not in most.names)
    return wanted.with_axes((*rest, *first))


def truth(g: Builder, one: Operand, two: Operand, formula: str) -> Value:
    """Adds a formula of two arrays that is 0 or 1, as a mask."""
    x, y, dims = g.aligned(g.value(one), g.value(two))
    return explicit(g, [g.solid(x), g.solid(y)], dims, formula, kind="bool")


def broadcast(g: Builder, one: Operand, two: Operand, formula: str, title: str = "") -> Value:
    """Adds a formula of two arrays, broadcast as torch does."""
    x, y, dims = g.aligned(g.value(one), g.value(two))
    kinds = {x.slot.kind, y.slot.kind}
    held = {*leaves(x.slot.atoms), *leaves(y.slot.atoms)}
    atoms = tuple(atom for atom in every(dims) if atom in held)
    kind: Kind = "real" if "real" in kinds else g.kind
    below = g.bound(kind)

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        wanted = Array(axes(atoms), axes((below,))[0] if below is not None else None)

        def short() -> Term:
            pair = Signature.parse("(), () -> ()")
            return Add() if formula == "$1 + $2" else Map(pair, parse(formula), title)

        def full() -> Term:
            return full_formula(wanted, arrays, formula, title)

        order = _widest(wanted, arrays)
        return first_that_fits(arrays, order, *((short, full) if kinds == {"real"} else (full,)))

    slot = g.slot((atoms,), kind, below)
    g.step(make, [x, y], [slot], also=every(dims))
    return Value(dims, slot)


def bounded(g: Builder, places: Value, bound: Atom) -> Value:
    """Returns whole numbers that are below the size of an axis."""
    below = places.slot.below
    if below is None or leaves((below,)) == leaves((bound,)):
        return places
    (root,) = leaves((below,))
    if root.hint == bound.hint == "bit":
        return places
    if root.hint in ("bound", "whole") and _lowered(root, bound):
        return places
    return explicit(g, [places], places.dims, "$1", kind="whole", below=bound)


def _lowered(one: Atom, two: Atom) -> bool:
    """Replaces the bound of constant positions by that of a table, if they fit; or a vague one."""
    if (one.hint == "bound" and one.size > two.size) or one.places & two.places:
        return False
    one.same = two
    two.places |= one.places
    return True


def of_one_kind(g: Builder, values: Sequence[Value]) -> list[Value]:
    """Returns values of the same kind of numbers: real ones, or below the same bound."""
    below = [value.slot.below for value in values]
    if None in below:
        return [as_real(g, value) for value in values]
    most = max((one for one in below if one is not None), key=lambda one: size((one,)))
    return [bounded(g, value, most) for value in values]
