"""Reads slices, pieces and concatenations of an array."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

import torch

from ncd.importing.base.atoms import Atom, Dim, leaves, size
from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import Axes, Constant, Handler, Operand, Value
from ncd.importing.calls.shape_calls import view, view_as
from ncd.lang.terms.terms import Beside, Id, Term, Then
from ncd.lang.types.axes import Array, Signature, Type
from ncd.ops import Cut, Index, Split


def _selected(g: Builder, x: Value, places: dict[Atom, int]) -> Value:
    """Returns the numbers at one position along some atoms."""
    own = leaves(x.slot.atoms)
    places = {atom: place for atom, place in places.items() if atom in own}
    dims = tuple(tuple(a for a in leaves(dim) if a not in places) for dim in x.dims)
    if not places:
        return Value(dims, x.slot)
    slot = x.slot.on(tuple(a for a in own if a not in places))

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        (array,) = arrays
        names = {axes((atom,))[0].name: place for atom, place in places.items()}
        return Index(Signature(Type((array,)), Type((_without(array, names),))), names)

    g.step(make, [x], [slot])
    return Value(dims, slot)


def _without(array: Array, names: Any) -> Array:
    return array.with_axes(axis for axis in array if axis.name not in names)


def select(g: Builder, x: Operand, at: int, place: int) -> Operand:
    if isinstance(x, Constant) and not x.name:
        return Constant(x.tensor.select(at, place))
    value = g.value(x)
    at %= len(value.dims)
    if size(value.dims[at]) > 1:
        value = g.single(value, at)
    place %= size(value.dims[at])
    chosen = _selected(g, value, dict.fromkeys(leaves(value.dims[at]), place))
    return Value((*chosen.dims[:at], *chosen.dims[at + 1 :]), chosen.slot)


def squeeze(g: Builder, x: Operand, at: Any = None) -> Operand:
    if isinstance(x, Constant) and x.name:
        return view(g, x)
    value = g.value(x)
    rank = len(value.dims)
    chosen = range(rank) if at is None else [at] if isinstance(at, int) else at
    gone = {i % rank for i in chosen if rank and size(value.dims[i]) == 1}
    atoms = [atom for i in gone for atom in leaves(value.dims[i])]
    if atoms:  # axes of size 1 are dropped by their only position
        value = _selected(g, value, dict.fromkeys(atoms, 0))
    kept = tuple(dim for i, dim in enumerate(value.dims) if i not in gone)
    return Value(kept, value.slot)


def unbind(g: Builder, x: Operand, at: int = 0) -> tuple[Operand, ...]:
    value = g.value(x)
    return tuple(select(g, value, at, i) for i in range(size(value.dims[at])))


def pieces(g: Builder, x: Operand, at: int, sizes: Sequence[int]) -> tuple[Value, ...]:
    """Cuts a dimension into pieces, one array each."""
    value = g.value(x)
    at %= len(value.dims)
    if len(sizes) == 1:
        return (value,)
    if size(value.dims[at]) > 1:
        value = g.single(value, at)
    whole = leaves(value.dims[at])
    hint = whole[0].hint
    named = ((n, hint if n > 1 else "one") for n in sizes)  # equal ones share a name
    ends = {n: (Atom(n, word, alone=True),) for n, word in named}
    parts = tuple(ends[n] for n in sizes)
    rest = tuple(a for a in leaves(value.slot.atoms) if a not in whole)
    slots = [value.slot.on((*rest, *part)) for part in parts]

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        ends, split = _parts(axes, parts)
        return _behind(Cut(Signature(Type((axes(whole),)), ends)), ends, split, arrays[0])

    g.step(make, [value], slots, also=[atom for part in parts for atom in part])
    return tuple(
        Value((*value.dims[:at], part, *value.dims[at + 1 :]), slot)
        for part, slot in zip(parts, slots, strict=True)
    )


def _parts(axes: Axes, parts: Sequence[Dim]) -> tuple[Type, dict[int, Array]]:
    """Returns an axis for each piece, and the axes into which some are then split."""
    ends: list[Array] = []
    split: dict[int, Array] = {}
    for i, part in enumerate(parts):
        own = axes(part)
        if is_parted(own):
            split[i] = own
            own = joined(own)
        ends.append(own)
    return Type(ends), split


def is_parted(own: Array) -> bool:
    """Returns whether a dimension has become several axes, or a spatial group."""
    return len(own) > 1 or any(axis.spatial for axis in own)


def joined(own: Array) -> Array:
    """Returns one axis with a name of its own for the product of several."""
    name = "".join(axis.identifier for axis in own) if len(own) > 1 else f"{own[0].identifier}_all"
    return Array((replace(own[0], name=name, size=own.numel, sequence=False, label=""),))


def _behind(cut: Term, ends: Type, split: dict[int, Array], array: Array) -> Term:
    """Returns a cut in which pieces with several axes are split into them."""
    if not split:
        return cut
    made = (Id(Type((array,))) >> cut).cod
    parts = [
        Split(Signature(Type((end,)), Type((split[i],)))) if i in split else Id(Type((made[i],)))
        for i, end in enumerate(ends)
    ]
    return Then(cut, Beside(*parts))


def split(g: Builder, x: Operand, sizes: Any, at: int = 0) -> tuple[Operand, ...]:
    total = x.tensor.shape[at] if isinstance(x, Constant) else size(x.dims[at])
    if isinstance(sizes, int):
        sizes = [min(sizes, total - start) for start in range(0, total, sizes)]
    if isinstance(x, Constant) and (not x.name or _in_rows(x, at)):
        ends = list(accumulate(sizes))
        return tuple(_rows(x, at, e - n, e) for n, e in zip(sizes, ends, strict=True))
    if 0 not in sizes:
        return pieces(g, x, at, sizes)
    shape = list(g.value(x).shape)
    shape[at] = 0
    found = iter(pieces(g, x, at, [n for n in sizes if n]))
    return tuple(next(found) if n else Constant(torch.empty(shape)) for n in sizes)


def _in_rows(x: Constant, at: int) -> bool:
    """Returns whether a dimension holds the rows of a parameter, in their order."""
    return not x.order and x.rows is None and at % x.tensor.dim() == 0


def _rows(x: Constant, at: int, start: int, end: int) -> Constant:
    """Returns part of a constant; part of the rows of a parameter stays a parameter."""
    part = x.tensor.narrow(at, start, end - start)
    return Constant(part, x.name, rows=(start, end) if x.name else None)


def chunk(g: Builder, x: Operand, count: int, at: int = 0) -> tuple[Operand, ...]:
    total = x.tensor.shape[at] if isinstance(x, Constant) else size(x.dims[at])
    return split(g, x, -(-total // count), at)


def part_of(
    g: Builder, x: Operand, at: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Operand:
    """Returns part of a dimension."""
    shape = x.tensor.shape if isinstance(x, Constant) else x.shape
    total = shape[at]
    first, last, _ = slice(start, end).indices(total)
    if (first, last, step) == (0, total, 1):
        return x
    if isinstance(x, Constant) and not x.name:
        places = torch.arange(first, last, step)
        return Constant(x.tensor.index_select(at, places))
    if isinstance(x, Constant) and step == 1 and _in_rows(x, at):
        return _rows(x, at, first, last)
    x = g.value(x)
    if last - first == 1:
        one = g.value(select(g, x, at, first))
        at %= len(x.dims)
        return Value((*one.dims[:at], (), *one.dims[at:]), one.slot)
    if step != 1:
        return _every(g, x, at, first, last, step)
    sizes = [n for n in (first, last - first, total - last) if n]
    found = pieces(g, x, at, sizes)
    return found[int(first > 0)]


def _every(g: Builder, x: Value, at: int, first: int, last: int, step: int) -> Value:
    """Returns every n-th position of a dimension that is a multiple of n long."""
    total = size(x.dims[at])
    if total % step or first >= step or last < total - step + 1 + first:
        g.refuse("a slice with steps")
    at %= len(x.dims)
    shape = (*x.shape[:at], total // step, step, *x.shape[at + 1 :])
    found = select(g, view_as(g, x, shape), at + 1, first)
    assert isinstance(found, Value)
    return found


CALLS: dict[str, Handler] = {
    **dict.fromkeys(("split", "split_with_sizes"), split),
    "chunk": chunk,
    "select": select,
    "slice": part_of,
    "squeeze": squeeze,
    "unbind": unbind,
}
