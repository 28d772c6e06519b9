"""Why a layer of torch stops: what it gets and what it takes, in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.conv import _ConvNd
from torch.nn.modules.instancenorm import _InstanceNorm
from torch.nn.modules.pooling import _AvgPoolNd, _MaxPoolNd
from torch.nn.modules.rnn import RNNCellBase

from ncd.findings.failures.failure import (
    AXES,
    Failure,
    features_words,
    history,
    shape_words,
    size_words,
)
from ncd.findings.failures.masks import mask_reason
from ncd.findings.reading.size_table import OutOfRange

STACKS = (
    *(nn.Transformer, nn.TransformerEncoder, nn.TransformerDecoder),
    *(nn.TransformerEncoderLayer, nn.TransformerDecoderLayer),
)
Reason = Callable[[Failure, Any], str]


def layer_reason(failure: Failure) -> str:
    """Returns why a layer stops; empty if none of the known reasons holds."""
    layer = failure.layer
    if layer is None or not failure.arrays:
        return ""
    for kinds, reason in REASONS:
        if isinstance(layer, kinds) and (words := reason(failure, layer)):
            return f"{subject(failure)} {words}."
    return ""


def subject(failure: Failure) -> str:
    """Returns a layer in words: ``fc1 (Linear)``."""
    name = type(failure.layer).__name__ if failure.layer is not None else ""
    path = failure.path
    path = f"layer {path}" if path.isdigit() else path
    return f"{path} ({name})" if path and name else path or name


def attribute(failure: Failure, name: str, noun: str = "") -> str:
    """Returns a setting of a layer with its origin, behind the noun that it counts."""
    return size_words(failure, failure.trace.table.expr(getattr(failure.layer, name)), noun)


def _kind(failure: Failure, real: bool) -> str:
    """Returns what is wrong with the kind of numbers that a layer gets."""
    given = failure.arrays[0]
    if given.is_floating_point() is real or given.is_complex():
        return ""
    shape = shape_words(failure.values())
    if real:
        return f"takes real numbers, but its array ({shape}) holds whole ones"
    return f"takes whole numbers (rows of its table), but its array ({shape}) holds real ones"


def _format_name(kind: torch.dtype) -> str:
    return str(kind).removeprefix("torch.")


def _linear(failure: Failure, layer: Any) -> str:
    if words := _kind(failure, True):
        return words
    values = failure.values()
    if not values or values[-1] == layer.in_features:
        return ""
    got = features_words(failure, failure.arrays[0])
    return f"gets {got}; it takes {attribute(failure, 'in_features')}"


def _conv(failure: Failure, layer: Any) -> str:
    if words := _kind(failure, True):
        return words
    values, sides = failure.values(), len(layer.kernel_size)
    names = AXES[sides + 2]
    if len(values) not in (sides + 1, sides + 2):
        wanted = " × ".join(names)
        return f"takes {wanted}, but gets an array of {len(values)} axes ({shape_words(values)})"
    if values[-sides - 1] == layer.in_channels:
        return _kernel(failure, layer)
    expr = failure.shapes[0][-sides - 1]
    words = f"gets {size_words(failure, expr, 'channels')}: {_named_sizes(values, names)}"
    words += f"; it takes {attribute(failure, 'in_channels')}"
    if values[-1] == layer.in_channels:
        place = "second" if len(values) == sides + 2 else "first"
        words += f". The last axis has {values[-1]}: the channels stand last, not {place}"
    return words


def _named_sizes(values: tuple[int, ...], names: tuple[str, ...]) -> str:
    names = names[len(names) - len(values) :]
    return ", ".join(f"{name} {n}" for name, n in zip(names, values, strict=True))


def _kernel(failure: Failure, layer: Any) -> str:
    """Returns why a window does not fit into its input."""
    given = failure.arrays[0]
    kernel = layer.kernel_size
    sides = len(kernel) if isinstance(kernel, tuple) else _sides(layer)
    wide = tuple(map(int, kernel)) if isinstance(kernel, tuple) else (int(kernel),) * sides
    every = failure.values()
    values = every[-sides:]
    if isinstance(layer, _ConvNd) and layer.transposed:
        return ""
    if len(every) not in (sides + 1, sides + 2):
        wanted = f"{sides + 1} or {sides + 2}"
        return (
            f"takes an array of {wanted} axes, but gets one of {len(every)} ({shape_words(every)})"
        )
    padding = getattr(layer, "padding", 0)
    around = padding if isinstance(padding, tuple) else (padding,) * sides
    for axis in range(sides):
        pad = around[axis] if isinstance(around[axis], int) else 0
        if wide[axis] > values[axis] + 2 * pad:
            name = AXES[sides + 2][axis - sides]
            steps = history(failure, given, axis - sides)
            way = f" ({name}: {' → '.join(map(str, steps))})" if len(steps) > 1 else ""
            more = f" and {pad} of padding on both sides" if pad else ""
            got = shape_words(values)
            return f"has a kernel of {shape_words(wide)}, but its input is only {got}{more}{way}"
    if isinstance(layer, _MaxPoolNd | _AvgPoolNd):
        return f"makes nothing of its input of {shape_words(values)}: the result would be empty"
    return ""


def _rank_words(values: tuple[int, ...]) -> str:
    return f"one of {len(values)} ({shape_words(values)})"


def _sides(layer: nn.Module) -> int:
    """Returns the 2 of ``BatchNorm2d``, or 0 if the name of a layer has no number."""
    sides = type(layer).__name__[-2]
    return int(sides) if sides.isdigit() else 0


def norm_ranks(layer: nn.Module) -> tuple[int, ...]:
    """Returns how many axes an array of a batch or an instance norm may have.

    >>> norm_ranks(nn.BatchNorm1d(2)), norm_ranks(nn.InstanceNorm2d(2)), norm_ranks(nn.ReLU())
    ((2, 3), (3, 4), ())
    """
    sides = _sides(layer)
    if not sides or not isinstance(layer, _NormBase):
        return ()
    return (
        (sides + 1, sides + 2) if sides == 1 or isinstance(layer, _InstanceNorm) else (sides + 2,)
    )


def _batch_norm(failure: Failure, layer: Any) -> str:
    values = failure.values()
    ranks = norm_ranks(layer) or (len(values),)
    if len(values) not in ranks:
        wanted = " or ".join(map(str, ranks))
        return f"takes an array of {wanted} axes, but gets {_rank_words(values)}"
    axis = int(len(values) != min(ranks) or not isinstance(layer, _InstanceNorm))
    if values[axis] != layer.num_features:
        got = size_words(failure, failure.shapes[0][axis], "channels")
        given = _named_sizes(values, AXES[len(values) + 1 - axis])
        return f"gets {got}: {given}; it takes {attribute(failure, 'num_features')}"
    count = 1
    for i, n in enumerate(values):
        count *= n if i != 1 else 1
    if count == 1:
        shape = shape_words(values)
        return (
            f"learns from the mean and the variance of each channel over the batch, but gets "
            f"{shape}: one value a channel, which has no variance. In training the batch has to "
            f"be 2 or more; eval() uses the statistics that it keeps"
        )
    return ""


def _layer_norm(failure: Failure, layer: Any) -> str:
    values, wanted = failure.values(), tuple(map(int, layer.normalized_shape))
    last = values[len(values) - len(wanted) :]
    if last == wanted:
        return ""
    origin = (
        size_words(failure, failure.trace.table.expr(layer.normalized_shape[0]))
        if len(wanted) == 1
        else shape_words(wanted)
    )
    got = size_words(failure, failure.shapes[0][-1]) if len(wanted) == 1 else shape_words(last)
    return f"normalises the last axes of {shape_words(values)}, which are {got}; it takes {origin}"


def _group_norm(failure: Failure, layer: Any) -> str:
    values = failure.values()
    if len(values) > 1 and values[1] != layer.num_channels:
        got = size_words(failure, failure.shapes[0][1], "channels")
        return f"gets {got}; it takes {attribute(failure, 'num_channels')}"
    return ""


def _recurrent(failure: Failure, layer: Any) -> str:
    values, kind = failure.values(), failure.arrays[0].dtype
    if words := _kind(failure, True):
        return words
    if "dtype" in failure.message:
        kept = next(layer.parameters()).dtype
        return (
            f"gets an array ({shape_words(values)}) of {_format_name(kind)} beside weights of "
            f"{_format_name(kept)}; one format is needed"
        )
    if values and values[-1] != layer.input_size:
        got = size_words(failure, failure.shapes[0][-1], "features a step")
        return f"gets {got}; it takes {attribute(failure, 'input_size')}"
    if len(values) > 3:
        return f"takes an array of 3 axes, but gets {_rank_words(values)}"
    if len(values) == 1 and isinstance(layer, nn.RNNBase):
        return f"takes an array of 2 or 3 axes, but gets {_rank_words(values)}"
    if len(failure.arrays) > 1:
        given, states = shape_words(values), shape_words(failure.values(1))
        wanted = shape_words(state_shape(layer, values))
        reads, keeps = _state_axes(layer, len(values))
        return (
            f"reads {given} ({reads}), so its first state has to be {wanted} ({keeps}), "
            f"but it is {states}"
        )
    return ""


def state_shape(layer: Any, values: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape of the first state that a recurrent layer takes with an input."""
    if isinstance(layer, RNNCellBase):
        return (*values[:-1], int(layer.hidden_size))
    batch = values[0 if layer.batch_first else 1] if len(values) > 2 else 0
    count = int(layer.num_layers) * (2 if layer.bidirectional else 1)
    hidden = int(layer.proj_size or layer.hidden_size)
    return (count, batch, hidden) if batch else (count, hidden)


def _state_axes(layer: Any, rank: int) -> tuple[str, str]:
    """Returns the names of the axes of an input and of a state; one sequence has no batch."""
    cell = isinstance(layer, RNNCellBase)
    batch = ["batch"] if rank == (2 if cell else 3) else []
    if cell:
        return ", ".join([*batch, "features"]), ", ".join([*batch, "hidden"])
    order = [*batch, "steps"] if layer.batch_first else ["steps", *batch]
    states = ["layers · directions", *batch, "hidden"]
    return ", ".join([*order, "features"]), ", ".join(states)


def _attention(failure: Failure, layer: Any) -> str:
    width = int(layer.embed_dim)
    for array, name in zip(failure.arrays[:3], ("query", "key", "value"), strict=False):
        shape = failure.trace.recorder.shape(array)
        wanted = {"query": width, "key": int(layer.kdim), "value": int(layer.vdim)}[name]
        if failure.value(shape[-1]) != wanted:
            got = size_words(failure, shape[-1], "features")
            return f"gets a {name} of {got}; it takes {wanted}"
    return mask_reason(failure) or _batches(failure, layer)


def _batches(failure: Failure, layer: Any) -> str:
    if len(failure.arrays) < 2 or failure.arrays[0].dim() != 3 or failure.arrays[1].dim() != 3:
        return ""
    query, key = failure.values(0), failure.values(1)
    axis = 0 if layer.batch_first else 1
    if query[axis] == key[axis]:
        return ""
    order = "(batch, length, features)" if layer.batch_first else "(length, batch, features)"
    words = f"takes {order}, so that {shape_words(query)} has a batch of {query[axis]} and "
    words += f"{shape_words(key)} one of {key[axis]}"
    if query[1 - axis] == key[1 - axis]:
        words += (
            f"; their other axis is {query[1 - axis]} in both: batch_first is the other way round"
        )
    return words


def _embedding(failure: Failure, layer: Any) -> str:
    if words := _kind(failure, False):
        return words
    error = failure.trace.error
    if isinstance(error, OutOfRange):
        rows = attribute(failure, "num_embeddings", f"rows, 0 to {error.rows - 1}")
        return f"has {rows}, but is asked for row {error.largest}"
    return ""


REASONS: tuple[tuple[Any, Reason], ...] = (
    (nn.Linear, _linear),
    (_ConvNd, _conv),
    ((_MaxPoolNd, _AvgPoolNd), _kernel),
    (_NormBase, _batch_norm),
    ((nn.LayerNorm, nn.RMSNorm), _layer_norm),
    (nn.GroupNorm, _group_norm),
    ((nn.RNNBase, RNNCellBase), _recurrent),
    (nn.MultiheadAttention, _attention),
    (STACKS, lambda failure, _: mask_reason(failure)),
    ((nn.Embedding, nn.EmbeddingBag), _embedding),
)
