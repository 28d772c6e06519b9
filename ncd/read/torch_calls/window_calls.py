"""Convolutions, pooling, sliding windows, and pictures made larger or smaller."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from string import ascii_lowercase
from typing import Any

import torch

from ncd.formulas.formula import parse
from ncd.language.axes import Array, Signature, Type
from ncd.language.terms import Term
from ncd.ops import Conv, ConvTranspose, Fold, Map, MaxPool, Window
from ncd.ops.pooling import mean_of_windows
from ncd.ops.sliding_window import Sides, per_dimension
from ncd.read.torch_calls.dimension_atoms import (
    VAGUE,
    AxisFactor,
    make_group,
    new_dim,
    resolved_atoms,
    size,
)
from ncd.read.torch_calls.elementwise_calls import as_real_numbers, broadcast, scale_by
from ncd.read.torch_calls.import_recorder import (
    Axes,
    DimensionBuilder,
    Handler,
    ImportedConstant,
    ImportedValue,
    Operand,
    in_order,
    parameter_name,
)
from ncd.read.torch_calls.lookup_calls import lookup_positions
from ncd.read.torch_calls.product_calls import einsum, einsum_of, is_unshared_parameter, reduce_dims
from ncd.read.torch_calls.shape_calls import view_as

# --- Windows as axes, for convolutions whose kernel is computed, and sums of windows

Sizes = Sequence[int]
Settings = Sequence[tuple[int, int, int]]  # stride, padding and dilation of each dimension


def sides(values: Any, n: int) -> tuple[int, ...]:
    """Returns a number for each of ``n`` dimensions."""
    found = (values,) * n if isinstance(values, int) else tuple(map(int, values))
    return found * n if len(found) == 1 else found


def windows(
    g: DimensionBuilder, x: ImportedValue, at: int, k: int, step: int, pad: int, gap: int
) -> ImportedValue:
    """Returns the windows of a dimension in its place, and their places as the last dimension."""
    x = g.as_one_axis(x, at)
    old = resolved_atoms(x.dims[at])
    count = (old[0].size + 2 * pad - gap * (k - 1) - 1) // step + 1
    new, place = (
        (AxisFactor(count, old[0].hint, is_indivisible=True),),
        (AxisFactor(k, "w", is_indivisible=True),),
    )

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        pattern = Signature(Type((axes(old),)), Type((axes((*new, *place)),)))
        return Window(pattern, k, step, pad, gap)

    return g.op(make, [x], (*x.dims[:at], new, *x.dims[at + 1 :], place))


def sum_windows(
    g: DimensionBuilder,
    x: ImportedValue,
    at: int,
    place: int,
    count: int,
    step: int,
    pad: int,
    gap: int,
) -> ImportedValue:
    """Returns the sum of the windows of a dimension, whose places are another one."""
    x = g.as_one_axis(g.as_one_axis(x, at), place)
    old, window = resolved_atoms(x.dims[at]), resolved_atoms(x.dims[place])
    new = (AxisFactor(count, old[0].hint, is_indivisible=True),)
    dims = [new if i == at else dim for i, dim in enumerate(x.dims) if i != place]

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        both = axes((*old, *window))
        pattern = Signature(Type((both,)), Type((axes(new),)))
        return in_order(arrays[0], both, Fold(pattern, window[0].size, step, pad, gap))

    return g.op(make, [x], tuple(dims))


def computed_convolution(
    g: DimensionBuilder, x: Operand, weight: Operand, bias: Any, settings: Settings, groups: int
) -> ImportedValue:
    """Adds a convolution whose kernel is any array: windows, and a product with the kernel."""
    kernel = g.value(weight)
    outs, ins, *lengths = kernel.shape
    n, shape = len(lengths), g.shape
    value, lead = _group_channels(g, x, n, (groups, ins))
    for i in range(n):
        value = windows(g, value, lead + 2 + i, lengths[i], *settings[i])
    kernel = view_as(g, kernel, (groups, outs // groups, ins, *lengths))
    batch, places, spots = _letters(lead, n)
    pattern = f"{batch}xy{places}{spots},xzy{spots}->{batch}xz{places}"
    return _add_bias(g, einsum(g, pattern, (value, kernel)), bias, shape, n)


def computed_transpose(
    g: DimensionBuilder, x: Operand, weight: Operand, bias: Any, settings: Settings, groups: int
) -> ImportedValue:
    """Adds a transposed convolution of any kind: a product with the kernel, and sums of windows."""
    kernel = g.value(weight)
    ins, outs, *lengths = kernel.shape
    n, shape = len(lengths), g.shape
    value, lead = _group_channels(g, x, n, (groups, ins // groups))
    kernel = view_as(g, kernel, (groups, ins // groups, outs, *lengths))
    batch, places, spots = _letters(lead, n)
    pattern = f"{batch}xy{places},xyz{spots}->{batch}xz{places}{spots}"
    found = einsum(g, pattern, (value, kernel))
    for i in range(n):
        count = shape[len(shape) - n + i]
        found = sum_windows(g, found, lead + 2 + i, lead + 2 + n, count, *settings[i])
    return _add_bias(g, found, bias, shape, n)


def _group_channels(
    g: DimensionBuilder, x: Operand, n: int, channels: tuple[int, int]
) -> tuple[ImportedValue, int]:
    """Returns an array with its channels in groups, and how many dimensions stand before them."""
    value = g.materialise(as_real_numbers(g, x))
    lead = len(value.dims) - n - 1
    return view_as(g, value, (*value.shape[:lead], *channels, *value.shape[lead + 1 :])), lead


def _letters(lead: int, n: int) -> tuple[str, str, str]:
    """Returns letters for a batch, positions, and places in windows."""
    every = ascii_lowercase
    return every[:lead], every[lead : lead + n], every[lead + n : lead + 2 * n]


def _add_bias(
    g: DimensionBuilder, x: ImportedValue, bias: Any, shape: Sizes, n: int
) -> ImportedValue:
    found = view_as(g, x, shape)
    if bias is None:
        return found
    row = g.value(bias)
    return broadcast(g, found, ImportedValue((*row.dims, *((),) * n), row.slot), "$1 + $2")


def fold(
    g: DimensionBuilder, x: Operand, sizes: Any, kernel: Any, gaps: Any, pads: Any, steps: Any
) -> ImportedValue:
    """Adds windows up to a picture: torch's ``Fold``."""
    value = g.materialise(as_real_numbers(g, x))
    shape, n = g.shape, 2
    lengths, gap, pad, step = (sides(each, n) for each in (kernel, gaps, pads, steps))
    counts = [
        (have + 2 * p - d * (k - 1) - 1) // s + 1
        for have, k, d, p, s in zip(sizes, lengths, gap, pad, step, strict=True)
    ]
    channels = value.shape[-2] // prod(lengths)
    lead = len(value.dims) - 2
    value = view_as(g, value, (*value.shape[:lead], channels, *lengths, *counts))
    for i in range(n):  # each takes the first lengths, and the counts that stand behind them
        value = sum_windows(g, value, lead + 3, lead + 1, sizes[i], step[i], pad[i], gap[i])
    return view_as(g, value, shape)


SLIDING_CALLS: dict[str, Handler] = {"col2im": fold}


# --- Reads convolutions and pooling


def _sides(values: Any) -> Sides:
    """Returns a number, or one for each dimension where they differ."""
    numbers = (values,) if isinstance(values, int) else tuple(map(int, values))
    return numbers[0] if len(set(numbers)) == 1 else numbers


def _half(g: DimensionBuilder, kernel: Sides, gap: Sides, n: int) -> Sides:
    """Returns the padding with which a window keeps the size."""
    lengths, gaps = per_dimension(kernel, n), per_dimension(gap, n)
    if any(length % 2 == 0 for length in lengths):
        g.reject_call("an even kernel with the same size")
    return _sides([d * (k - 1) // 2 for k, d in zip(lengths, gaps, strict=True)])


def convolution(
    g: DimensionBuilder,
    x: Operand,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> ImportedValue:
    shape = weight.tensor.shape if isinstance(weight, ImportedConstant) else weight.shape
    n = len(shape) - 2
    kernel = _sides(shape[2:])
    if padding == "same":
        padding = _half(g, kernel, _sides(dilation), n)
    padding = 0 if padding == "valid" else padding
    if not is_unshared_parameter(g, weight) or not (bias is None or is_unshared_parameter(g, bias)):
        each = (sides(value, n) for value in (stride, padding, dilation))
        return computed_convolution(g, x, weight, bias, [*zip(*each, strict=True)], groups)
    numbers = [_sides(v) for v in (stride, padding, dilation)]
    name = parameter_name(weight.layer, g.path)

    def made(pattern: Signature) -> Term:
        step, pad, gap = numbers
        return Conv(pattern, name, kernel, step, pad, bias is not None, gap, groups)

    weights = [weight] if bias is None else [weight, bias]
    return add_window_op(g, x, n, weight.tensor.shape[0], made, weights)


def transposed_convolution(
    g: DimensionBuilder,
    x: Operand,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> ImportedValue:
    plain = is_unshared_parameter(g, weight) and (bias is None or is_unshared_parameter(g, bias))
    if not plain or groups != 1:
        n = len(g.value(weight).dims) - 2
        each = (sides(value, n) for value in (stride, padding, dilation))
        return computed_transpose(g, x, weight, bias, [*zip(*each, strict=True)], groups)
    kernel = _sides(weight.tensor.shape[2:])
    numbers = [_sides(v) for v in (stride, padding, output_padding, dilation)]
    name = parameter_name(weight.layer, g.path)

    def made(pattern: Signature) -> Term:
        step, pad, more, gap = numbers
        return ConvTranspose(pattern, name, kernel, step, pad, bias is not None, more, gap)

    weights = [weight] if bias is None else [weight, bias]
    return add_window_op(g, x, weight.tensor.dim() - 2, weight.tensor.shape[1], made, weights)


def as_signal(x: ImportedValue) -> None:
    """Suggests names for channels along one dimension of positions, if they have usual ones."""
    channels, places = (resolved_atoms(dim)[-1:] for dim in x.dims[-2:])
    if channels and places and channels[0].hint == "t" and places[0].hint in VAGUE:
        channels[0].hint, places[0].hint = "c", "t"


def _pooled_factor(size: int, old: AxisFactor) -> AxisFactor:
    """Returns the axis of the results of a window, named as the one that it runs along."""
    return AxisFactor(size, old.hint, is_indivisible=True)


def add_window_op(
    g: DimensionBuilder,
    x: Operand,
    n: int,
    channels: int | None,
    made: Callable[[Signature], Term],
    weights: Sequence[ImportedConstant] = (),
) -> ImportedValue:
    """Adds an op on the last ``n`` dimensions, and on the channels before them if they change."""
    value = g.materialise(g.value(x))
    if n == 1:
        as_signal(value)
    places = range(len(value.dims) - n, len(value.dims))
    value = g.as_group(value, places) if n > 1 else g.as_one_axis(value, len(value.dims) - 1)
    at = len(value.dims) - n - 1
    if channels is not None and not value.dims[at]:
        value = g.as_one_axis(value, at)
    old = tuple(atom for i in places for atom in resolved_atoms(value.dims[i]))
    sizes = g.shape[len(g.shape) - n :]
    same = tuple(sizes) == tuple(atom.size for atom in old)
    new = old if same else tuple(map(_pooled_factor, sizes, old))
    if not same and n > 1:
        make_group(new)
    before = resolved_atoms(value.dims[at]) if channels is not None else ()
    hint = g.axis_hint(weights[0], 0, "c") if weights else "c"
    after = (
        (AxisFactor(channels, hint if hint == "classes" else "c"),) if channels is not None else ()
    )

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        one = Array((*axes(before), *axes(old)))
        two = Array((*axes(after), *axes(new)))
        return _channels_first(arrays[0], one, made(Signature(Type((one,)), Type((two,)))))

    lead = value.dims[:at] if channels is not None else value.dims[: at + 1]
    more = (after,) if channels is not None else ()
    return g.op(make, [value], (*lead, *more, *((atom,) for atom in new)), weights)


def _channels_first(array: Array, own: Array, term: Term) -> Term:
    """Returns a term behind an op that puts channels before positions, where they are not."""
    at = [array.names.index(name) for name in own.names]
    return term if at == sorted(at) else in_order(array, own, term)


def _pool(
    made: Callable[[Signature, Sides, Sides, Sides], Term],
    n: int,
    g: DimensionBuilder,
    x: Operand,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
) -> ImportedValue:
    length = _sides(kernel)
    step = _sides(stride) if stride else length
    pad = _sides(padding)
    return add_window_op(g, x, n, None, lambda pattern: made(pattern, length, step, pad))


max_pool, average_pool = partial(_pool, MaxPool), partial(_pool, mean_of_windows)
WINDOW_CALLS: dict[str, Handler] = {
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), convolution),
    **dict.fromkeys(
        ("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), transposed_convolution
    ),
}


# --- Reads means of windows of several lengths, and pictures made larger or smaller

ENTRIES = 2**20  # of a matrix that is made by a formula


def multiply_by_matrix(
    g: DimensionBuilder, x: ImportedValue, at: int, count: int, formula: str, title: str
) -> ImportedValue:
    """Multiplies a dimension by a matrix of known numbers.

    Args:
        x: The array.
        at: The dimension.
        count: The size that it gets.
        formula: An entry of the matrix, in ``o`` and ``i``: the new and the old position.
        title: The name of the matrix.
    """
    x = g.as_one_axis(x, at)
    old = resolved_atoms(x.dims[at])
    if count * size(old) > ENTRIES:
        g.reject_call("positions that are too many for a matrix")
    hint = old[0].hint if old[0].hint != "one" else ""
    new = (AxisFactor(count, hint, is_indivisible=True, alone=True),)
    g.record_cooccurrence((*old, *new))

    def entries(axes: Axes, arrays: Sequence[Array]) -> Term:
        both = axes((*new, *old))
        named = formula.format(o=both[0].identifier, i=both[1].identifier)
        return Map(Signature(Type(), Type((both,))), parse(named), title)

    matrix = g.op(entries, (), (new, old))
    dims = (*x.dims[:at], new, *x.dims[at + 1 :])
    atoms = tuple(a for dim in dims for a in resolved_atoms(dim))

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        return einsum_of(arrays, axes(atoms), axes(old))

    return g.op(make, [x, matrix], dims)


def _multiply_dims(
    g: DimensionBuilder, x: Operand, formulas: Sequence[str], sizes: Sequence[int], title: str
) -> Any:
    """Multiplies the last dimensions by matrices; those of the same size stay if there is none."""
    value = g.materialise(as_real_numbers(g, x))
    for i, (formula, count) in enumerate(zip(formulas, sizes, strict=True)):
        if formula:
            at = len(value.dims) - len(sizes) + i
            value = multiply_by_matrix(g, value, at, count, formula, title)
    return value


# means of windows ---------------------------------------------------------------------------------


def mean_pool(
    n: int,
    g: DimensionBuilder,
    x: Operand,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil: bool = False,
    count_include_pad: bool = True,
    divisor: Any = None,
) -> ImportedValue:
    """Adds means of windows; those that are cut off at an end divide by fewer numbers."""
    padded = any(sides(padding, n)) and not (count_include_pad or divisor)
    lengths, pads = sides(kernel, n), sides(padding, n)
    if not (ceil or padded):
        found = average_pool(n, g, x, kernel, stride, padding)
        return scale_by(g, found, prod(lengths) / divisor) if divisor else found
    if divisor:
        g.reject_call("windows that are cut off, and divided by one number")
    value = g.value(x)
    steps = sides(stride, n) if stride else lengths
    formulas = []
    for have, k, s, p in zip(value.shape[-n:], lengths, steps, pads, strict=True):
        start, end = f"({{o}} * {s} - {p})", f"min({{o}} * {s} - {p} + {k}, {have + p})"
        low, high = f"max({start}, 0)", f"min({end}, {have})"
        over = f"({end} - {start})" if count_include_pad else f"({high} - {low})"
        formulas.append(f"where({{i}} >= {low} and {{i}} < {high}, 1 / {over}, 0)")
    return _multiply_dims(g, value, formulas, g.shape[-n:], "means")


def adaptive_mean(n: int, g: DimensionBuilder, x: Operand, sizes: Any) -> ImportedValue:
    """Adds means of as many windows as are wanted, which may overlap."""
    value = g.value(x)
    shape = value.shape[-n:]
    wanted = sides(sizes, n)
    if all(k == 1 for k in wanted):
        return reduce_dims("mean", g, value, list(range(-n, 0)), True)
    if not any(have % k for have, k in zip(shape, wanted, strict=True)):
        lengths = [have // k for have, k in zip(shape, wanted, strict=True)]
        return value if set(lengths) == {1} else average_pool(n, g, value, lengths)
    formulas = []
    for have, k in zip(shape, wanted, strict=True):
        low, high = f"floor({{o}} * {have} / {k})", f"ceil(({{o}} + 1) * {have} / {k})"
        inside = f"{{i}} >= {low} and {{i}} < {high}"
        formulas.append(f"where({inside}, 1 / ({high} - {low}), 0)" if have != k else "")
    return _multiply_dims(g, value, formulas, wanted, "means")


# largest numbers of windows -----------------------------------------------------------------------


def adaptive_max(n: int, g: DimensionBuilder, x: Operand, sizes: Any) -> tuple[ImportedValue, None]:
    """Adds the largest numbers of as many windows as are wanted; their places are not read."""
    if 1 in g.used_results:
        g.reject_call("the places of the largest numbers")
    value = g.value(x)
    shape = value.shape[-n:]
    wanted = sides(sizes, n)
    if all(k == 1 for k in wanted):
        return reduce_dims("amax", g, value, list(range(-n, 0)), True), None
    if not any(have % k for have, k in zip(shape, wanted, strict=True)):
        lengths = [have // k for have, k in zip(shape, wanted, strict=True)]
        return (value if set(lengths) == {1} else max_pool(n, g, value, lengths)), None
    for i, (have, k) in enumerate(zip(shape, wanted, strict=True)):
        starts = [o * have // k for o in range(k)]
        ends = [-(-(o + 1) * have // k) for o in range(k)]
        value = most_of(g, value, len(value.dims) - n + i, starts, ends)
    return value, None


def most_of(
    g: DimensionBuilder, x: ImportedValue, at: int, starts: Sequence[int], ends: Sequence[int]
) -> ImportedValue:
    """Returns the largest number of each window of a dimension, by its places."""
    longest = max(end - start for start, end in zip(starts, ends, strict=True))
    places = [
        [min(s + j, e - 1) for j in range(longest)] for s, e in zip(starts, ends, strict=True)
    ]
    found = lookup_positions(g, x, at, ImportedConstant(torch.tensor(places)))
    return reduce_dims("amax", g, found, at + 1)


def pooled_most(
    n: int,
    g: DimensionBuilder,
    x: Operand,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil: bool = False,
) -> ImportedValue:
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
        found = lookup_positions(g, value, first + i, ImportedConstant(torch.tensor(places)))
        value = reduce_dims("amax", g, found, first + i + 1)
    return value


# larger and smaller pictures ----------------------------------------------------------------------


def linear_resize(
    n: int, g: DimensionBuilder, x: Operand, sizes: Any, corners: bool, *given: Any
) -> ImportedValue:
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
    return _multiply_dims(g, value, formulas, counts, "between")


def nearest_resize(
    n: int, exact: bool, g: DimensionBuilder, x: Operand, sizes: Any, *given: Any
) -> ImportedValue:
    """Repeats each number, or looks up the nearest one, along each of the last dimensions."""
    value = g.value(x)
    rank = len(value.dims)
    kind = f"{'_' * exact}upsample_nearest{'_exact' * exact}1d"
    resize = getattr(torch.ops.aten, kind)
    for at, k, scale in zip(range(rank - n, rank), g.shape[-n:], _scales(n, given), strict=True):
        have = size(value.dims[at])
        if k % have == 0 and scale in (None, k / have):
            extra = new_dim(k // have)
            dims = (*value.dims[:at], (*value.dims[at], *extra), *value.dims[at + 1 :])
            value = ImportedValue(dims, value.slot)
            g.record_cooccurrence(leaf for dim in dims for leaf in resolved_atoms(dim))
            value = g.as_one_axis(value, at)  # one side by itself, which a skip meets
        else:
            row = torch.arange(have, dtype=torch.float64)[None, None]
            places = resize(row, [k], scale)[0, 0].long()
            value = lookup_positions(g, value, at, ImportedConstant(places))
    return value


def _scales(n: int, given: Sequence[Any]) -> list[float | None]:
    """Returns the factors that a call names, one for each dimension."""
    factors = given[0] if given and isinstance(given[0], list | tuple) else [*given]
    return [*factors] if len(factors) == n else [None] * n


LINEAR = {1: "upsample_linear1d", 2: "upsample_bilinear2d", 3: "upsample_trilinear3d"}
RESAMPLING_CALLS: dict[str, Handler] = {
    **{f"adaptive_avg_pool{n}d": partial(adaptive_mean, n) for n in (1, 2, 3)},
    **{f"adaptive_max_pool{n}d": partial(adaptive_max, n) for n in (1, 2, 3)},
    **{f"avg_pool{n}d": partial(mean_pool, n) for n in (1, 2, 3)},
    **{f"max_pool{n}d": partial(pooled_most, n) for n in (1, 2, 3)},
    **{name: partial(linear_resize, n) for n, name in LINEAR.items()},
    **{f"upsample_nearest{n}d": partial(nearest_resize, n, False) for n in (1, 2, 3)},
    **{f"_upsample_nearest_exact{n}d": partial(nearest_resize, n, True) for n in (1, 2, 3)},
}
