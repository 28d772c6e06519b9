"""Reads recurrent layers: a cell that runs along the sequence, with states passed on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from ncd.formulas.formula import parse
from ncd.language.axes import Array, Axis, Signature, Type
from ncd.language.loops import Scan
from ncd.language.terms import Beside, Id, Term, Then
from ncd.language.wire import Wire
from ncd.ops import Add, Cut, Elementwise, Linear, Map, Rename
from ncd.read.torch_calls.dimension_atoms import AxisFactor, Dim, resolved_atoms
from ncd.read.torch_calls.elementwise_calls import dropout as dropped
from ncd.read.torch_calls.import_recorder import (
    Axes,
    DimensionBuilder,
    Handler,
    ImportedArray,
    ImportedConstant,
    ImportedValue,
    Operand,
    parameter_name,
    reordering_op,
)
from ncd.read.torch_calls.order_calls import flip
from ncd.read.torch_calls.product_calls import is_unshared_parameter
from ncd.read.torch_calls.shape_calls import concatenate, select, stack

Cell = Callable[[Array, Array, tuple[str, str], bool], Term]  # of the input, the state and names


def _maps(x: Array, h: Array, names: tuple[str, str], bias: bool, gates: int) -> tuple[Term, Cut]:
    """Returns the maps of input and state to all gates, and the cut into gates."""
    wide = Array((Axis("gates", gates * h.numel),))
    ones = Linear(Signature(Type((x,)), Type((wide,))), names[0], bias)
    twos = Linear(Signature(Type((h,)), Type((wide,))), names[1], bias)
    return Beside(ones, twos), Cut(Signature(Type((wide,)), Type((h,) * gates)))


def _formula(count: int, text: str, title: str) -> Map:
    return Map(Signature.parse(f"{', '.join(['()'] * count)} -> ()"), parse(text), title)


def _numbered_wire(arrays: Sequence[Array], *places: int) -> Wire:
    """Returns the wires to these arrays, by their numbers from 1."""
    chosen = Type(arrays[i - 1] for i in places)
    return Wire(Signature(Type(arrays), chosen), " ".join(map(str, places)))


def lstm_cell(x: Array, h: Array, names: tuple[str, str], bias: bool) -> Term:
    """Returns the map of (h, c, x) to the new h and c.

    Source: Hochreiter and Schmidhuber 1997, as ``torch.nn.LSTM`` has it.
    """
    maps, cut = _maps(x, h, names, bias, 4)
    sigmoid, tanh = Elementwise("sigmoid"), Elementwise("tanh")
    return Then(
        _numbered_wire((h, h, x), 3, 1, 2),
        maps,
        Add(),
        cut,
        Beside(sigmoid, sigmoid, tanh, sigmoid, Id(Type((h,)))),
        _numbered_wire((h,) * 5, 1, 2, 3, 5, 4),
        _formula(4, "$2 * $4 + $1 * $3", "cell"),
        _numbered_wire((h, h), 2, 1, 1),
        _formula(2, "$1 * tanh($2)", "hidden"),
    )


def gru_cell(x: Array, h: Array, names: tuple[str, str], bias: bool) -> Term:
    """Returns the map of (h, x) to the new h.

    Source: Cho et al. 2014, as ``torch.nn.GRU`` has it.
    """
    maps, cut = _maps(x, h, names, bias, 3)
    return Then(
        _numbered_wire((h, x), 2, 1, 1),
        Beside(maps, Id(Type((h,)))),
        Beside(cut, cut, Id(Type((h,)))),
        _numbered_wire((h,) * 7, 1, 4, 6, 3, 2, 5, 7),
        _formula(2, "sigmoid($1 + $2)", "reset"),
        _formula(3, "tanh($3 + $1 * $2)", "new"),
        _numbered_wire((h,) * 4, 2, 3, 1, 4),
        _formula(2, "sigmoid($1 + $2)", "update"),
        _formula(3, "(1 - $1) * $2 + $1 * $3", "hidden"),
    )


def plain_cell(function: str, x: Array, h: Array, names: tuple[str, str], bias: bool) -> Term:
    """Returns the map of (h, x) to the new h, by a sum and a function."""
    maps, _ = _maps(x, h, names, bias, 1)
    whole = Array((Axis("gates", h.numel),))
    back = Signature(Type((whole,)), Type((h,)))
    return Then(_numbered_wire((h, x), 2, 1), maps, Add(), Elementwise(function), Rename(back))


def recurrent(
    cell: Cell,
    states: int,
    g: DimensionBuilder,
    x: Operand,
    first: Any,
    weights: Sequence[Any],
    bias: bool,
    layers: int,
    dropout: float,
    train: bool,
    both_ways: bool,
    batch_first: bool = False,
) -> tuple[ImportedValue, ...]:
    """Adds a recurrent layer for each of ``layers``; returns its outputs and last states."""
    if not all(is_unshared_parameter(g, each) for each in weights):
        g.reject_call("a layer that shares weights")
    value = g.materialise(g.value(x))
    at = 1 if batch_first and len(value.dims) == 3 else 0
    begin = [first] if isinstance(first, ImportedValue | ImportedConstant) else list(first)
    count, ways = 4 if bias else 2, 1 + both_ways
    if len(weights) != count * layers * ways:
        g.reject_call("a layer whose states are projected")
    last: list[list[ImportedValue]] = [[] for _ in range(states)]
    for i in range(layers):
        found = []
        for j in range(i * ways, (i + 1) * ways):
            starts = [g.value(select(g, start, 0, j)) for start in begin]
            x = flip(g, value, [at]) if j % ways else value
            out, ends = _layer(cell, g, g.value(x), at, starts, weights[count * j :][:count])
            found.append(flip(g, out, [at]) if j % ways else out)
            for some, end in zip(last, ends, strict=True):
                some.append(end)
        value = g.value(concatenate(g, found, len(value.dims) - 1) if both_ways else found[0])
        value = dropped(g, value, dropout, train and i < layers - 1)
    return (value, *(g.value(stack(g, some, 0)) for some in last))


def _layer(
    cell: Cell,
    g: DimensionBuilder,
    x: ImportedValue,
    at: int,
    starts: Sequence[ImportedValue],
    weights: Sequence[Any],
) -> tuple[ImportedValue, list[ImportedValue]]:
    """Adds one layer along dimension ``at``; returns its outputs and the last states."""
    x = g.as_one_axis(x, at)
    steps, before = resolved_atoms(x.dims[at]), x.dims[-1]
    rest = [dim for i, dim in enumerate(x.dims[:-1]) if i != at]
    hidden = (AxisFactor(weights[1].tensor.shape[1], "hidden", is_indivisible=True),)
    states = [_match_dims(g, start, (*rest, hidden)) for start in starts]
    names = (parameter_name(weights[0].layer, g.path), parameter_name(weights[1].layer, g.path))
    order = [weights[0], *weights[2:3], weights[1], *weights[3:4]]
    atoms = tuple(leaf for dim in rest for leaf in resolved_atoms(dim))

    def make(axes: Axes, arrays: Sequence[Array]) -> Term:
        own_h, wanted = axes(hidden), axes((*atoms, *hidden))
        body = cell(axes(before), own_h, names, len(weights) == 4)
        n = len(arrays) - 1
        again = _numbered_wire((own_h,) * n, *range(1, n + 1), 1)
        scan = Scan(body >> again, axes(steps), "recurrent", n)
        return _in_one_order(arrays, wanted, scan)

    out = ImportedArray((*atoms, *steps, *hidden))
    ends = [ImportedArray((*atoms, *hidden)) for _ in states]
    g.step(make, [*states, x], [*ends, out], order)
    dims = (*x.dims[:-1], hidden)
    return ImportedValue(dims, out), [ImportedValue((*rest, hidden), end) for end in ends]


def _in_one_order(arrays: Sequence[Array], wanted: Array, term: Term) -> Term:
    """Returns a term behind ops that put the axes of the states into one order."""
    states, x = arrays[:-1], arrays[-1]
    if all(state.names == wanted.names for state in states):
        return term
    moved = (reordering_op(state, wanted) for state in states)
    return Beside(*moved, Id(Type((x,)))) >> term


def _match_dims(g: DimensionBuilder, x: ImportedValue, dims: Sequence[Dim]) -> ImportedValue:
    """Returns a state with these dimensions."""
    for i, dim in enumerate(dims):
        if x.dims[i]:
            x = g.unify_dim(x, x.dims[i], dim)
        else:
            x = ImportedValue((*x.dims[:i], dim, *x.dims[i + 1 :]), x.slot)
    return g.materialise(x)


RECURRENT_CALLS: dict[str, Handler] = {
    "gru": partial(recurrent, gru_cell, 1),
    "lstm": partial(recurrent, lstm_cell, 2),
    "rnn_relu": partial(recurrent, partial(plain_cell, "relu"), 1),
    "rnn_tanh": partial(recurrent, partial(plain_cell, "tanh"), 1),
}
