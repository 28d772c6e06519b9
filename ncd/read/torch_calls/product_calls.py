"""Linear maps, matmul, einsum; sums, softmax, attention."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from math import inf, prod
from typing import Any

from ncd.errors import NCDError
from ncd.formulas.formula import formula_number
from ncd.language.axes import Array, Signature, Type
from ncd.language.terms import Id, Term
from ncd.ops import Einsum, Linear, Reduce, Softmax, Top
from ncd.read.torch_calls.dimension_atoms import (
    AxisFactor,
    Dim,
    Dims,
    all_atoms,
    group_of,
    new_dim,
    resolved_atoms,
    size,
)
from ncd.read.torch_calls.elementwise_calls import (
    as_real_numbers,
    binary,
    broadcast,
    causal,
    dropout,
    map_formula,
    masked_fill,
    power,
    scale_by,
)
from ncd.read.torch_calls.import_recorder import (
    Axes,
    DimensionBuilder,
    Handler,
    ImportedArray,
    ImportedConstant,
    ImportedValue,
    Operand,
    in_order,
    parameter_name,
)

# --- Reads products of matrices: learned linear maps, matmul and einsum


def is_unshared_parameter(g: DimensionBuilder, x: Any) -> bool:
    """Returns whether a tensor is a parameter that only the current node uses."""
    return isinstance(x, ImportedConstant) and bool(x.name) and x.name not in g.shared_parameters


def linear(g: DimensionBuilder, x: Operand, weight: Any, bias: Any = None) -> ImportedValue:
    value = g.value(x)
    biased = bias is None or is_unshared_parameter(g, bias)
    if not is_unshared_parameter(g, weight) or not biased or weight.tensor.dim() != 2:
        found = matmul(g, value, _reversed_dims(weight))
        return found if bias is None else broadcast(g, found, bias, "$1 + $2")
    value = g.materialise(value)
    value = g.split_partial_groups(value, value.dims[:-1], value.dims[-1:])
    before = value.dims[-1]
    after = new_dim(weight.tensor.shape[0], g.axis_hint(weight, 0, "out"))
    if not before:
        value = g.as_one_axis(value, len(value.dims) - 1)
        before = value.dims[-1]
    name = parameter_name(weight.layer, g.path)
    weights = [weight] if bias is None else [weight, bias]
    ins, outs = resolved_atoms(before), after

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        one, two = axes(before), axes(outs)
        pattern = Signature(Type((one,)), Type((two,)))
        return in_order(arrays[0], one, Linear(pattern, name, bias is not None))

    g.record_cooccurrence((*ins, *outs))
    return g.op(make, [value], (*value.dims[:-1], after), weights)


def _reversed_dims(x: Any) -> Operand:
    if isinstance(x, ImportedConstant):
        return x.permute(range(x.tensor.dim())[::-1])
    return ImportedValue(x.dims[::-1], x.slot)


def addmm(g: DimensionBuilder, bias: Any, x: Operand, weight: Any, **more: Any) -> ImportedValue:
    if more:
        g.reject_call("a scaled sum")
    if (
        isinstance(weight, ImportedConstant)
        and is_unshared_parameter(g, weight)
        and is_unshared_parameter(g, bias)
    ):
        return linear(g, x, weight.permute((1, 0)), bias)
    return broadcast(g, matmul(g, x, weight), bias, "$1 + $2")


def baddbmm(
    g: DimensionBuilder, start: Any, x: Operand, y: Any, *, beta: float = 1, alpha: float = 1
) -> ImportedValue:
    found = scale_by(g, matmul(g, x, y), alpha)
    return broadcast(g, scale_by(g, start, beta), found, "$1 + $2")


def matmul(g: DimensionBuilder, x: Operand, y: Any) -> ImportedValue:
    """Multiplies matrices; leading dimensions are broadcast."""
    if isinstance(y, ImportedConstant) and is_unshared_parameter(g, y) and y.tensor.dim() == 2:
        return linear(g, x, y.permute((1, 0)))
    one, two = g.value(x), g.value(y)
    vector = (len(one.dims) == 1, len(two.dims) == 1)
    if vector[0]:
        one = ImportedValue(((), *one.dims), one.slot)
    if vector[1]:
        two = ImportedValue((*two.dims, ()), two.slot)
    found = product(g, one, two, -2, -1)
    if vector[0]:
        found = ImportedValue((*found.dims[:-2], found.dims[-1]), found.slot)
    return ImportedValue(found.dims[:-1], found.slot) if vector[1] else found


def product(
    g: DimensionBuilder, x: ImportedValue, y: ImportedValue, along: int, free: int
) -> ImportedValue:
    """Returns the product of matrices, summed over the last dimension of x and ``along`` of y."""
    x, y = _split_factors(g, x, y)
    y, lead = _align_leading_dims(g, x, y)
    mine = {*all_atoms(x.dims)}
    atoms = resolved_atoms(y.dims[free])
    units = {atom for atom in atoms if atom.size == 1 and atom in mine}
    y = g.without_units(_without_unit_axes(y, units), mine)
    if any(atom in mine for atom in resolved_atoms(y.dims[free])):
        y = g.with_fresh_atoms(y, y.dims[free])
    if size(x.dims[-1]) != size(y.dims[along]):
        g.reject_call("an axis of size 1 that is repeated")
    if x.dims[-1] or y.dims[along]:
        _as_rows(x.dims[-1], y.dims[along])
        y = g.unify_dim(y, y.dims[along], x.dims[-1])
    summed = resolved_atoms(x.dims[-1])
    if len(x.dims) > 3:
        _name_heads(g, x, y.dims[free])
    for value in (x, y):
        if set(summed) - {*resolved_atoms(value.slot.atoms)}:
            x, y = g.materialise(x), g.materialise(y)
    dims = (*lead, x.dims[-2], y.dims[free])
    held = {*resolved_atoms(x.slot.atoms), *resolved_atoms(y.slot.atoms)}
    atoms = tuple(atom for atom in all_atoms(dims) if atom in held)

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        return einsum_of(arrays, axes(atoms), axes(summed))

    slot = g.slot((atoms,))
    g.step(make, [x, y], [slot], also=all_atoms(dims))
    g.summed_dims[slot] = summed
    return ImportedValue(dims, slot)


def _split_factors(
    g: DimensionBuilder, x: ImportedValue, y: ImportedValue
) -> tuple[ImportedValue, ImportedValue]:
    """Returns factors whose spatial groups are in rows, in what is summed, or in what both lead."""
    found = []
    for one, other in ((x, y), (y, x)):
        both = [d for d, e in zip(one.dims[-3::-1], other.dims[-3::-1], strict=False) if d and e]
        alone = [dim for dim in one.dims[:-2] if dim not in both]
        found.append(g.split_partial_groups(one, both, alone, one.dims[-2:-1], one.dims[-1:]))
    return found[0], found[1]


def _name_heads(g: DimensionBuilder, x: ImportedValue, free: Dim) -> None:
    """Suggests names for the axes of a product that is done for each of several heads."""
    scores = all(
        atom.hint in ("k", "w") for atom in resolved_atoms(x.dims[-1])
    )  # of queries and keys
    for dim, hint in ((x.dims[-2], "t"), (x.dims[-1], "k"), (free, "s" if scores else "k")):
        g.recall(dim, hint)
    for dim, hint in ((x.dims[-3], "heads"), (x.dims[-1], "k"), (free, "k")):
        g.suggest_name(dim, hint)


def _as_rows(features: Dim, rows: Dim) -> None:
    """Renames the rows of a matrix that were taken for a batch, and meet features."""
    one, two = resolved_atoms(features), resolved_atoms(rows)
    if len(one) == len(two) == 1 and two[0].hint == "b" != one[0].hint:
        two[0].hint = one[0].hint


def _without_unit_axes(x: ImportedValue, ones: set[AxisFactor]) -> ImportedValue:
    """Returns the value with an axis of size 1 that both sides have, such as one example's batch,
    in none of its dimensions.
    """
    dims = tuple(tuple(atom for atom in resolved_atoms(dim) if atom not in ones) for dim in x.dims)
    return ImportedValue(dims, x.slot) if ones else x


def _align_leading_dims(
    g: DimensionBuilder, x: ImportedValue, y: ImportedValue
) -> tuple[ImportedValue, Dims]:
    """Returns y with the leading dimensions of x, and those of the product."""
    lead: list[Dim] = []
    for i in range(3, max(len(x.dims), len(y.dims)) + 1):
        p = x.dims[-i] if i <= len(x.dims) else ()
        q = y.dims[-i] if i <= len(y.dims) else ()
        if p and q and size(p) == size(q):
            y = g.unify_dim(y, q, p)
        elif p and q:
            g.reject_call("an axis of size 1 that is repeated")
        elif {*resolved_atoms(q)} & {*all_atoms(x.dims)}:
            y = g.with_fresh_atoms(y, q)
        lead.insert(0, p or (y.dims[-i] if i <= len(y.dims) else ()))
    return y, tuple(lead)


def einsum_of(arrays: Sequence[Array], wanted: Array, summed: Array) -> Term:
    """Returns a product of two arrays, written on as few axes as give a good order.

    The result has the axes of the first array, with those of the second in place of the summed
    ones, as rows that are mixed keep their places.
    """
    one, two = arrays
    free = [axis for axis in two if axis.name not in (*one.names, *summed.names)]
    kept = [axis for axis in one if axis.name not in summed.names]
    at = min((one.names.index(name) for name in summed.names), default=len(kept))
    before = [axis for axis in one[:at] if axis in kept]
    ideal = Array((*before, *free, *(axis for axis in kept if axis not in before)))
    if not summed:
        return Einsum(Signature(Type(arrays), Type((ideal,))))
    shared = [name for name in ideal.names if name in one.names and name in two.names]
    for count in range(len(shared), 0, -1):
        term = _einsum_without(arrays, ideal, shared[:count])
        if term is not None and (Id(Type(arrays)) >> term).cod[0].names == ideal.names:
            return term
    return Einsum(Signature(Type(arrays), Type((ideal,))))


def _einsum_without(arrays: Sequence[Array], out: Array, names: Sequence[str]) -> Term | None:
    """Returns an einsum that is broadcast over some axes; None where it cannot be."""
    sides = [Array(axis for axis in array if axis.name not in names) for array in (*arrays, out)]
    try:
        term = Einsum(Signature(Type(sides[:-1]), Type((sides[-1],))))
        term.infer_outputs(Type(arrays))
    except NCDError:
        return None
    return term


def einsum(
    g: DimensionBuilder, pattern: str, given: Sequence[Operand], **more: Any
) -> ImportedValue:
    """Adds an einsum of torch, whose letters are dimensions."""
    left, arrow, right = pattern.replace(" ", "").partition("->")
    words = left.split(",")
    if "." in pattern or not arrow or any(len(set(word)) < len(word) for word in words):
        g.reject_call("an einsum with dots, or with a letter twice")
    values = [g.materialise(g.value(x)) for x in given]
    values = [
        g.split_partial_groups(x, *_parts(x, word, words, right))
        for x, word in zip(values, words, strict=True)
    ]
    known: dict[str, Dim] = {}
    for i, word in enumerate(words):
        value = values[i]
        for at, letter in enumerate(word):
            if letter in known:
                value = g.unify_dim(value, value.dims[at], known[letter])
            elif {*resolved_atoms(value.dims[at])} & {*all_atoms(known.values())}:
                value = g.with_fresh_atoms(value, value.dims[at])
        known |= {letter: value.dims[at] for at, letter in enumerate(word)}
        values[i] = value
    dims = tuple(known[letter] for letter in right)

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        return Einsum(Signature(Type(arrays), Type((axes(all_atoms(dims)),))))

    found = g.op(make, values, dims)
    summed = [known[letter] for letter in known if letter not in right]
    g.summed_dims |= {found.slot: resolved_atoms(summed[0])} if len(summed) == 1 else {}
    return found


def _parts(
    x: ImportedValue, word: str, words: Sequence[str], right: str
) -> Iterator[tuple[Dim, ...]]:
    """Yields neighbouring dimensions that an einsum treats alike: each operand has all or none."""
    roles = {a: ([a in each for each in words], right.find(a) >= 0) for a in word}
    for i, a in enumerate(word):
        count = 1
        while roles[a] == roles.get(word[i + count : i + count + 1]) and (
            not roles[a][1] or word[i : i + count + 1] in right
        ):
            count += 1
        yield x.dims[i : i + count]


def bilinear(
    g: DimensionBuilder, x: Operand, y: Operand, weight: Operand, bias: Any = None
) -> ImportedValue:
    """Adds a product of two arrays with a weight of three dimensions."""
    lead = "abcdefgh"[: len(g.shape) - 1]
    found = einsum(g, f"{lead}i,oij,{lead}j->{lead}o", (x, weight, y))
    return found if bias is None else broadcast(g, found, bias, "$1 + $2")


PRODUCT_CALLS: dict[str, Handler] = {
    "bilinear": bilinear,
    **dict.fromkeys(("matmul", "mm", "bmm", "mv", "dot"), matmul),
    "addmm": addmm,
    "baddbmm": baddbmm,
    "einsum": einsum,
    "linear": linear,
}


# --- Functions of torch along a dimension: sums, means, softmax and attention

REDUCTION_NAMES = {"amax": "max", "amin": "min", "mean": "mean", "prod": "product", "sum": "sum"}


def reduce_atoms(how: str, g: DimensionBuilder, x: ImportedValue, atoms: Dim) -> ImportedValue:
    """Reduces some atoms; their dimensions have size 1 then."""
    x = g.materialise(x)
    gone = {*atoms}
    if any(set(group_of(atom)) - gone for atom in atoms):
        g.reject_call("one side of a spatial group")
    dims = tuple(tuple(a for a in resolved_atoms(dim) if a not in gone) for dim in x.dims)

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        (array,) = arrays
        own = [axis for axis in array if axis.name in axes(atoms).names]
        return Reduce(Signature(Type((Array(own),)), Type((Array(),))), how)

    return g.op(make, [x], dims)


def reduce_dims(
    name: str, g: DimensionBuilder, x: Operand, at: Any = None, keep: bool = False, **more: Any
) -> ImportedValue:
    value = g.value(x)
    rank = len(value.dims)
    value = as_real_numbers(g, value)
    if not rank:  # torch takes one number as an axis of it
        return value
    places = range(rank) if at is None or at == [] else [at] if isinstance(at, int) else at
    gone = [i % rank for i in places]
    atoms = tuple(atom for i in sorted(gone) for atom in resolved_atoms(value.dims[i]))
    if any(set(group_of(atom)) - {*atoms} for atom in atoms):
        value = g.without_groups(value)
        atoms = tuple(atom for i in sorted(gone) for atom in resolved_atoms(value.dims[i]))
    found = reduce_atoms(REDUCTION_NAMES.get(name, name), g, value, atoms) if atoms else value
    kept = tuple(dim for i, dim in enumerate(found.dims) if keep or i not in gone)
    return ImportedValue(kept, found.slot)


def variance(
    g: DimensionBuilder,
    x: Operand,
    at: Any = None,
    unbiased: Any = None,
    keep: bool = False,
    *,
    dim: Any = None,
    correction: Any = None,
    keepdim: bool = False,
) -> tuple[ImportedValue, ImportedValue]:
    """Adds the variance along some dimensions, and the mean."""
    if isinstance(at, bool):
        at, unbiased = None, at
    at, keep = dim if at is None else at, keep or keepdim
    less = correction if correction is not None else int(unbiased is not False)
    value = as_real_numbers(g, g.value(x))
    places = range(len(value.dims)) if at in (None, []) else [at] if isinstance(at, int) else at
    count = prod(size(value.dims[i]) for i in places)
    if count <= less:
        g.reject_call("a variance of too few numbers")
    mean = reduce_dims("mean", g, value, list(places), True)
    found = reduce_dims("mean", g, broadcast(g, value, mean, "($1 - $2) ** 2"), list(places), keep)
    if less:
        found = map_formula(g, found, f"$1 * {formula_number(count / (count - less))}")
    return found, (mean if keep else reduce_dims("mean", g, value, list(places)))


def deviation(
    g: DimensionBuilder, x: Operand, *args: Any, **named: Any
) -> tuple[ImportedValue, ImportedValue]:
    """Adds the standard deviation along some dimensions, and the mean."""
    found, mean = variance(g, x, *args, **named)
    return map_formula(g, found, power("$1", 1 / 2), "sqrt"), mean


def vector_norm(
    g: DimensionBuilder,
    x: Operand,
    p: float = 2.0,
    at: Any = None,
    keep: bool = False,
    **more: Any,
) -> ImportedValue:
    """Adds the length of vectors, whose gradient at 0 is 0."""
    if not 0 < p < inf:
        g.reject_call("a norm that is no root of a sum")
    usual = "abs($1)" if p == 1 else "$1 ** 2" if p == 2 else ""
    raised = usual or (f"abs($1) ** {p!r}" if p > 1 else power("abs($1)", p))
    total = reduce_dims("sum", g, map_formula(g, as_real_numbers(g, x), raised), at, keep)
    return total if p == 1 else map_formula(g, total, power("$1", 1 / p), "norm")


def distances(
    g: DimensionBuilder, x: Operand, y: Operand, p: float = 2.0, *more: Any
) -> ImportedValue:
    """Adds the distance of each row of one array to each of another."""
    one, two = g.value(x), g.value(y)
    rows = ImportedValue((*one.dims[:-1], (), one.dims[-1]), one.slot)
    apart = broadcast(
        g, rows, ImportedValue((*two.dims[:-2], (), *two.dims[-2:]), two.slot), "$1 - $2"
    )
    return vector_norm(g, apart, p, -1)


# What of it is learned from is inside; the ends have the values and slopes that torch gives them.
SHARE = "where($1 * (1 - $1) > 0, $1, 1 / 2)"
BINARY_CROSS_ENTROPY = (
    "where($1 <= 0, $2 * (100 - 1e12 * $1), where($1 >= 1, (1 - $2) * (100 + 1e12 * ($1 - 1)), "
    f"-$2 * max(log({SHARE}), -100) - (1 - $2) * max(log1p(-{SHARE}), -100)))"
)


def binary_cross_entropy(
    g: DimensionBuilder, x: Operand, target: Operand, weight: Any = None, reduction: int = 1
) -> ImportedValue:
    """Adds the loss of shares between 0 and 1; reduction 0 keeps all, 1 is the mean, 2 the sum."""
    found = broadcast(g, x, target, BINARY_CROSS_ENTROPY, "binary cross-entropy")
    found = found if weight is None else broadcast(g, found, weight, "$1 * $2")
    return found if reduction == 0 else reduce_dims(("mean", "sum")[reduction - 1], g, found)


def softmax(g: DimensionBuilder, x: Operand, at: int, *more: Any, **named: Any) -> ImportedValue:
    value = g.materialise(g.value(x))
    at %= len(value.dims) or 1
    dim = resolved_atoms(value.dims[at]) if value.dims else ()
    if not dim:
        g.reject_call("a softmax of one number")
    if group_of(dim[0]) != dim:
        value = g.as_one_axis(value, at)
    atoms = resolved_atoms(value.dims[at])

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        return Softmax(axes(atoms))

    return g.op(make, [value], value.dims)


def top(
    g: DimensionBuilder, x: Operand, k: int, at: int = -1, largest: bool = True, *more: Any
) -> Any:
    """Adds the k largest numbers along a dimension, and their positions."""
    if not largest:
        g.reject_call("the smallest numbers")
    value = g.value(x)
    if not value.dims:
        g.reject_call("the largest of one number")
    at %= len(value.dims)
    value = g.as_one_axis(value, at)
    old = resolved_atoms(value.dims[at])
    new = (AxisFactor(k, "n"),)
    rest = tuple(atom for atom in resolved_atoms(value.slot.atoms) if atom not in old)
    slots = [ImportedArray((*rest, *new)), ImportedArray((*rest, *new), "whole", old[0])]

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        return Top(Signature(Type((axes(old),)), Type((axes(new),))))

    g.step(make, [value], slots)
    dims = (*value.dims[:at], new, *value.dims[at + 1 :])
    return tuple(ImportedValue(dims, slot) for slot in slots)


def attention(
    g: DimensionBuilder,
    query: Operand,
    key: Operand,
    value: Operand,
    mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    scale: Any = None,
    enable_gqa: bool = False,
) -> ImportedValue:
    """Adds scaled dot-product attention in its steps."""
    q, k, v = map(g.value, (query, key, value))
    if enable_gqa:
        q, k, v = _repeat_heads(g, q, k, v)
    for dim in (q.dims[-1], v.dims[-1]):
        g.suggest_name(dim, "k")
    scores = product(g, q, k, -1, -2)
    usual = size(q.dims[-1]) ** -0.5
    scores = scale_by(g, scores, usual if scale is None else scale)
    mask, blind = _without_blind_rows(mask)
    if mask is not None:
        scores = _with_mask(g, scores, mask)
    if is_causal:
        scores = causal(g, scores)
    weights = softmax(g, scores, -1)
    if blind is not None:
        weights = masked_fill(g, weights, blind, 0.0)
    weights = dropout(g, weights, dropout_p, dropout_p > 0)
    return product(g, weights, v, -2, -1)


def _without_blind_rows(mask: Any) -> tuple[Any, Any]:
    """Returns a mask that lets each row see, and the rows that saw nothing: torch weighs them 0."""
    if not isinstance(mask, ImportedConstant) or mask.tensor.dim() == 0:
        return mask, None
    real = mask.tensor.is_floating_point()
    blind = ~(mask.tensor > -inf if real else mask.tensor.bool()).any(-1, keepdim=True)
    if not bool(blind.any()):
        return mask, None
    seen = mask.tensor.masked_fill(blind, 0 if real else True)
    return ImportedConstant(seen), ImportedConstant(blind)


def _with_mask(g: DimensionBuilder, scores: ImportedValue, mask: Any) -> ImportedValue:
    boolean = (
        mask.tensor.dtype.is_floating_point is False
        if isinstance(mask, ImportedConstant)
        else mask.slot.kind != "real"
    )
    if not boolean:
        return binary("add", g, scores, mask)
    if isinstance(mask, ImportedConstant):
        return masked_fill(g, scores, ImportedConstant(~mask.tensor.bool()), -inf)
    return broadcast(g, scores, mask, "where($2 > 0, $1, (-inf))", "mask")


def _repeat_heads(
    g: DimensionBuilder, q: ImportedValue, k: ImportedValue, v: ImportedValue
) -> tuple[ImportedValue, ImportedValue, ImportedValue]:
    """Returns keys and values whose heads serve several heads of the queries."""
    times = q.shape[-3] // k.shape[-3]
    extra = new_dim(times, "q")
    g.record_cooccurrence(extra)

    def wide(x: ImportedValue) -> ImportedValue:
        return ImportedValue((*x.dims[:-3], (*x.dims[-3], *extra), *x.dims[-2:]), x.slot)

    return q, wide(k), wide(v)


REDUCTION_CALLS: dict[str, Handler] = {
    **{name: partial(reduce_dims, name) for name in REDUCTION_NAMES},
    **dict.fromkeys(("softmax", "_softmax"), softmax),
    "binary_cross_entropy": binary_cross_entropy,
    **dict.fromkeys(("cdist", "_cdist_forward"), distances),
    "std": lambda g, x, *args, **named: deviation(g, x, *args, **named)[0],
    "std_mean": deviation,
    "linalg_vector_norm": vector_norm,
    "var": lambda g, x, *args, **named: variance(g, x, *args, **named)[0],
    "var_mean": variance,
    "scaled_dot_product_attention": attention,
    "topk": top,
}
