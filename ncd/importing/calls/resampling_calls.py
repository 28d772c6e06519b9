"""Reads means of windows of several lengths, and pictures made larger or smaller."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any

import torch

from ncd.importing.base.atoms import Atom, fresh, leaves, size
from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import Axes, Constant, Handler, Operand, Value
from ncd.importing.calls.arithmetic_calls import scaled
from ncd.importing.calls.formulas import as_real
from ncd.importing.calls.lookup_calls import selected
from ncd.importing.calls.product_calls import einsum_of
from ncd.importing.calls.reduction_calls import reduced
from ncd.importing.calls.sliding_calls import sides
from ncd.importing.calls.window_calls import average_pool, max_pool
from ncd.lang.formulas.formula import parse
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array, Signature, Type
from ncd.ops import Map

ENTRIES = 2**20  # of a matrix that is made by a formula


def mixed(g: Builder, x: Value, at: int, count: int, formula: str, title: str) -> Value:
    """Multiplies a dimension by a matrix of known numbers.

    Args:
        x: The array.
        at: The dimension.
        count: The size that it gets.
        formula: An entry of the matrix, in ``o`` and ``i``: the new and the old position.
        title: The name of the matrix.
    """
    x = g.single(x, at)
    old = leaves(x.dims[at])
    if count * size(old) > ENTRIES:
        g.refuse("positions that are too many for a matrix")
    hint = old[0].hint if old[0].hint != "one" else ""
    new = (Atom(count, hint, sealed=True, alone=True),)
    g.meet((*old, *new))

    def entries(axes: Axes, arrays: Sequence[Array]) -> Term:
        both = axes((*new, *old))
        named = formula.format(o=both[0].identifier, i=both[1].identifier)
        return Map(Signature(Type(), Type((both,))), parse(named), title)

    matrix = g.op(entries, (), (new, old))
    dims = (*x.dims[:at], new, *x.dims[at + 1 :])
    atoms = tuple(a for dim in dims for a in leaves(dim))

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        return einsum_of(arrays, axes(atoms), axes(old))

    return g.op(make, [x, matrix], dims)


def _each(g: Builder, x: Operand, formulas: Sequence[str], sizes: Sequence[int], title: str) -> Any:
    """Multiplies the last dimensions by matrices; those of the same size stay if there is none."""
    value = g.solid(as_real(g, x))
    for i, (formula, count) in enumerate(zip(formulas, sizes, strict=True)):
        if formula:
            at = len(value.dims) - len(sizes) + i
            value = mixed(g, value, at, count, formula, title)
    return value


# means of windows ---------------------------------------------------------------------------------


def mean_pool(
    n: int,
    g: Builder,
    x: Operand,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil: bool = False,
    count_include_pad: bool = True,
    divisor: Any = None,
) -> Value:
    """Adds means of windows; those that are cut off at an end divide by fewer numbers."""
    padded = any(sides(padding, n)) and not (count_include_pad or divisor)
    lengths, pads = sides(kernel, n), sides(padding, n)
    if not (ceil or padded):
        found = average_pool(n, g, x, kernel, stride, padding)
        return scaled(g, found, prod(lengths) / divisor) if divisor else found
    if divisor:
        g.refuse("windows that are cut off, and divided by one number")
    value = g.value(x)
    steps = sides(stride, n) if stride else lengths
    formulas = []
    for have, k, s, p in zip(value.shape[-n:], lengths, steps, pads, strict=True):
        start, end = f"({{o}} * {s} - {p})", f"min({{o}} * {s} - {p} + {k}, {have + p})"
        low, high = f"max({start}, 0)", f"min({end}, {have})"
        over = f"({end} - {start})" if count_include_pad else f"({high} - {low})"
        formulas.append(f"where({{i}} >= {low} and {{i}} < {high}, 1 / {over}, 0)")
    return _each(g, value, formulas, g.shape[-n:], "means")


def adaptive_mean(n: int, g: Builder, x: Operand, sizes: Any) -> Value:
    """Adds means of as many windows as are wanted, which may overlap."""
    value = g.value(x)
    shape = value.shape[-n:]
    wanted = sides(sizes, n)
    if all(k == 1 for k in wanted):
        return reduced("mean", g, value, list(range(-n, 0)), True)
    if not any(have % k for have, k in zip(shape, wanted, strict=True)):
        lengths = [have // k for have, k in zip(shape, wanted, strict=True)]
        return value if set(lengths) == {1} else average_pool(n, g, value, lengths)
    formulas = []
    for have, k in zip(shape, wanted, strict=True):
        low, high = f"floor({{o}} * {have} / {k})", f"ceil(({{o}} + 1) * {have} / {k})"
        inside = f"{{i}} >= {low} and {{i}} < {high}"
        formulas.append(f"where({inside}, 1 / ({high} - {low}), 0)" if have != k else "")
    return _each(g, value, formulas, wanted, "means")


# largest numbers of windows -----------------------------------------------------------------------


def adaptive_max(n: int, g: Builder, x: Operand, sizes: Any) -> tuple[Value, None]:
    """Adds the largest numbers of as many windows as are wanted; their places are not read."""
    if 1 in g.used:
        g.refuse("the places of the largest numbers")
    value = g.value(x)
    shape = value.shape[-n:]
    wanted = sides(sizes, n)
    if all(k == 1 for k in wanted):
        return reduced("amax", g, value, list(range(-n, 0)), True), None
    if not any(have % k for have, k in zip(shape, wanted, strict=True)):
        lengths = [have // k for have, k in zip(shape, wanted, strict=True)]
        return (value if set(lengths) == {1} else max_pool(n, g, value, lengths)), None
    for i, (have, k) in enumerate(zip(shape, wanted, strict=True)):
        starts = [o * have // k for o in range(k)]
        ends = [-(-(o + 1) * have // k) for o in range(k)]
        value = most_of(g, value, len(value.dims) - n + i, starts, ends)
    return value, None


def most_of(g: Builder, x: Value, at: int, starts: Sequence[int], ends: Sequence[int]) -> Value:
    """Returns the largest number of each window of a dimension, by its places."""
    longest = max(end - start for start, end in zip(starts, ends, strict=True))
    places = [
        [min(s + j, e - 1) for j in range(longest)] for s, e in zip(starts, ends, strict=True)
    ]
    found = selected(g, x, at, Constant(torch.tensor(places)))
    return reduced("amax", g, found, at + 1)


def pooled_most(
    n: int,
    g: Builder,
    x: Operand,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil: bool = False,
) -> Value:
    """Adds the largest numbers of windows, also with gaps, or with one that is cut off."""
    gaps = sides(dilation, n)
    if not ceil and set(gaps) == {1}:
        return max_pool(n, g, x, kernel, stride, padding)
    value = g.value(x)
    lengths, pads = sides(kernel, n), sides(padding, n)
    steps = sides(stride, n) if stride else lengths
    first = len(value.dims) - n
    dimensions = zip(value.shape[first:], g.shape[-n:], lengths, steps, pads, gaps, strict=True)
    for i, (have, count, k, s, p, d) in enumerate(dimensions):
        windows = [[o * s - p + j * d for j in range(k)] for o in range(count)]
        inside = [[at for at in window if 0 <= at < have] for window in windows]
        places = [[*window, *[window[0]] * (k - len(window))] for window in inside]
        found = selected(g, value, first + i, Constant(torch.tensor(places)))
        value = reduced("amax", g, found, first + i + 1)
    return value


# larger and smaller pictures ----------------------------------------------------------------------


def linear_resize(n: int, g: Builder, x: Operand, sizes: Any, corners: bool, *given: Any) -> Value:
    """Adds numbers between neighbours, along each of the last dimensions."""
    value = g.value(x)
    shape = value.shape[-n:]
    scales = _scales(n, given)
    counts = g.shape[-n:]
    formulas = []
    for have, k, scale in zip(shape, counts, scales, strict=True):
        if corners:
            place = f"{{o}} * {have - 1} / {k - 1}" if k > 1 else "0"
        else:
            step = f"{have} / {k}" if not scale else f"{1 / scale!r}"
            place = f"clamp(({{o}} + 1 / 2) * {step} - 1 / 2, 0, {have - 1})"
        same = have == k and (corners or scale in (None, 1.0))
        formulas.append("" if same else f"max(0, 1 - abs({place} - {{i}}))")
    return _each(g, value, formulas, counts, "between")


def nearest_resize(n: int, exact: bool, g: Builder, x: Operand, sizes: Any, *given: Any) -> Value:
    """Repeats each number, or looks up the nearest one, along each of the last dimensions."""
    value = g.value(x)
    rank = len(value.dims)
    kind = f"{'_' * exact}upsample_nearest{'_exact' * exact}1d"
    resize = getattr(torch.ops.aten, kind)
    for at, k, scale in zip(range(rank - n, rank), g.shape[-n:], _scales(n, given), strict=True):
        have = size(value.dims[at])
        if k % have == 0 and scale in (None, k / have):
            extra = fresh(k // have)
            dims = (*value.dims[:at], (*value.dims[at], *extra), *value.dims[at + 1 :])
            value = Value(dims, value.slot)
            g.meet(leaf for dim in dims for leaf in leaves(dim))
            value = g.single(value, at)  # one side by itself, which a skip meets
        else:
            row = torch.arange(have, dtype=torch.float64)[None, None]
            places = resize(row, [k], scale)[0, 0].long()
            value = selected(g, value, at, Constant(places))
    return value


def _scales(n: int, given: Sequence[Any]) -> list[float | None]:
    """Returns the factors that a call names, one for each dimension."""
    factors = given[0] if given and isinstance(given[0], list | tuple) else [*given]
    return [*factors] if len(factors) == n else [None] * n


LINEAR = {1: "upsample_linear1d", 2: "upsample_bilinear2d", 3: "upsample_trilinear3d"}
CALLS: dict[str, Handler] = {
    **{f"adaptive_avg_pool{n}d": partial(adaptive_mean, n) for n in (1, 2, 3)},
    **{f"adaptive_max_pool{n}d": partial(adaptive_max, n) for n in (1, 2, 3)},
    **{f"avg_pool{n}d": partial(mean_pool, n) for n in (1, 2, 3)},
    **{f"max_pool{n}d": partial(pooled_most, n) for n in (1, 2, 3)},
    **{name: partial(linear_resize, n) for n, name in LINEAR.items()},
    **{f"upsample_nearest{n}d": partial(nearest_resize, n, False) for n in (1, 2, 3)},
    **{f"_upsample_nearest_exact{n}d": partial(nearest_resize, n, True) for n in (1, 2, 3)},
}
