"""Writes the initial values of parameters, in torch."""

from __future__ import annotations

import math

from ncd.lang.formulas.expr import Call, Const, Expr, Infix, Position, Size, Tuple
from ncd.lang.terms.op import Initial
from ncd.lang.types.axes import Array, Axis
from ncd.ops.elementwise.formula_lowering import Part, constant, filled, lowered


def beginning(initial: Initial) -> Expr:
    """Returns a tensor of the parameter's shape, by its formula.

    >>> from ncd.lang.formulas.formula import parse
    >>> beginning(Initial(Array.parse("v:3"), parse("normal"))).function
    'torch.randn'
    """
    if initial.numbers:
        return _written(initial)
    names = {"pi": constant(math.pi, Const(math.pi)), "e": constant(math.e)}
    names |= {"inf": constant(math.inf)}
    names |= {axis.identifier: _position(axis, initial.array) for axis in initial.array}
    for axis in initial.array:
        names[f"n_{axis.identifier}"] = constant(axis.numel, Size((axis,)))
    every = frozenset(dim.key for dim in initial.array.dims)
    sizes = _sizes(initial.array)
    names["normal"] = Part(Call("torch.randn", sizes), "real", every)
    twice = Infix("*", Const(2), Call("torch.rand", sizes))
    names["uniform"] = Part(Infix("-", twice, Const(1)), "real", every)
    part = lowered(initial.formula, (), names)
    if part.value == 1 and sizes != (Tuple(()),):
        return Call("torch.ones", sizes)
    return filled(part, initial.array.dims, None)


def _sizes(array: Array) -> tuple[Expr, ...]:
    """Returns the sizes of a tensor's dimensions as code."""
    sizes: list[Expr] = []
    for axis in array:
        sides = map(Const, axis.shape)
        sizes += sides if axis.spatial else [Size((axis,))]
    return tuple(sizes) or (Tuple(()),)


def _position(axis: Axis, array: Array) -> Part:
    """Returns the position along an axis; in a group positions are counted row by row."""
    found: Expr | None = None
    for dim in axis.dims:
        place = Position(dim, array.dims)
        found = place if found is None else Infix("+", Infix("*", found, Const(dim.size)), place)
    assert found is not None
    return Part(found, "whole", frozenset(dim.key for dim in axis.dims))


def _written(initial: Initial) -> Expr:
    """Returns a tensor of numbers that are written out, row by row."""
    whole = initial.array.below is not None
    rows: list[Expr] = [Const(int(n) if whole else n) for n in initial.numbers]
    for size in reversed(initial.array.shape):
        rows = [Tuple(tuple(rows[i : i + size])) for i in range(0, len(rows), size)]
    return Call("torch.tensor", tuple(rows))
