"""The meaning of every op by its definition, on arrays of its own axes.

Arrays are of 64 bits and have one dimension for every axis; those of a spatial group are taken
apart here where an op looks at neighbours. ``WHOLE`` are ops that see the whole arrays.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import product
from typing import Any
from zlib import crc32

import numpy as np

from ncd.circuit.circuit import Cell
from ncd.language.axes import Axis
from tests.support.formula_meanings import FUNCTIONS, value
from tests.support.window_meanings import conv, conv_transpose, max_pool, padded, rolled, window

Own = tuple[np.ndarray, ...]
Weights = Mapping[str, np.ndarray]


class Undecided(Exception):
    """Two answers are right, such as the places of two equal numbers in a Top."""


# --- products ------------------------------------------------------------------------------------


def einsum(cell: Cell, own: Own, w: Weights) -> Own:
    """Every product of one number of each array, added up where it belongs."""
    names = list(dict.fromkeys(n for array in cell.site.own_inputs for n in array.names))
    total: np.ndarray = np.ones(())
    for array, x in zip(cell.site.own_inputs, own, strict=True):
        order = sorted(array.names, key=names.index)
        moved = x.transpose([array.names.index(n) for n in order])
        shape = [x.shape[array.names.index(n)] if n in array.names else 1 for n in names]
        total = total * moved.reshape(shape)
    out = cell.site.own_outputs[0].names
    total = total.sum(tuple(i for i, n in enumerate(names) if n not in out))
    left = [n for n in names if n in out]
    return (total.transpose([left.index(n) for n in out]),)


def linear(cell: Cell, own: Own, w: Weights) -> Own:
    (x,), (new,) = own, cell.site.own_outputs
    rows = w["weight"].reshape(new.numel, -1)
    out = np.array([sum(row * x.ravel()) for row in rows]).reshape([a.numel for a in new])
    return (out + w["bias"] if "bias" in w else out,)


def function(cell: Cell, own: Own, w: Weights) -> Own:
    """A fixed map: its matrices are cosines, scaled by the root of how many numbers go in."""
    op: Any = cell.op
    if op.of is not None:
        return turned(cell, own[0])
    smooth = np.vectorize(FUNCTIONS[op.fn]) if op.fn != "linear" else np.asarray
    count, outs = sum(array.numel for array in cell.site.own_inputs), []
    for j, new in enumerate(cell.site.own_outputs):
        turn = crc32(op.letter.encode())
        total = np.zeros(new.numel)
        for i, x in enumerate(own):
            one, two = np.meshgrid(np.arange(new.numel), np.arange(x.size), indexing="ij")
            phase = 31 * (one + 1) * (2 * two + 3) + (turn + 7 * i + 11 * j) % 97
            total += np.cos(phase % 97 * 2 * np.pi / 97) @ x.ravel() / math.sqrt(count)
        if not own:
            phase = 31 * np.arange(new.numel) + (turn + 11 * j) % 97
            total = np.cos(phase % 97 * 2 * np.pi / 97)
        outs.append(smooth(total).reshape([a.numel for a in new]))
    return tuple(outs)


def turned(cell: Cell, x: np.ndarray) -> Own:
    """A transposed map: every number of the map itself, by its places, times what meets it."""
    op: Any = cell.op
    takes, gives = op.of.dom[0].names, op.of.cod[0].names
    sizes = {
        axis.name: axis.numel for axis in (*cell.site.own_inputs.axes, *cell.site.own_outputs.axes)
    }
    before, behind = cell.site.own_inputs[0].names, cell.site.own_outputs[0].names
    out = np.zeros([sizes[n] for n in behind])
    shift, count = crc32(op.letter.encode()), math.prod(sizes[n] for n in takes)
    for position in product(*(range(sizes[n]) for n in (*gives, *takes))):
        at = dict(zip((*gives, *takes), position, strict=True))
        one, two = (
            int(np.ravel_multi_index([at[n] for n in names], [sizes[n] for n in names]))
            for names in (gives, takes)
        )
        phase = (31 * (one + 1) * (2 * two + 3) + shift) % 97
        number = math.cos(phase * 2 * math.pi / 97) / math.sqrt(count)
        out[tuple(at[n] for n in behind)] += number * x[tuple(at[n] for n in before)]
    return (out,)


def unit(cell: Cell, own: Own, w: Weights) -> Own:
    eye = np.eye(cell.site.own_outputs[0][0].numel)
    return (eye * own[0] if own else eye,)


def inner(cell: Cell, own: Own, w: Weights) -> Own:
    return (np.trace(own[0]),)


# --- formulas ----------------------------------------------------------------------------------


def mapped(cell: Cell, arrays: list[Any], w: Weights) -> Iterator[tuple[tuple[Axis, ...], Any]]:
    """The formula at every position of the whole result, each by the names of its axes."""
    op: Any = cell.op
    out = cell.site.outputs[0]
    sizes = {axis.name: float(axis.numel) for axis in (*cell.site.axes, *cell.site.reads)}
    constants = {"pi": math.pi, "e": math.e, "inf": math.inf}
    fixed = constants | {f"n_{k}": n for name, n in sizes.items() for k in (name, called(name))}
    data = np.empty([axis.numel for axis in out])
    for index in product(*(range(axis.numel) for axis in out)):
        place = dict(zip(out.names, index, strict=True))
        operands = [float(x.data[tuple(place[n] for n in x.names)]) for x in arrays]
        at = {k: float(i) for name, i in place.items() for k in (name, called(name))}
        data[index] = float(value(op.defining_formula, operands, {**fixed, **at}))
    yield tuple(out), np.trunc(data).astype(np.int64) if out.below else data


def called(name: str) -> str:
    return Axis(name).identifier


# --- along axes ----------------------------------------------------------------------------------


def softmax(cell: Cell, own: Own, w: Weights) -> Own:
    power = np.exp(own[0] - own[0].max())
    return (power / power.sum(),)


def layer_norm(cell: Cell, own: Own, w: Weights) -> Own:
    op: Any = cell.op
    x = own[0]
    out = (x - x.mean()) / np.sqrt(((x - x.mean()) ** 2).mean() + op.eps) * w.get("weight", 1.0)
    return (out + w["bias"] if "bias" in w else out,)


def rms_norm(cell: Cell, own: Own, w: Weights) -> Own:
    op: Any = cell.op
    return (own[0] / np.sqrt((own[0] ** 2).mean() + op.eps) * w["weight"],)


def batch_norm(cell: Cell, arrays: list[Any], w: Weights) -> Iterator[Any]:
    """Each channel by the mean and the variance of all its numbers in the batch."""
    op: Any = cell.op
    (x,), channel = arrays, cell.site.own_inputs[0][1].name
    at = x.names.index(channel)
    out = np.empty_like(x.data)
    for i in range(x.data.shape[at]):
        index = (*(slice(None),) * at, i)
        own = x.data[index]
        scaled = (own - own.mean()) / np.sqrt(own.var() + op.eps)
        out[index] = scaled * w["weight"][i] + w["bias"][i] if op.affine else scaled
    yield x.axes, out


def reduce(cell: Cell, own: Own, w: Weights) -> Own:
    op: Any = cell.op
    before, after = cell.site.own_inputs[0].names, cell.site.own_outputs[0].names
    gone = tuple(i for i, name in enumerate(before) if name not in after)
    every = {"max": np.max, "min": np.min, "mean": np.mean, "product": np.prod, "sum": np.sum}
    how = every[op.how]
    return (np.asarray(how(own[0], gone)),)


def index(cell: Cell, own: Own, w: Weights) -> Own:
    op: Any = cell.op
    places = dict(op.at)
    if places:
        before = cell.site.own_inputs[0].names
        return (np.asarray(own[0][tuple(places.get(n, slice(None)) for n in before)]),)
    (chosen, table), (out,) = cell.site.own_inputs, cell.site.own_outputs
    assert chosen.below is not None
    found = np.empty([axis.numel for axis in out], own[1].dtype)
    for position in product(*(range(axis.numel) for axis in out)):
        place = dict(zip(out.names, position, strict=True))
        row = own[0][tuple(place[n] for n in chosen.names)]
        place[chosen.below.name] = int(row)
        found[position] = own[1][tuple(place[n] for n in table.names)]
    return (found,)


def top(cell: Cell, own: Own, w: Weights) -> Own:
    x, k = own[0], cell.site.own_outputs[0][0].numel
    order = sorted(range(len(x)), key=lambda i: -x[i])
    ranked = x[order]
    if (ranked[1 : k + 1] == ranked[: min(k, len(x) - 1)]).any() or np.isnan(x).any():
        raise Undecided
    return ranked[:k], np.array(order[:k], dtype=np.int64)


def cumulative(cell: Cell, own: Own, w: Weights) -> Own:
    op: Any = cell.op
    x = own[0]
    how = {"sum": np.sum, "product": np.prod}[op.how]
    return (np.array([how(x[: i + 1]) for i in range(len(x))]),)


# --- shapes --------------------------------------------------------------------------------------


def reshaped(cell: Cell, own: Own, w: Weights) -> Own:
    return (own[0].reshape([axis.numel for axis in cell.site.own_outputs[0]]),)


def cut(cell: Cell, own: Own, w: Weights) -> Own:
    ends = np.cumsum([array[0].numel for array in cell.site.own_outputs])
    return tuple(
        own[0][end - a[0].numel : end] for a, end in zip(cell.site.own_outputs, ends, strict=True)
    )


def wired(cell: Cell, arrays: list[Any], w: Weights) -> Iterator[Any]:
    """Which array on the right is which on the left, by place; from the pattern as it is read."""
    op: Any = cell.op
    for i in op.sources:
        yield arrays[i].axes, arrays[i].data


def renamed(cell: Cell, arrays: list[Any], w: Weights) -> Iterator[Any]:
    names = dict(zip(cell.op.signature.dom[0].names, cell.op.signature.cod[0].names, strict=True))
    (x,) = arrays
    yield tuple(Axis(names.get(a.name, a.name), a.size) for a in x.axes), x.data


def added(cell: Cell, arrays: list[Any], w: Weights) -> Iterator[Any]:
    one, two = arrays
    assert one.names == two.names
    yield one.axes, one.data + two.data


def kept(cell: Cell, arrays: list[Any], w: Weights) -> Iterator[Any]:
    yield arrays[0].axes, arrays[0].data


def param(cell: Cell, own: Own, w: Weights) -> Own:
    (weight,) = w.values()
    return (weight,)


Meaning = Callable[[Cell, Own, Weights], Own]
MEANINGS: dict[str, Meaning] = {
    "Concat": lambda cell, own, w: (np.concatenate(own),),
    "Conv": conv,
    "ConvTranspose": conv_transpose,
    "Cumulative": cumulative,
    "Cut": cut,
    "Einsum": einsum,
    "Function": function,
    "Group": reshaped,
    "Index": index,
    "Inner": inner,
    "LayerNorm": layer_norm,
    "Linear": linear,
    "MaxPool": max_pool,
    "Pad": padded,
    "Param": param,
    "RMSNorm": rms_norm,
    "Reduce": reduce,
    "Roll": rolled,
    "Softmax": softmax,
    "Split": reshaped,
    "Top": top,
    "Unit": unit,
    "Window": window,
}
WHOLE: dict[str, Callable[[Cell, list[Any], Weights], Iterator[tuple[tuple[Axis, ...], Any]]]] = {
    "Add": added,
    "BatchNorm": batch_norm,
    "CausalMask": mapped,
    "Copy": wired,
    "Dropout": kept,
    "Elementwise": mapped,
    "Map": mapped,
    "Named": wired,
    "Rename": renamed,
    "Scale": mapped,
    "Swap": wired,
    "Wire": wired,
}
