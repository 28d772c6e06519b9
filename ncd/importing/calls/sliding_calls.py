"""Windows as axes, for convolutions whose kernel is computed, and sums of windows."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from string import ascii_lowercase
from typing import Any

from ncd.importing.base.atoms import Atom, leaves
from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import Axes, Handler, Operand, Value
from ncd.importing.base.op_order import in_order
from ncd.importing.calls.formulas import as_real, broadcast
from ncd.importing.calls.product_calls import einsum
from ncd.importing.calls.shape_calls import view_as
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array, Signature, Type
from ncd.ops import Fold, Window

Sizes = Sequence[int]
Settings = Sequence[tuple[int, int, int]]  # stride, padding and dilation of each dimension


def sides(values: Any, n: int) -> tuple[int, ...]:
    """Returns a number for each of ``n`` dimensions."""
    found = (values,) * n if isinstance(values, int) else tuple(map(int, values))
    return found * n if len(found) == 1 else found


def windows(g: Builder, x: Value, at: int, k: int, step: int, pad: int, gap: int) -> Value:
    """Returns the windows of a dimension in its place, and their places as the last dimension."""
    x = g.single(x, at)
    old = leaves(x.dims[at])
    count = (old[0].size + 2 * pad - gap * (k - 1) - 1) // step + 1
    new, place = (Atom(count, old[0].hint, sealed=True),), (Atom(k, "w", sealed=True),)

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        pattern = Signature(Type((axes(old),)), Type((axes((*new, *place)),)))
        return Window(pattern, k, step, pad, gap)

    return g.op(make, [x], (*x.dims[:at], new, *x.dims[at + 1 :], place))


def summed(
    g: Builder, x: Value, at: int, place: int, count: int, step: int, pad: int, gap: int
) -> Value:
    """Returns the sum of the windows of a dimension, whose places are another one."""
    x = g.single(g.single(x, at), place)
    old, window = leaves(x.dims[at]), leaves(x.dims[place])
    new = (Atom(count, old[0].hint, sealed=True),)
    dims = [new if i == at else dim for i, dim in enumerate(x.dims) if i != place]

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        both = axes((*old, *window))
        pattern = Signature(Type((both,)), Type((axes(new),)))
        return in_order(arrays[0], both, Fold(pattern, window[0].size, step, pad, gap))

    return g.op(make, [x], tuple(dims))


def computed_convolution(
    g: Builder, x: Operand, weight: Operand, bias: Any, settings: Settings, groups: int
) -> Value:
    """Adds a convolution whose kernel is any array: windows, and a product with the kernel."""
    kernel = g.value(weight)
    outs, ins, *lengths = kernel.shape
    n, shape = len(lengths), g.shape
    value, lead = _grouped(g, x, n, (groups, ins))
    for i in range(n):
        value = windows(g, value, lead + 2 + i, lengths[i], *settings[i])
    kernel = view_as(g, kernel, (groups, outs // groups, ins, *lengths))
    batch, places, spots = _letters(lead, n)
    pattern = f"{batch}xy{places}{spots},xzy{spots}->{batch}xz{places}"
    return _biased(g, einsum(g, pattern, (value, kernel)), bias, shape, n)


def computed_transpose(
    g: Builder, x: Operand, weight: Operand, bias: Any, settings: Settings, groups: int
) -> Value:
    """Adds a transposed convolution of any kind: a product with the kernel, and sums of windows."""
    kernel = g.value(weight)
    ins, outs, *lengths = kernel.shape
    n, shape = len(lengths), g.shape
    value, lead = _grouped(g, x, n, (groups, ins // groups))
    kernel = view_as(g, kernel, (groups, ins // groups, outs, *lengths))
    batch, places, spots = _letters(lead, n)
    pattern = f"{batch}xy{places},xyz{spots}->{batch}xz{places}{spots}"
    found = einsum(g, pattern, (value, kernel))
    for i in range(n):
        count = shape[len(shape) - n + i]
        found = summed(g, found, lead + 2 + i, lead + 2 + n, count, *settings[i])
    return _biased(g, found, bias, shape, n)


def _grouped(g: Builder, x: Operand, n: int, channels: tuple[int, int]) -> tuple[Value, int]:
    """Returns an array with its channels in groups, and how many dimensions stand before them."""
    value = g.solid(as_real(g, x))
    lead = len(value.dims) - n - 1
    return view_as(g, value, (*value.shape[:lead], *channels, *value.shape[lead + 1 :])), lead


def _letters(lead: int, n: int) -> tuple[str, str, str]:
    """Returns letters for a batch, positions, and places in windows."""
    every = ascii_lowercase
    return every[:lead], every[lead : lead + n], every[lead + n : lead + 2 * n]


def _biased(g: Builder, x: Value, bias: Any, shape: Sizes, n: int) -> Value:
    found = view_as(g, x, shape)
    if bias is None:
        return found
    row = g.value(bias)
    return broadcast(g, found, Value((*row.dims, *((),) * n), row.slot), "$1 + $2")


def fold(
    g: Builder, x: Operand, sizes: Any, kernel: Any, gaps: Any, pads: Any, steps: Any
) -> Value:
    """Adds windows up to a picture: torch's ``Fold``."""
    value = g.solid(as_real(g, x))
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
        value = summed(g, value, lead + 3, lead + 1, sizes[i], step[i], pad[i], gap[i])
    return view_as(g, value, shape)


CALLS: dict[str, Handler] = {"col2im": fold}
