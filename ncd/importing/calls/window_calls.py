"""Reads convolutions and pooling."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ncd.importing.base.atoms import VAGUE, Atom, leaves, make_group
from ncd.importing.base.builder import Builder
from ncd.importing.base.import_values import Axes, Constant, Handler, Operand, Value
from ncd.importing.base.op_order import in_order, parameter_name
from ncd.importing.calls.product_calls import own
from ncd.importing.calls.sliding_calls import computed_convolution, computed_transpose, sides
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array, Signature, Type
from ncd.ops import Conv, ConvTranspose, MaxPool
from ncd.ops.windows.mean_pool import mean_of_windows
from ncd.ops.windows.window_shapes import Sides, spread


def _sides(values: Any) -> Sides:
    """Returns a number, or one for each dimension where they differ."""
    numbers = (values,) if isinstance(values, int) else tuple(map(int, values))
    return numbers[0] if len(set(numbers)) == 1 else numbers


def _half(g: Builder, kernel: Sides, gap: Sides, n: int) -> Sides:
    """Returns the padding with which a window keeps the size."""
    lengths, gaps = spread(kernel, n), spread(gap, n)
    if any(length % 2 == 0 for length in lengths):
        g.refuse("an even kernel with the same size")
    return _sides([d * (k - 1) // 2 for k, d in zip(lengths, gaps, strict=True)])


def convolution(
    g: Builder,
    x: Operand,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> Value:
    shape = weight.tensor.shape if isinstance(weight, Constant) else weight.shape
    n = len(shape) - 2
    kernel = _sides(shape[2:])
    if padding == "same":
        padding = _half(g, kernel, _sides(dilation), n)
    padding = 0 if padding == "valid" else padding
    if not own(g, weight) or not (bias is None or own(g, bias)):
        each = (sides(value, n) for value in (stride, padding, dilation))
        return computed_convolution(g, x, weight, bias, [*zip(*each, strict=True)], groups)
    numbers = [_sides(v) for v in (stride, padding, dilation)]
    name = parameter_name(weight.layer, g.path)

    def made(pattern: Signature) -> Term:
        step, pad, gap = numbers
        return Conv(pattern, name, kernel, step, pad, bias is not None, gap, groups)

    weights = [weight] if bias is None else [weight, bias]
    return windowed(g, x, n, weight.tensor.shape[0], made, weights)


def transposed(
    g: Builder,
    x: Operand,
    weight: Any,
    bias: Any = None,
    stride: Any = 1,
    padding: Any = 0,
    output_padding: Any = 0,
    groups: int = 1,
    dilation: Any = 1,
) -> Value:
    plain = own(g, weight) and (bias is None or own(g, bias))
    if not plain or groups != 1 or _sides(dilation) != 1 or _sides(output_padding) != 0:
        n = len(g.value(weight).dims) - 2
        each = (sides(value, n) for value in (stride, padding, dilation))
        return computed_transpose(g, x, weight, bias, [*zip(*each, strict=True)], groups)
    kernel = _sides(weight.tensor.shape[2:])
    steps = (_sides(stride), _sides(padding))
    name = parameter_name(weight.layer, g.path)

    def made(pattern: Signature) -> Term:
        return ConvTranspose(pattern, name, kernel, *steps, bias is not None)

    weights = [weight] if bias is None else [weight, bias]
    return windowed(g, x, weight.tensor.dim() - 2, weight.tensor.shape[1], made, weights)


def as_signal(x: Value) -> None:
    """Suggests names for channels along one dimension of positions, if they have usual ones."""
    channels, places = (leaves(dim)[-1:] for dim in x.dims[-2:])
    if channels and places and channels[0].hint == "t" and places[0].hint in VAGUE:
        channels[0].hint, places[0].hint = "c", "t"


def windowed(
    g: Builder,
    x: Operand,
    n: int,
    channels: int | None,
    made: Callable[[Signature], Term],
    weights: Sequence[Constant] = (),
) -> Value:
    """Adds an op on the last ``n`` dimensions, and on the channels before them if they change."""
    value = g.solid(g.value(x))
    if n == 1:
        as_signal(value)
    places = range(len(value.dims) - n, len(value.dims))
    value = g.grouped(value, places) if n > 1 else g.single(value, len(value.dims) - 1)
    at = len(value.dims) - n - 1
    if channels is not None and not value.dims[at]:
        value = g.single(value, at)
    old = tuple(atom for i in places for atom in leaves(value.dims[i]))
    sizes = g.shape[len(g.shape) - n :]
    same = tuple(sizes) == tuple(atom.size for atom in old)
    new = old
    if not same:
        new = tuple(Atom(k, one.hint, sealed=True) for k, one in zip(sizes, old, strict=True))
    if not same and n > 1:
        make_group(new)
    before = leaves(value.dims[at]) if channels is not None else ()
    hint = g.axis_hint(weights[0], 0, "c") if weights else "c"
    after = (Atom(channels, hint if hint == "classes" else "c"),) if channels is not None else ()

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        one = Array((*axes(before), *axes(old)))
        two = Array((*axes(after), *axes(new)))
        return _placed(arrays[0], one, made(Signature(Type((one,)), Type((two,)))))

    lead = value.dims[:at] if channels is not None else value.dims[: at + 1]
    more = (after,) if channels is not None else ()
    return g.op(make, [value], (*lead, *more, *((atom,) for atom in new)), weights)


def _placed(array: Array, own: Array, term: Term) -> Term:
    """Returns a term behind an op that puts channels before positions, where they are not."""
    at = [array.names.index(name) for name in own.names]
    return term if at == sorted(at) else in_order(array, own, term)


def _pooled(
    made: Callable[[Signature, Sides, Sides, Sides], Term],
    n: int,
    g: Builder,
    x: Operand,
    kernel: Any,
    stride: Any = None,
    padding: Any = 0,
) -> Value:
    length = _sides(kernel)
    step = _sides(stride) if stride else length
    pad = _sides(padding)
    return windowed(g, x, n, None, lambda pattern: made(pattern, length, step, pad))


max_pool, average_pool = partial(_pooled, MaxPool), partial(_pooled, mean_of_windows)
CALLS: dict[str, Handler] = {
    **dict.fromkeys(("conv1d", "conv2d", "conv3d"), convolution),
    **dict.fromkeys(("conv_transpose1d", "conv_transpose2d", "conv_transpose3d"), transposed),
}
