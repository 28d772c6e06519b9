"""Reads largest numbers and their places, sorting, and reversed dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from ncd.formulas.formula import parse
from ncd.language.axes import Array, Signature, Type
from ncd.language.terms import Term
from ncd.ops import Map
from ncd.read.torch_calls.dimension_atoms import AxisFactor, all_atoms, resolved_atoms, size
from ncd.read.torch_calls.elementwise_calls import as_real_numbers, broadcast, limit, map_formula
from ncd.read.torch_calls.import_recorder import (
    Axes,
    DimensionBuilder,
    Handler,
    ImportedConstant,
    ImportedValue,
    Operand,
)
from ncd.read.torch_calls.lookup_calls import lookup_positions
from ncd.read.torch_calls.product_calls import reduce_dims, top
from ncd.read.torch_calls.shape_calls import select, view_as

SIGNS = {"max": 1, "min": -1}


def extreme(
    how: str, g: DimensionBuilder, x: Operand, other: Any = None, keep: bool = False
) -> Any:
    """Adds the largest numbers of all, of a dimension with their places, or of two arrays."""
    if isinstance(other, ImportedValue | ImportedConstant):
        return limit(how, g, x, other)
    value = as_real_numbers(g, g.value(x))
    if other is None:
        return reduce_dims(f"a{how}", g, value)
    found = reduce_dims(f"a{how}", g, value, other, keep)
    return found, (place(how, g, value, other, keep) if 1 in g.used_results else None)


def place(
    how: str, g: DimensionBuilder, x: Operand, at: Any = None, keep: bool = False
) -> ImportedValue:
    """Adds the first place of the largest number along a dimension, or of all in a row."""
    value = as_real_numbers(g, g.value(x))
    if at is None:
        value, at = view_as(g, value, (size(all_atoms(value.dims)),)), 0
        if keep:
            g.reject_call("a place in all dimensions")
    if not value.dims:
        g.reject_call("the place of one number")
    at %= len(value.dims)
    value = g.as_one_axis(value, at)
    along = resolved_atoms(value.dims[at])
    most = reduce_dims(f"a{how}", g, value, at, True)
    largest = broadcast(g, value, most, "$1 == $2")

    def where(axes: Axes, arrays: Sequence[Array]) -> Term:
        (array,), name = arrays, axes(along)[0].identifier
        formula = parse(f"where($1 > 0, {name}, {size(along)})")
        return Map(Signature(Type((array,)), Type((Array(array),))), formula, "place")

    largest = g.op(where, [g.materialise(largest)], largest.dims)
    first = reduce_dims("amin", g, largest, at, keep)
    whole = ImportedValue(first.dims, first.slot)
    return _as_places(g, whole, along[0])


def _as_places(g: DimensionBuilder, x: ImportedValue, below: AxisFactor) -> ImportedValue:
    """Returns real numbers as places along an axis."""

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        (array,) = arrays
        out = Array(array, axes((below,))[0])
        return Map(Signature(Type((array,)), Type((out,))), parse("$1"))

    return g.op(make, [g.materialise(x)], x.dims, kind="whole", below=below)


def sort(g: DimensionBuilder, x: Operand, *given: Any, **named: Any) -> Any:
    """Adds the numbers of a dimension in their order, and their places."""
    stable = named.get("stable")
    if given and isinstance(given[0], bool):
        stable, *given = given  # type: ignore[assignment]
    at = named.get("dim", given[0] if given else -1)
    falling = named.get("descending", given[1] if len(given) > 1 else False)
    if stable and 1 in g.used_results:
        g.reject_call("an order that keeps equal numbers as they are")
    value = as_real_numbers(g, g.value(x))
    if not value.dims or not value.dims[at]:
        g.reject_call("the order of one number")
    count = size(value.dims[at])
    if falling:
        return top(g, value, count, at)
    found, places = top(g, map_formula(g, value, "-$1"), count, at)
    return map_formula(g, found, "-$1"), places


def median(g: DimensionBuilder, x: Operand, at: Any = None, keep: bool = False) -> Any:
    """Adds the lower one of the middle numbers."""
    value = g.value(x)
    if at is None:
        value = view_as(g, value, (size(all_atoms(value.dims)),))
        found, _ = sort(g, value, 0)
        return select(g, found, 0, (value.shape[0] - 1) // 2)
    at %= len(value.dims)
    some = []
    for each in sort(g, value, at):
        one = g.value(select(g, each, at, (size(value.dims[at]) - 1) // 2))
        dims = (*one.dims[:at], *[()] * keep, *one.dims[at:])
        some.append(ImportedValue(dims, one.slot))
    return tuple(some)


def flip(g: DimensionBuilder, x: Operand, dims: Sequence[int]) -> Operand:
    """Reverses dimensions."""
    if isinstance(x, ImportedConstant) and not x.name:
        return ImportedConstant(x.tensor.flip(*dims))
    value = g.value(x)
    for at in dims:
        count = size(value.dims[at])
        if count > 1:
            value = lookup_positions(g, value, at, ImportedConstant(torch.arange(count).flip(0)))
    return value


ORDER_CALLS: dict[str, Handler] = {
    **{how: partial(extreme, how) for how in SIGNS},
    **{f"arg{how}": partial(place, how) for how in SIGNS},
    "flip": flip,
    "median": median,
    "sort": sort,
}
