"""Reads concatenations, and writes to a part of an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ncd.importing.base.atoms import Atom, Dim, every, leaves, size
from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import Axes, Constant, Handler, Operand, Value
from ncd.importing.base.op_order import reordered
from ncd.importing.calls.formulas import of_one_kind
from ncd.importing.calls.shape_calls import unsqueeze
from ncd.importing.calls.slice_calls import is_parted, joined, part_of
from ncd.lang.terms.terms import Beside, Id, Term, Then
from ncd.lang.types.axes import Array, Signature, Type
from ncd.ops import Concat, Split


def concatenate(g: Builder, given: Sequence[Operand], at: int = 0) -> Operand:
    """Concatenates tensors along a dimension."""
    values = of_one_kind(g, [g.value(x) for x in given if not _empty(x)])
    if len(values) == 1:
        return values[0]
    at %= len(values[0].dims)
    most = max(values, key=lambda value: len(every(value.dims)))  # has a batch of one as well
    wide = tuple(dim or most.dims[i] for i, dim in enumerate(values[0].dims))
    wide = tuple(values[0].dims[i] if i == at else dim for i, dim in enumerate(wide))
    first = g.single(Value(wide, values[0].slot), at)
    ready = [first]
    for value in values[1:]:
        ready.append(_matched(g, g.single(value, at), first, at))
    total = sum(size(value.dims[at]) for value in ready)
    hints = [leaves(value.dims[at])[0].hint for value in ready]
    hint = next((hint for hint in hints if hint != "one"), "")
    added = len({*hints}) == 2 and "one" in hints and hint in ("", "p")  # a token beside others
    whole = (Atom(total, "t" if added else hint),)
    ends = [leaves(value.dims[at]) for value in ready]
    rest = tuple(a for a in leaves(first.slot.atoms) if a not in ends[0])
    slot = first.slot.on((*rest, *whole))

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        return _concatenated(axes, arrays, ends, whole)

    g.step(make, ready, [slot], also=[atom for end in ends for atom in end])
    return Value((*first.dims[:at], whole, *first.dims[at + 1 :]), slot)


def _matched(g: Builder, x: Value, first: Value, at: int) -> Value:
    """Returns the value with the other dimensions of the first one."""
    for i, dim in enumerate(first.dims):
        if i == at:
            continue
        if size(dim) != size(x.dims[i]):
            g.refuse("arrays of other shapes")
        if x.dims[i]:
            x = g.same(x, x.dims[i], dim)
        elif dim:  # a batch of one
            x = Value((*x.dims[:i], dim, *x.dims[i + 1 :]), x.slot)
    return g.solid(x)


def _empty(x: Operand) -> bool:
    return isinstance(x, Constant) and x.tensor.numel() == 0


def _concatenated(axes: Axes, arrays: Sequence[Array], ends: Sequence[Dim], whole: Dim) -> Term:
    """Returns a concatenation of arrays that may have their other axes in another order."""
    own = [axes(end) for end in ends]
    out = axes(whole)
    split = is_parted(out)
    pattern = Signature(Type(own), Type((joined(out) if split else out,)))
    order = [name for name in arrays[0].names if name != own[0][0].name]
    moved: list[Term] = []
    for array, end in zip(arrays, own, strict=True):
        by = {axis.name: axis for axis in array}
        place = list(arrays[0].names).index(own[0][0].name)
        names = [*order[:place], end[0].name, *order[place:]]
        wanted = Array((by[name] for name in names), array.below)
        same = wanted.names == array.names
        moved.append(Id(Type((array,))) if same else reordered(array, wanted))
    term: Term = Concat(pattern)
    if any(not isinstance(part, Id) for part in moved):
        term = Then(Beside(*moved), term)
    if split:
        term = Then(term, Split(Signature(pattern.cod, Type((out,)))))
    return term


def scattered(
    g: Builder,
    x: Operand,
    part: Operand,
    at: int = 0,
    start: Any = None,
    end: Any = None,
    step: int = 1,
) -> Operand:
    """Returns an array in which a slice is replaced: what is before it, the slice, and the rest."""
    shape = x.tensor.shape if isinstance(x, Constant) else x.shape
    first, last, _ = slice(start, end).indices(shape[at])
    if step != 1:
        g.refuse("a slice with steps")
    pieces = [part]
    if first:
        pieces.insert(0, part_of(g, x, at, 0, first))
    if last < shape[at]:
        pieces.append(part_of(g, x, at, last, shape[at]))
    return concatenate(g, pieces, at)


def stack(g: Builder, given: Sequence[Operand], at: int = 0) -> Operand:
    values = [g.value(x) for x in given]
    rank = len(values[0].dims) + 1
    return concatenate(g, [unsqueeze(g, value, at) for value in values], at % rank)


CALLS: dict[str, Handler] = {"cat": concatenate, "slice_scatter": scattered, "stack": stack}
