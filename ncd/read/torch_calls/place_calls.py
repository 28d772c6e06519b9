"""Reads shifts along a dimension, padding, and sums and products so far."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

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
    ImportedValue,
    Operand,
)
from ncd.read.torch_calls.shape_calls import part_of
from ncd.read.torch_calls.window_calls import add_window_op


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
    """Adds places at the ends of the last dimensions; drops numbers where it is less than none.

    ``sides`` begins with those of the last dimension. Places that mirror or repeat numbers are
    added before others are dropped, as torch does.
    """
    if isinstance(mode, int | float):  # of constant_pad_nd, which has no mode
        mode, value = "constant", mode
    filled = 0.0 if value is None else float(value)
    if abs(filled) > 1e300:
        g.reject_call("a padding that is not with one finite number")
    if _is_even_edge(g, x, sides):
        return add_window_op(
            g,
            x,
            len(sides) // 2,
            None,
            lambda pattern: Pad(pattern, sides[0], sides[1], filled, mode),
        )
    found: Operand = x
    copies = mode in ("reflect", "replicate")
    for i in range(len(sides) // 2):
        ends, at = sides[2 * i : 2 * i + 2], _value_rank(g, found) - 1 - i
        if min(ends) < 0 and not copies:
            found = _drop_ends(g, found, at, ends)
        if max(ends) > 0:
            before, after = (max(0, side) for side in ends)
            found = _pad_dimension(g, g.value(found), at, (before, after), filled, mode)
        if min(ends) < 0 and copies:
            found = _drop_ends(g, found, at, ends)
    return found


def _is_even_edge(g: DimensionBuilder, x: Operand, sides: Sequence[int]) -> bool:
    """Returns whether the last two or three dimensions, as of a picture, get the same ends each."""
    n = len(sides) // 2
    if n not in (2, 3) or set(zip(sides[::2], sides[1::2], strict=True)) != {tuple(sides[:2])}:
        return False
    value = g.value(x)
    atoms = [atom for dim in value.dims[-n:] for atom in resolved_atoms(dim)]
    apart = len({*atoms}) == len(atoms) and all(value.dims[-n:])
    return apart and value.slot.kind == "real" and min(sides) >= 0 and max(sides) > 0


def _value_rank(g: DimensionBuilder, x: Operand) -> int:
    return len(g.value(x).dims)


def _drop_ends(g: DimensionBuilder, x: Operand, at: int, sides: Sequence[int]) -> Operand:
    """Drops numbers where a side is less than none."""
    before, after = (min(0, side) for side in sides)
    return part_of(g, x, at, -before, after or None)


def _pad_dimension(
    g: DimensionBuilder,
    x: ImportedValue,
    at: int,
    sides: tuple[int, int],
    filled: float,
    mode: str,
) -> ImportedValue:
    x = as_real_numbers(g, x) if mode == "constant" else x
    value = g.as_one_axis(x, at)
    old = resolved_atoms(value.dims[at])
    hint = old[0].hint if old[0].hint != "one" else ""
    new = (AxisFactor(size(old) + sum(sides), hint, is_indivisible=True, alone=True),)
    rest = tuple(atom for atom in resolved_atoms(value.slot.atoms) if atom not in old)
    slot = ImportedArray((*rest, *new), value.slot.kind, value.slot.below)

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        return Pad(Signature(Type((axes(old),)), Type((axes(new),))), *sides, filled, mode)

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
