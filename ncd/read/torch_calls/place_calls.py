"""Reads shifts along a dimension, padding, and sums and products so far."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import torch

from ncd.language.axes import Array, Signature, Type
from ncd.language.terms import Term
from ncd.ops import Cumulative, Pad, Roll
from ncd.read.torch_calls.dimension_atoms import AxisFactor, resolved_atoms, size
from ncd.read.torch_calls.elementwise_calls import as_real_numbers
from ncd.read.torch_calls.import_recorder import (
    Axes,
    DimensionBuilder,
    Handler,
    ImportedArray,
    ImportedConstant,
    ImportedValue,
    Operand,
)
from ncd.read.torch_calls.lookup_calls import lookup_positions
from ncd.read.torch_calls.shape_calls import part_of


def roll(g: DimensionBuilder, x: Operand, shifts: Any, dims: Any = ()) -> ImportedValue:
    """Shifts the numbers along some dimensions, one after the other."""
    value = g.value(x)
    steps = [shifts] if isinstance(shifts, int) else list(shifts)
    places = [dims] if isinstance(dims, int) else list(dims)
    if len(steps) != len(places):
        g.reject_call("a roll over all dimensions as one")
    for step, at in zip(steps, places, strict=True):
        if value.dims[at] and step % size(value.dims[at]):
            value = _roll_dimension(g, value, at, step)
    return value


def _roll_dimension(g: DimensionBuilder, x: ImportedValue, at: int, step: int) -> ImportedValue:
    value = g.as_one_axis(x, at)
    atoms = resolved_atoms(value.dims[at])

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        return Roll(axes(atoms), step)

    return g.op(make, [value], value.dims, kind=value.slot.kind, below=value.slot.below)


def pad(
    g: DimensionBuilder, x: Operand, sides: Sequence[int], mode: Any = "constant", value: Any = None
) -> Operand:
    """Adds a number at the ends of the last dimensions; drops numbers where it is less than none.

    ``sides`` begins with those of the last dimension.
    """
    if isinstance(mode, int | float):  # of constant_pad_nd, which has no mode
        mode, value = "constant", mode
    filled = 0.0 if value is None else float(value)
    if mode != "constant":
        return pad_by_lookup(g, x, sides, mode)
    if abs(filled) > 1e300:
        g.reject_call("a padding that is not with one finite number")
    found: Operand = x
    for i in range(len(sides) // 2):
        before, after = sides[2 * i : 2 * i + 2]
        if min(before, after) < 0:
            end = after if after < 0 else None
            found = part_of(g, found, _value_rank(g, found) - 1 - i, max(0, -before), end)
        if max(before, after) > 0:
            found = _pad_dimension(
                g, g.value(found), -1 - i, (max(0, before), max(0, after)), filled
            )
    return found


def pad_by_lookup(g: DimensionBuilder, x: Operand, sides: Sequence[int], mode: str) -> Operand:
    """Looks up the numbers that stand beyond the ends: of the other end, or of the same one."""
    value = g.value(x)
    for i in range(len(sides) // 2):
        before, after = sides[2 * i : 2 * i + 2]
        at = len(value.dims) - 1 - i
        if (before, after) != (0, 0):
            row = torch.arange(size(value.dims[at]), dtype=torch.float64)[None, None]
            places = torch.nn.functional.pad(row, (before, after), mode)[0, 0].long()
            value = lookup_positions(g, value, at, ImportedConstant(places))
    return value


def _value_rank(g: DimensionBuilder, x: Operand) -> int:
    return len(g.value(x).dims)


def _pad_dimension(
    g: DimensionBuilder, x: ImportedValue, at: int, sides: tuple[int, int], filled: float
) -> ImportedValue:
    x = as_real_numbers(g, x)
    value, at = g.as_one_axis(x, at), at % len(x.dims)
    old = resolved_atoms(value.dims[at])
    hint = old[0].hint if old[0].hint != "one" else ""
    new = (AxisFactor(size(old) + sum(sides), hint, is_indivisible=True, alone=True),)
    rest = tuple(atom for atom in resolved_atoms(value.slot.atoms) if atom not in old)
    slot = ImportedArray((*rest, *new))

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        return Pad(Signature(Type((axes(old),)), Type((axes(new),))), *sides, filled)

    g.step(make, [value], [slot], also=new)
    return ImportedValue((*value.dims[:at], new, *value.dims[at + 1 :]), slot)


def cumulative(how: str, g: DimensionBuilder, x: Operand, at: int, **more: Any) -> ImportedValue:
    """Adds sums or products so far; whole numbers become real ones first."""
    value = as_real_numbers(g, g.value(x))
    if not value.dims or not value.dims[at]:
        return value
    value = g.as_one_axis(value, at)
    atoms = resolved_atoms(value.dims[at])

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        return Cumulative(axes(atoms), how)

    return g.op(make, [value], value.dims)


PLACE_CALLS: dict[str, Handler] = {
    **dict.fromkeys(("pad", "constant_pad_nd"), pad),
    "cumprod": partial(cumulative, "product"),
    "cumsum": partial(cumulative, "sum"),
    "roll": roll,
}
