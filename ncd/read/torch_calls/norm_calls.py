"""Reads norms over channels, layers and groups."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import torch

from ncd.language.axes import Array
from ncd.language.terms import Term
from ncd.ops import BatchNorm, GroupNorm, LayerNorm, RMSNorm
from ncd.read.torch_calls.dimension_atoms import Dim, all_atoms, group_of, resolved_atoms
from ncd.read.torch_calls.elementwise_calls import broadcast, map_formula
from ncd.read.torch_calls.import_recorder import (
    Axes,
    DimensionBuilder,
    Handler,
    ImportedConstant,
    ImportedValue,
    Operand,
    in_order,
    norm_name,
    parameter_name,
)
from ncd.read.torch_calls.product_calls import is_unshared_parameter, reduce_atoms, reduce_dims
from ncd.read.torch_calls.shape_calls import view_as
from ncd.read.torch_calls.window_calls import as_signal


def layer_norm(
    g: DimensionBuilder,
    x: Operand,
    shape: Sequence[int],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *more: Any,
) -> ImportedValue:
    k = len(shape)
    value = _split_groups(g, g.materialise(g.value(x)), k)
    atoms = tuple(atom for dim in value.dims[len(value.dims) - k :] for atom in resolved_atoms(dim))
    if not atoms:
        g.reject_call("a norm of one number")
    given = [one for one in (weight, bias) if one is not None]
    if all(is_unshared_parameter(g, one) for one in given) and given != [bias]:
        name = norm_name(weight.layer, g.path) if given else "norm"

        def make(axes: Axes, arrays: Sequence[Array]) -> Term:
            term = LayerNorm(axes(atoms), name, eps, bias is not None or not given, bool(given))
            return in_order(arrays[0], axes(atoms), term)

        return g.op(make, [value], value.dims, given)
    found = standardise(g, value, atoms, eps)
    for other, sign in ((weight, "*"), (bias, "+")):
        if other is not None:
            found = broadcast(g, found, other, f"$1 {sign} $2")
    return found


def _split_groups(g: DimensionBuilder, x: ImportedValue, count: int) -> ImportedValue:
    """Returns the value without spatial groups that the last dimensions have one side of."""
    at = len(x.dims) - count
    return g.split_partial_groups(x, x.dims[:at], x.dims[at:])


def standardise(g: DimensionBuilder, x: ImportedValue, atoms: Dim, eps: float) -> ImportedValue:
    """Returns an array minus its mean along some atoms, over its deviation."""
    shifted = broadcast(g, x, reduce_atoms("mean", g, x, atoms), "$1 - $2")
    variance = reduce_atoms("mean", g, map_formula(g, shifted, "$1 ** 2"), atoms)
    return broadcast(g, shifted, variance, f"$1 / sqrt($2 + {eps!r})", "normalise")


def group_norm(
    g: DimensionBuilder,
    x: Operand,
    groups: int,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    *more: Any,
) -> ImportedValue:
    """Adds a group norm; as separate steps if its weights are shared."""
    value = g.materialise(g.value(x))
    shape = value.shape
    if (
        is_unshared_parameter(g, weight)
        and is_unshared_parameter(g, bias)
        and len(shape) > 2
        and shape[1] > 1
    ):
        return _of_groups(g, value, groups, weight, bias, eps)
    parted = view_as(g, value, (shape[0], groups, shape[1] // groups, *shape[2:]))
    atoms = all_atoms(parted.dims[2:])
    if not atoms:
        g.reject_call("a norm of one number")
    found = view_as(g, standardise(g, parted, atoms, eps), shape)
    for other, sign in ((weight, "*"), (bias, "+")):
        if other is not None:
            row = g.value(other)
            column = ImportedValue((*row.dims, *((),) * (len(shape) - 2)), row.slot)
            found = broadcast(g, found, column, f"$1 {sign} $2")
    return found


def _of_groups(
    g: DimensionBuilder,
    x: ImportedValue,
    groups: int,
    weight: ImportedConstant,
    bias: ImportedConstant,
    eps: float,
) -> ImportedValue:
    if len(x.dims) == 3:
        as_signal(x)
    x = g.as_one_axis(x, 1)
    (channel,), places = resolved_atoms(x.dims[1]), all_atoms(x.dims[2:])
    if not places:
        g.reject_call("a norm of one position")
    name = parameter_name(weight.layer, g.path)

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        order = axes((channel, *places))
        return in_order(arrays[0], order, GroupNorm(order, name, groups, eps))

    return g.op(make, [x], x.dims, [weight, bias])


def rms_norm(
    g: DimensionBuilder, x: Operand, shape: Sequence[int], weight: Any = None, eps: Any = None
) -> ImportedValue:
    value = _split_groups(g, g.materialise(g.value(x)), len(shape))
    eps = torch.finfo(torch.float32).eps if eps is None else eps
    atoms = all_atoms(value.dims[len(value.dims) - len(shape) :])
    if not atoms:
        g.reject_call("a norm of one number")
    if not is_unshared_parameter(g, weight):
        squares = reduce_atoms("mean", g, map_formula(g, value, "$1 ** 2"), atoms)
        found = broadcast(g, value, squares, f"$1 / sqrt($2 + {eps!r})", "normalise")
        return found if weight is None else broadcast(g, found, weight, "$1 * $2")
    name = norm_name(weight.layer, g.path)

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        return in_order(arrays[0], axes(atoms), RMSNorm(axes(atoms), name, eps))

    return g.op(make, [value], value.dims, [weight])


def batch_norm(
    g: DimensionBuilder,
    x: Operand,
    weight: Any,
    bias: Any,
    mean: Any,
    variance: Any,
    training: bool,
    momentum: float,
    eps: float,
    *more: Any,
) -> ImportedValue:
    """Adds a batch norm; a module in evaluation mode uses the statistics that it has kept."""
    if mean is None:
        return _channel_norm(g, x, weight, bias, eps, [0, *range(2, len(g.shape))])
    learned = [one for one in (weight, bias) if one is not None]
    value = g.materialise(g.value(x))
    unshared = all(is_unshared_parameter(g, one) for one in learned)
    if len(learned) == 1 or not unshared or len(value.dims) < 2:
        g.reject_call("a batch norm with shared parameters or without statistics")
    if training is not g.training:
        g.reject_call("a batch norm whose mode is not that of the whole module")
    if prod(value.shape) == value.shape[1]:
        g.reject_call("a batch norm of one number for each channel")
    if len(value.dims) == 3:
        as_signal(value)
    value = g.as_one_axis(value, 1)
    rows = resolved_atoms(value.dims[0])
    if len(rows) != 1 or rows[0].group:
        value = g.as_one_axis(value, 0)
    name = parameter_name(weight.layer, g.path) if learned else "norm"
    kept = [ImportedConstant(one.tensor, one.buffer) for one in (mean, variance)]
    both = (*resolved_atoms(value.dims[0]), *resolved_atoms(value.dims[1]))

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        return in_order(arrays[0], axes(both), BatchNorm(axes(both), name, eps, bool(learned)))

    return g.op(make, [value], value.dims, [*learned, *kept])


def _channel_norm(
    g: DimensionBuilder, x: Operand, weight: Any, bias: Any, eps: float, places: Sequence[int]
) -> ImportedValue:
    """Adds a norm along some dimensions, with a learned factor and sum for each channel."""
    value = g.materialise(g.value(x))
    if any(group_of(atom) for i in places for atom in resolved_atoms(value.dims[i]) if i < 2):
        value = g.without_groups(value)
    atoms = all_atoms(value.dims[i] for i in places)
    if not atoms:
        g.reject_call("a norm of one number")
    found = ImportedValue(value.dims, standardise(g, value, atoms, eps).slot)
    for other, sign in ((weight, "*"), (bias, "+")):
        if other is not None:
            row = g.value(other)
            column = ImportedValue((*row.dims, *((),) * (len(value.dims) - 2)), row.slot)
            found = broadcast(g, found, column, f"$1 {sign} $2")
    return found


def instance_norm(
    g: DimensionBuilder,
    x: Operand,
    weight: Any,
    bias: Any,
    mean: Any,
    variance: Any,
    own_statistics: bool,
    momentum: float,
    eps: float,
    *more: Any,
) -> ImportedValue:
    """Adds a norm of each channel of each example."""
    if not own_statistics or (g.training and mean is not None):
        g.reject_call("a norm with statistics that it keeps")
    return _channel_norm(g, x, weight, bias, eps, range(2, len(g.shape)))


def _norm_and_counts(
    g: DimensionBuilder, x: Operand, weight: Any, bias: Any, mean: Any, variance: Any, *more: float
) -> tuple[ImportedValue | None, ...]:
    """Adds the batch norm of a graph without changes in place; two more results are empty."""
    return batch_norm(g, x, weight, bias, mean, variance, False, *more), None, None


def weight_norm(
    g: DimensionBuilder, weight: Operand, length: Operand, at: int = 0
) -> ImportedValue:
    """Adds a weight that is given by its directions, and a length along one dimension, or all."""
    value = g.value(weight)
    others = [i for i in range(len(value.dims)) if i != at]
    total = reduce_dims("sum", g, map_formula(g, value, "$1 ** 2"), others, True)
    directions = broadcast(g, value, total, "$1 / sqrt($2)", "normalise")
    return broadcast(g, directions, length, "$1 * $2")


NORM_CALLS: dict[str, Handler] = {
    "_weight_norm": weight_norm,
    "_native_batch_norm_legit_no_training": _norm_and_counts,
    "batch_norm": batch_norm,
    "group_norm": group_norm,
    "instance_norm": instance_norm,
    "layer_norm": layer_norm,
    "rms_norm": rms_norm,
}
