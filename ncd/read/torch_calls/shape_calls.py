"""Views, also as complex numbers, slices and concatenations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import torch

from ncd.language.axes import Array, Signature, Type
from ncd.language.terms import Beside, Id, Term, Then
from ncd.ops import Concat, Cut, Index, Split
from ncd.read.torch_calls.dimension_atoms import (
    VAGUE,
    AxisFactor,
    CannotSplit,
    Dim,
    all_atoms,
    new_dim,
    resolved_atoms,
    size,
    view_dims,
)
from ncd.read.torch_calls.elementwise_calls import as_real_numbers, broadcast, of_one_kind
from ncd.read.torch_calls.import_recorder import (
    COMPLEX,
    Axes,
    DimensionBuilder,
    Handler,
    ImportedConstant,
    ImportedValue,
    Operand,
    reordering_op,
)

# --- Reads views, transposes and repetitions of an array


def view(g: DimensionBuilder, x: Operand, *shape: Any) -> Operand:
    """Returns a tensor in the shape of the current node."""
    if any(isinstance(n, torch.dtype) for n in shape):
        g.reject_call("bits that are read as numbers of another kind")
    if isinstance(x, ImportedConstant) and not x.name:
        return ImportedConstant(x.tensor.reshape(g.shape))
    if (weight := _weight(g, x)) is not None:
        return weight
    value = g.value(x)
    found = view_as(g, value, g.shape)
    if len(found.dims) > len(value.dims):
        _name_heads(g, found)
    return found


def _name_heads(g: DimensionBuilder, x: ImportedValue) -> None:
    """Names the dimension of a view that is as long as its module has heads, and what follows."""
    module = g.path[-1][0].partition("@")[0] if g.path else ""
    for at, dim in enumerate(x.dims):
        parts = resolved_atoms(dim)
        if len(parts) == 1 and parts[0].size == g.heads.get(module) and parts[0].hint in VAGUE:
            g.suggest_name(dim, "heads")
            if len(x.dims) == at + 2:
                g.suggest_name(x.dims[-1], "k")
            return


def _weight(g: DimensionBuilder, x: Operand) -> ImportedConstant | None:
    """Returns a parameter unchanged if only dimensions of size 1 are added or removed, else None.

    A kernel of a convolution is often written so.
    """
    if (
        not isinstance(x, ImportedConstant)
        or not x.name
        or x.name in g.shared_parameters
        or x.order
    ):
        return None
    before, after = (tuple(n for n in shape[1:] if n > 1) for shape in (x.tensor.shape, g.shape))
    if not x.tensor.dim() or x.tensor.shape[:1] != g.shape[:1] or before != after:
        return None
    return ImportedConstant(x.tensor.reshape(g.shape), x.name, rows=x.rows)


def view_as(g: DimensionBuilder, x: ImportedValue, shape: Sequence[int]) -> ImportedValue:
    """Returns the value in another shape."""
    for change in (lambda x: x, g.as_divisible, lambda x: _merge_cut_dims(g, x, shape)):
        x = change(x)
        try:
            return ImportedValue(view_dims(x.dims, shape), x.slot)
        except CannotSplit as error:
            failed = error
    raise failed


def _merge_cut_dims(g: DimensionBuilder, x: ImportedValue, shape: Sequence[int]) -> ImportedValue:
    """Returns the value with one axis for all dimensions that another shape cuts across."""
    least = min(len(x.dims), len(shape))
    same = [one == two for one, two in zip(x.shape, shape, strict=False)]
    first = next((i for i, one in enumerate(same) if not one), least)
    back = zip(reversed(x.shape[first:]), reversed(shape[first:]), strict=False)
    last = next((i for i, (one, two) in enumerate(back) if one != two), 0)
    end = len(x.dims) - last
    if first >= end:
        return x
    x = ImportedValue((*x.dims[:first], all_atoms(x.dims[first:end]), *x.dims[end:]), x.slot)
    x = g.as_one_axis(x, first, alone=False)
    return g.replace_atoms(x, x.dims[first], (AxisFactor(size(x.dims[first]), "n"),))


def permute(g: DimensionBuilder, x: Operand, order: Sequence[int]) -> Operand:
    if isinstance(x, ImportedConstant):
        return x.permute([i % x.tensor.dim() for i in order])
    return ImportedValue(tuple(x.dims[i] for i in order), x.slot)


def transpose(g: DimensionBuilder, x: Operand, one: int, two: int) -> Operand:
    order = list(range(_rank(x)))
    if order:
        order[one], order[two] = order[two], order[one]
    return permute(g, x, order)


def t(g: DimensionBuilder, x: Operand) -> Operand:
    return permute(g, x, range(_rank(x))[::-1])


def _rank(x: Operand) -> int:
    return x.tensor.dim() if isinstance(x, ImportedConstant) else len(x.dims)


def unsqueeze(g: DimensionBuilder, x: Operand, at: int) -> Operand:
    if (weight := _weight(g, x)) is not None:
        return weight
    value = g.value(x)
    at %= len(value.dims) + 1
    return ImportedValue((*value.dims[:at], (), *value.dims[at:]), value.slot)


def expand(g: DimensionBuilder, x: Operand, *shape: Any, **more: Any) -> Operand:
    """Returns a tensor whose numbers are repeated along new atoms; nothing is computed."""
    if isinstance(x, ImportedConstant) and not x.name:
        return ImportedConstant(x.tensor.expand(g.shape))
    value = g.value(x)
    pairs = zip(reversed(value.dims), reversed(g.shape), strict=False)
    value = g.without_ones(value, [-i for i, (dim, n) in enumerate(pairs, 1) if size(dim) != n])
    dims = ((),) * (len(g.shape) - len(value.dims)) + value.dims
    new = tuple(dim if size(dim) == n else new_dim(n) for dim, n in zip(dims, g.shape, strict=True))
    g.record_cooccurrence(all_atoms(new))
    return ImportedValue(new, value.slot)


def repeat(g: DimensionBuilder, x: Operand, times: Sequence[int]) -> Operand:
    """Returns a tensor repeated along dimensions of size 1."""
    value = g.value(x)
    dims = ((),) * (len(times) - len(value.dims)) + value.dims
    if any(n != 1 and size(dim) != 1 for dim, n in zip(dims, times, strict=True)):
        g.reject_call("a repetition of several numbers")
    return expand(g, value, list(times))


def repeat_interleave(
    g: DimensionBuilder, x: Operand, times: Any, dim: Any = None, **more: Any
) -> Operand:
    """Returns a tensor whose entries along a dimension are repeated, each ``times`` times."""
    value = g.value(x)
    if not isinstance(times, int) or dim is None:
        g.reject_call("a repetition by an array")
    at = dim % len(value.dims)
    extra = new_dim(times)
    dims = (*value.dims[:at], (*value.dims[at], *extra), *value.dims[at + 1 :])
    g.record_cooccurrence(all_atoms(dims))
    return ImportedValue(dims, value.slot)


def copy_values(g: DimensionBuilder, into: Operand, x: Operand, *more: Any) -> Operand:
    """Returns the values that are written over a whole array."""
    return expand(g, x)


SHAPE_CALLS: dict[str, Handler] = {
    **dict.fromkeys(("view", "reshape", "unflatten", "flatten", "_unsafe_view"), view),
    **dict.fromkeys(("expand", "expand_as", "broadcast_to"), expand),
    "copy": copy_values,
    "numpy_T": t,
    "permute": permute,
    "repeat": repeat,
    "repeat_interleave": repeat_interleave,
    "t": t,
    "transpose": transpose,
    "unsqueeze": unsqueeze,
}


# --- Reads slices, pieces and concatenations of an array


def _index_atoms(
    g: DimensionBuilder, x: ImportedValue, places: dict[AxisFactor, int]
) -> ImportedValue:
    """Returns the numbers at one position along some atoms."""
    own = resolved_atoms(x.slot.atoms)
    places = {atom: place for atom, place in places.items() if atom in own}
    dims = tuple(tuple(a for a in resolved_atoms(dim) if a not in places) for dim in x.dims)
    if not places:
        return ImportedValue(dims, x.slot)
    slot = x.slot.with_atoms(tuple(a for a in own if a not in places))

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        (array,) = arrays
        names = {axes((atom,))[0].name: place for atom, place in places.items()}
        return Index(Signature(Type((array,)), Type((_without_axes(array, names),))), names)

    g.step(make, [x], [slot])
    return ImportedValue(dims, slot)


def _without_axes(array: Array, names: Any) -> Array:
    return array.with_axes(axis for axis in array if axis.name not in names)


def select(g: DimensionBuilder, x: Operand, at: int, place: int) -> Operand:
    if isinstance(x, ImportedConstant) and not x.name:
        return ImportedConstant(x.tensor.select(at, place))
    value = g.value(x)
    at %= len(value.dims)
    if size(value.dims[at]) > 1:
        value = g.as_one_axis(value, at)
    place %= size(value.dims[at])
    chosen = _index_atoms(g, value, dict.fromkeys(resolved_atoms(value.dims[at]), place))
    return ImportedValue((*chosen.dims[:at], *chosen.dims[at + 1 :]), chosen.slot)


def squeeze(g: DimensionBuilder, x: Operand, at: Any = None) -> Operand:
    if isinstance(x, ImportedConstant) and x.name:
        return view(g, x)
    value = g.value(x)
    rank = len(value.dims)
    chosen = range(rank) if at is None else [at] if isinstance(at, int) else at
    gone = {i % rank for i in chosen if rank and size(value.dims[i]) == 1}
    atoms = [atom for i in gone for atom in resolved_atoms(value.dims[i])]
    if atoms:  # axes of size 1 are dropped by their only position
        value = _index_atoms(g, value, dict.fromkeys(atoms, 0))
    kept = tuple(dim for i, dim in enumerate(value.dims) if i not in gone)
    return ImportedValue(kept, value.slot)


def unbind(g: DimensionBuilder, x: Operand, at: int = 0) -> tuple[Operand, ...]:
    value = g.value(x)
    return tuple(select(g, value, at, i) for i in range(size(value.dims[at])))


def pieces(
    g: DimensionBuilder, x: Operand, at: int, sizes: Sequence[int]
) -> tuple[ImportedValue, ...]:
    """Cuts a dimension into pieces, one array each."""
    value = g.value(x)
    at %= len(value.dims)
    if len(sizes) == 1:
        return (value,)
    if size(value.dims[at]) > 1:
        value = g.as_one_axis(value, at)
    whole = resolved_atoms(value.dims[at])
    hint = whole[0].hint
    named = ((n, hint if n > 1 else "one") for n in sizes)  # equal ones share a name
    ends = {n: (AxisFactor(n, word, alone=True),) for n, word in named}
    parts = tuple(ends[n] for n in sizes)
    rest = tuple(a for a in resolved_atoms(value.slot.atoms) if a not in whole)
    slots = [value.slot.with_atoms((*rest, *part)) for part in parts]

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        ends, split = _slice_parts(axes, parts)
        return _behind(Cut(Signature(Type((axes(whole),)), ends)), ends, split, arrays[0])

    g.step(make, [value], slots, also=[atom for part in parts for atom in part])
    return tuple(
        ImportedValue((*value.dims[:at], part, *value.dims[at + 1 :]), slot)
        for part, slot in zip(parts, slots, strict=True)
    )


def _slice_parts(axes: Axes, parts: Sequence[Dim]) -> tuple[Type, dict[int, Array]]:
    """Returns an axis for each piece, and the axes into which some are then split."""
    ends: list[Array] = []
    split: dict[int, Array] = {}
    for i, part in enumerate(parts):
        own = axes(part)
        if is_parted(own):
            split[i] = own
            own = product_axis(own)
        ends.append(own)
    return Type(ends), split


def is_parted(own: Array) -> bool:
    """Returns whether a dimension has become several axes, or a spatial group."""
    return len(own) > 1 or any(axis.spatial for axis in own)


def product_axis(own: Array) -> Array:
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


def split(g: DimensionBuilder, x: Operand, sizes: Any, at: int = 0) -> tuple[Operand, ...]:
    total = x.tensor.shape[at] if isinstance(x, ImportedConstant) else size(x.dims[at])
    if isinstance(sizes, int):
        sizes = [min(sizes, total - start) for start in range(0, total, sizes)]
    if isinstance(x, ImportedConstant) and (not x.name or _in_rows(x, at)):
        ends = list(accumulate(sizes))
        return tuple(_rows(x, at, e - n, e) for n, e in zip(sizes, ends, strict=True))
    if 0 not in sizes:
        return pieces(g, x, at, sizes)
    shape = list(g.value(x).shape)
    shape[at] = 0
    found = iter(pieces(g, x, at, [n for n in sizes if n]))
    return tuple(next(found) if n else ImportedConstant(torch.empty(shape)) for n in sizes)


def _in_rows(x: ImportedConstant, at: int) -> bool:
    """Returns whether a dimension holds the rows of a parameter, in their order."""
    return not x.order and x.rows is None and at % x.tensor.dim() == 0


def _rows(x: ImportedConstant, at: int, start: int, end: int) -> ImportedConstant:
    """Returns part of a constant; part of the rows of a parameter stays a parameter."""
    part = x.tensor.narrow(at, start, end - start)
    return ImportedConstant(part, x.name, rows=(start, end) if x.name else None)


def chunk(g: DimensionBuilder, x: Operand, count: int, at: int = 0) -> tuple[Operand, ...]:
    total = x.tensor.shape[at] if isinstance(x, ImportedConstant) else size(x.dims[at])
    return split(g, x, -(-total // count), at)


def part_of(
    g: DimensionBuilder, x: Operand, at: int = 0, start: Any = None, end: Any = None, step: int = 1
) -> Operand:
    """Returns part of a dimension."""
    shape = x.tensor.shape if isinstance(x, ImportedConstant) else x.shape
    total = shape[at]
    first, last, _ = slice(start, end).indices(total)
    if (first, last, step) == (0, total, 1):
        return x
    if isinstance(x, ImportedConstant) and not x.name:
        places = torch.arange(first, last, step)
        return ImportedConstant(x.tensor.index_select(at, places))
    if isinstance(x, ImportedConstant) and step == 1 and _in_rows(x, at):
        return _rows(x, at, first, last)
    x = g.value(x)
    if last - first == 1:
        one = g.value(select(g, x, at, first))
        at %= len(x.dims)
        return ImportedValue((*one.dims[:at], (), *one.dims[at:]), one.slot)
    if step != 1:
        return _strided_slice(g, x, at, first, last, step)
    sizes = [n for n in (first, last - first, total - last) if n]
    found = pieces(g, x, at, sizes)
    return found[int(first > 0)]


def _strided_slice(
    g: DimensionBuilder, x: ImportedValue, at: int, first: int, last: int, step: int
) -> ImportedValue:
    """Returns every n-th position of a dimension that is a multiple of n long."""
    total = size(x.dims[at])
    if total % step or first >= step or last < total - step + 1 + first:
        g.reject_call("a slice with steps")
    at %= len(x.dims)
    shape = (*x.shape[:at], total // step, step, *x.shape[at + 1 :])
    found = select(g, view_as(g, x, shape), at + 1, first)
    assert isinstance(found, ImportedValue)
    return found


SLICE_CALLS: dict[str, Handler] = {
    **dict.fromkeys(("split", "split_with_sizes"), split),
    "chunk": chunk,
    "select": select,
    "slice": part_of,
    "squeeze": squeeze,
    "unbind": unbind,
}


# --- Reads concatenations, and writes to a part of an array


def concatenate(g: DimensionBuilder, given: Sequence[Operand], at: int = 0) -> Operand:
    """Concatenates tensors along a dimension."""
    values = of_one_kind(g, [g.value(x) for x in given if not _is_empty(x)])
    if len(values) == 1:
        return values[0]
    at %= len(values[0].dims)
    most = max(values, key=lambda value: len(all_atoms(value.dims)))  # has a batch of one as well
    wide = tuple(dim or most.dims[i] for i, dim in enumerate(values[0].dims))
    wide = tuple(values[0].dims[i] if i == at else dim for i, dim in enumerate(wide))
    first = g.as_one_axis(ImportedValue(wide, values[0].slot), at)
    ready = [first]
    for value in values[1:]:
        ready.append(_match_dims(g, g.as_one_axis(value, at), first, at))
    total = sum(size(value.dims[at]) for value in ready)
    hints = [resolved_atoms(value.dims[at])[0].hint for value in ready]
    hint = next((hint for hint in hints if hint != "one"), "")
    added = len({*hints}) == 2 and "one" in hints and hint in ("", "p")  # a token beside others
    whole = (AxisFactor(total, "t" if added else hint),)
    ends = [resolved_atoms(value.dims[at]) for value in ready]
    rest = tuple(a for a in resolved_atoms(first.slot.atoms) if a not in ends[0])
    slot = first.slot.with_atoms((*rest, *whole))

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        return _concatenation_term(axes, arrays, ends, whole)

    g.step(make, ready, [slot], also=[atom for end in ends for atom in end])
    return ImportedValue((*first.dims[:at], whole, *first.dims[at + 1 :]), slot)


def _match_dims(
    g: DimensionBuilder, x: ImportedValue, first: ImportedValue, at: int
) -> ImportedValue:
    """Returns the value with the other dimensions of the first one."""
    for i, dim in enumerate(first.dims):
        if i == at:
            continue
        if size(dim) != size(x.dims[i]):
            g.reject_call("arrays of other shapes")
        if x.dims[i]:
            x = g.unify_dim(x, x.dims[i], dim)
        elif dim:  # a batch of one
            x = ImportedValue((*x.dims[:i], dim, *x.dims[i + 1 :]), x.slot)
    return g.materialise(x)


def _is_empty(x: Operand) -> bool:
    return isinstance(x, ImportedConstant) and x.tensor.numel() == 0


def _concatenation_term(
    axes: Axes, arrays: Sequence[Array], ends: Sequence[Dim], whole: Dim
) -> Term:
    """Returns a concatenation of arrays that may have their other axes in another order."""
    own = [axes(end) for end in ends]
    out = axes(whole)
    split = is_parted(out)
    pattern = Signature(Type(own), Type((product_axis(out) if split else out,)))
    order = [name for name in arrays[0].names if name != own[0][0].name]
    moved: list[Term] = []
    for array, end in zip(arrays, own, strict=True):
        by = {axis.name: axis for axis in array}
        place = list(arrays[0].names).index(own[0][0].name)
        names = [*order[:place], end[0].name, *order[place:]]
        wanted = Array((by[name] for name in names), array.below)
        same = wanted.names == array.names
        moved.append(Id(Type((array,))) if same else reordering_op(array, wanted))
    term: Term = Concat(pattern)
    if any(not isinstance(part, Id) for part in moved):
        term = Then(Beside(*moved), term)
    if split:
        term = Then(term, Split(Signature(pattern.cod, Type((out,)))))
    return term


def slice_scatter(
    g: DimensionBuilder,
    x: Operand,
    part: Operand,
    at: int = 0,
    start: Any = None,
    end: Any = None,
    step: int = 1,
) -> Operand:
    """Returns an array in which a slice is replaced: what is before it, the slice, and the rest."""
    shape = x.tensor.shape if isinstance(x, ImportedConstant) else x.shape
    first, last, _ = slice(start, end).indices(shape[at])
    if step != 1:
        g.reject_call("a slice with steps")
    pieces = [part]
    if first:
        pieces.insert(0, part_of(g, x, at, 0, first))
    if last < shape[at]:
        pieces.append(part_of(g, x, at, last, shape[at]))
    return concatenate(g, pieces, at)


def stack(g: DimensionBuilder, given: Sequence[Operand], at: int = 0) -> Operand:
    values = [g.value(x) for x in given]
    rank = len(values[0].dims) + 1
    return concatenate(g, [unsqueeze(g, value, at) for value in values], at % rank)


CONCAT_CALLS: dict[str, Handler] = {
    "cat": concatenate,
    "slice_scatter": slice_scatter,
    "stack": stack,
}


# --- Complex numbers as pairs of real ones: rotary positions are often written so


@dataclass(frozen=True, eq=False)
class ComplexPair:
    """A complex tensor: its real and its imaginary part."""

    real: ImportedValue
    imaginary: ImportedValue


def as_complex(g: DimensionBuilder, x: Operand) -> ComplexPair:
    value = g.value(x)
    parts = [select(g, value, len(value.dims) - 1, i) for i in (0, 1)]
    return ComplexPair(*map(g.value, parts))


def as_real(g: DimensionBuilder, x: Any) -> Operand:
    real, imaginary = _complex_parts(g, x)
    return stack(g, [real, imaginary], len(g.shape) - 1)


def of_parts(g: DimensionBuilder, real: Operand, imaginary: Operand) -> ComplexPair:
    """Returns complex numbers of two arrays of one shape."""
    one, two, _ = g.broadcast_pair(as_real_numbers(g, real), as_real_numbers(g, imaginary))
    return ComplexPair(one, two)


def polar(g: DimensionBuilder, length: Operand, angle: Operand) -> ComplexPair:
    """Returns complex numbers of lengths and angles: length · (cos + i sin)."""
    return of_parts(
        g,
        broadcast(g, length, angle, "$1 * cos($2)"),
        broadcast(g, length, angle, "$1 * sin($2)"),
    )


def product(g: DimensionBuilder, one: Any, two: Any) -> ComplexPair:
    """Multiplies complex tensors: (a + ib)(c + id) = (ac − bd) + i(ad + bc)."""
    (a, b), (c, d) = _complex_parts(g, one), _complex_parts(g, two)

    def times(x: Operand, y: Operand) -> ImportedValue:
        return broadcast(g, x, y, "$1 * $2")

    real = broadcast(g, times(a, c), times(b, d), "$1 - $2")
    return ComplexPair(real, broadcast(g, times(a, d), times(b, c), "$1 + $2"))


def _complex_parts(g: DimensionBuilder, x: Any) -> tuple[Operand, Operand]:
    if isinstance(x, ComplexPair):
        return x.real, x.imaginary
    if isinstance(x, ImportedConstant) and x.tensor.is_complex():
        return ImportedConstant(x.tensor.real.contiguous()), ImportedConstant(
            x.tensor.imag.contiguous()
        )
    g.reject_call(COMPLEX)


COMPLEX_CALLS: dict[str, Callable[..., Any]] = {
    "complex": of_parts,
    "imag": lambda g, x: _complex_parts(g, x)[1],
    "polar": polar,
    "real": lambda g, x: _complex_parts(g, x)[0],
    "view_as_complex": as_complex,
    "view_as_real": as_real,
}
