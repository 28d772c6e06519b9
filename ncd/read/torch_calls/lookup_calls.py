"""Reads embeddings and other lookups of rows by whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ncd.language.axes import Array, Signature, Type
from ncd.language.terms import Term
from ncd.ops import Index
from ncd.read.torch_calls.dimension_atoms import all_atoms, resolved_atoms, size
from ncd.read.torch_calls.elementwise_calls import bounded_places
from ncd.read.torch_calls.import_recorder import (
    Axes,
    DimensionBuilder,
    Handler,
    ImportedConstant,
    ImportedValue,
    Operand,
)
from ncd.read.torch_calls.product_calls import reduce_dims
from ncd.read.torch_calls.shape_calls import part_of, view_as


def embedding(g: DimensionBuilder, table: Any, places: Operand, *more: Any) -> ImportedValue:
    rows = g.value(table)
    if not rows.dims or not rows.dims[0]:
        g.reject_call("a table without rows")
    rows = g.as_one_axis(rows, 0)
    (vocabulary,) = resolved_atoms(rows.dims[0])
    learned = isinstance(table, ImportedConstant)
    usual = "v" if not isinstance(places, ImportedConstant) else "p"  # a table of positions
    vocabulary.hint = vocabulary.hint or (g.axis_hint(table, 0, usual) if learned else usual)
    vocabulary.is_indivisible = True
    depth = rows.dims[1:]
    for atom in all_atoms(depth)[-1:]:
        atom.hint = atom.hint or (g.axis_hint(table, 1, "m") if learned else "m")
    at = g.materialise(g.value(places))
    if at.slot.kind == "real":
        g.reject_call("places that are real numbers")
    at = bounded_places(g, at, vocabulary)

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        spots, entries = arrays
        wide = tuple(axis for axis in entries if axis.name != axes((vocabulary,))[0].name)
        out = Array((*spots, *wide), entries.below)
        return Index(Signature(Type(arrays), Type((out,))))

    kind, below = rows.slot.kind, rows.slot.below
    return g.op(make, [at, rows], (*at.dims, *depth), kind=kind, below=below)


def lookup_positions(g: DimensionBuilder, x: Operand, at: int, places: Operand) -> ImportedValue:
    """Adds a lookup by an array of positions along any dimension."""
    table, count = g.value(x), len(g.value(places).dims)
    if not table.dims:
        g.reject_call("positions in one number")
    at %= len(table.dims)
    turned = ImportedValue((table.dims[at], *table.dims[:at], *table.dims[at + 1 :]), table.slot)
    found = embedding(g, turned, places)
    spots, rest = found.dims[:count], found.dims[count:]
    return ImportedValue((*rest[:at], *spots, *rest[at:]), found.slot)


def index_select(g: DimensionBuilder, x: Operand, at: int, places: Operand) -> ImportedValue:
    """Adds a lookup along one dimension, which stays; a single position counts as a row of one."""
    found = lookup_positions(g, x, at, places)
    if g.value(places).dims:
        return found
    at %= len(found.dims) + 1
    return ImportedValue((*found.dims[:at], (), *found.dims[at:]), found.slot)


def advanced_index(g: DimensionBuilder, x: Operand, places: Sequence[Any]) -> Operand:
    """Adds a lookup by an array of positions along one dimension."""
    given = [i for i, place in enumerate(places) if place is not None]
    if len(given) > 1:
        return _outer(g, x, given, [places[at] for at in given])
    if len(given) != 1 or not isinstance(places[given[0]], ImportedValue | ImportedConstant):
        g.reject_call("positions along several dimensions")
    at, chosen = given[0], places[given[0]]
    if isinstance(chosen, ImportedConstant) and not chosen.name:
        if chosen.tensor.dtype == torch.bool:
            g.reject_call("a choice by a mask")
        chosen = ImportedConstant(_from_start(chosen.tensor, size(g.value(x).dims[at])))
        if (start := _run(chosen.tensor)) is not None:
            return part_of(g, x, at, start, start + len(chosen.tensor))
    return lookup_positions(g, x, at, chosen)


def _outer(g: DimensionBuilder, x: Operand, dims: Sequence[int], places: Sequence[Any]) -> Operand:
    """Adds lookups along neighbouring dimensions, each by positions that the others do not share.

    Such positions are ``[[0], [2]]`` and ``[1, 3]``: rows 0 and 2, and columns 1 and 3.
    """
    known = [one.tensor for one in places if isinstance(one, ImportedConstant) and not one.name]
    beside = list(dims) == list(range(dims[0], dims[0] + len(dims)))
    whole = all(not one.is_floating_point() and one.dtype != torch.bool for one in known)
    if len(known) < len(dims) or not beside or not whole:
        g.reject_call("positions along several dimensions")
    rank = max(one.dim() for one in known)
    wide = [one.reshape((1,) * (rank - one.dim()) + tuple(one.shape)) for one in known]
    own = [[i for i, n in enumerate(one.shape) if n > 1] for one in wide]
    order = [i for some in own for i in some]
    if order != sorted(set(order)):
        g.reject_call("positions that several dimensions share")
    value = g.value(x)
    for at, one in reversed([*zip(dims, wide, strict=True)]):
        flat = _from_start(one.squeeze(), size(value.dims[at]))
        value = lookup_positions(g, value, at, ImportedConstant(flat))
    return view_as(g, value, g.shape)


def gather(g: DimensionBuilder, x: Operand, at: int, places: Operand, **more: Any) -> Operand:
    """Adds a lookup along one dimension that is matched along all others."""
    if isinstance(x, ImportedConstant) and not x.name and x.tensor.numel():
        first = x.tensor.reshape(-1)[0]
        if bool((x.tensor == first).all()):  # the same number, wherever it is looked up
            return ImportedConstant(first.expand(g.shape).clone())
    table, spots = g.materialise(g.value(x)), g.materialise(g.value(places))
    at %= len(table.dims)
    table = g.as_one_axis(table, at)
    if spots.dims[at] and {*resolved_atoms(spots.dims[at])} & {*all_atoms(table.dims)}:
        spots = g.with_fresh_atoms(spots, spots.dims[at])
    for i, dim in enumerate(table.dims):
        if i != at and size(dim) != size(spots.dims[i]):
            g.reject_call("a lookup in a part of the rows")
        if i != at and dim:
            spots = g.unify_dim(spots, spots.dims[i], dim)
    (along,) = resolved_atoms(table.dims[at])
    spots = bounded_places(g, g.materialise(spots), along)

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        chosen, rows = arrays
        rest = [a for a in rows if a.name not in (*chosen.names, axes((along,))[0].name)]
        out = Array((*chosen, *rest), rows.below)
        return Index(Signature(Type(arrays), Type((Array(out, rows.below),))))

    return g.op(make, [spots, table], spots.dims, kind=table.slot.kind, below=table.slot.below)


def _from_start(places: Tensor, count: int) -> Tensor:
    """Returns positions counted from the start; negative ones are counted from the end."""
    return torch.where(places < 0, places + count, places)


def _run(places: Tensor) -> int | None:
    """Returns the first of consecutive positions, or None."""
    if places.dim() != 1 or not len(places) or bool((places.diff() != 1).any()):
        return None
    return int(places[0])


def bag(
    g: DimensionBuilder,
    table: Any,
    places: Operand,
    offsets: Any,
    scaled: bool = False,
    mode: int = 0,
    sparse: bool = False,
    weights: Any = None,
    last: bool = False,
    padded: int | None = -1,
) -> tuple[ImportedValue | None, ...]:
    """Adds sums, means or largest numbers of the rows of bags of one length."""
    starts = offsets.tensor.tolist() if isinstance(offsets, ImportedConstant) else []
    count = size(g.value(places).dims[0])
    each = count // max(1, len(starts))
    even = starts == [*range(0, count, each or 1)][: len(starts)] and each * len(starts) == count
    if not starts or not even or last or weights is not None or padded not in (None, -1):
        g.reject_call("bags of several lengths, or with weights")
    rows = view_as(g, g.value(places), (len(starts), each))
    found = embedding(g, table, rows)
    how = ("sum", "mean", "amax")[mode]
    return reduce_dims(how, g, found, 1), None, None, None


def unfold(g: DimensionBuilder, x: Operand, at: int, length: int, step: int) -> ImportedValue:
    """Adds the windows of a dimension, whose places become the last dimension."""
    value = g.value(x)
    at %= len(value.dims)
    starts = torch.arange(0, size(value.dims[at]) - length + 1, step)
    found = lookup_positions(g, value, at, ImportedConstant(starts[:, None] + torch.arange(length)))
    order = (*found.dims[: at + 1], *found.dims[at + 2 :], found.dims[at + 1])
    return ImportedValue(order, found.slot)


LOOKUP_CALLS: dict[str, Handler] = {
    "unfold": unfold,
    **dict.fromkeys(("embedding_bag", "_embedding_bag"), bag),
    "_unsafe_index": advanced_index,
    "embedding": embedding,
    "gather": gather,
    "index": advanced_index,
    "index_select": index_select,
}
