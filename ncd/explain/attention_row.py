"""A row of attention: each key's path from query to weight, and the values that are mixed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice, product

from torch import Tensor

from ncd.circuit.circuit import Cell
from ncd.explain.cell_arithmetic import (
    Arithmetic,
    ArithmeticReader,
    CopyArithmetic,
    FormulaArithmetic,
    Index,
    Products,
    SoftmaxArithmetic,
    Spans,
    arithmetic,
    exact,
    grid,
)
from ncd.language.torch_code import Group
from ncd.run.module import CircuitModule


@dataclass(frozen=True)
class RowStage:
    """An op's output for each key, (keys,), and its arithmetic for the key in focus."""

    cell: Cell
    focus_arithmetic: Arithmetic | None
    numbers: Tensor


@dataclass(frozen=True)
class MixedValue:
    """A number mixed from the values: its place along ``dims``, and its terms.

    ``weights`` is the index of the input that holds the weights.
    """

    cell: Cell
    weights: int
    dims: Group
    place: tuple[int, ...]
    total: Products


@dataclass(frozen=True)
class AttentionRow:
    """The steps to the weights of one query, in order, and the mixed values.

    ``steps`` begin with the scores; ``score`` is that of the key in focus. ``share`` is the softmax
    of the last step. ``mixed_values`` are the first few numbers of the output.
    """

    cell: Cell
    share: SoftmaxArithmetic
    score: Products | None
    steps: tuple[RowStage, ...]
    mixed_values: tuple[MixedValue, ...]


def row(
    module: CircuitModule,
    values: Mapping[str, Tensor],
    cell: Cell,
    index: tuple[int, ...],
    most: int = 3,
) -> AttentionRow:
    """Returns the row of a softmax through ``index``, with at most ``most`` mixed numbers.

    >>> import ncd
    >>> term = ncd.catalogue["scaled-dot-product-attention"].build(causal=1)
    >>> module, inputs = ncd.compile(term), ncd.example_inputs(term)
    >>> softmax = next(c for c in module.circuit.cells if c.op.role == "softmax")
    >>> found = row(module, ncd.trace(module, *inputs).values, softmax, (3, 2))
    >>> [step.cell.op.role for step in found.steps], len(found.score.terms), len(found.mixed_values)
    (['einsum', 'scale', 'mask'], 16, 3)
    """
    share = arithmetic(module, values, cell, 0, index)
    assert isinstance(share, SoftmaxArithmetic)
    score, steps = _back(module, values, cell, _softmax_positions(cell, share.spans, index), index)
    return AttentionRow(cell, share, score, steps, _mixed_values(module, values, cell, index, most))


def _softmax_positions(cell: Cell, spans: Spans, index: Index) -> Index:
    """Returns the place of a number at every position of the softmax."""
    every = {span.dim.key: at for span, at in zip(spans, grid(spans), strict=True)}
    dims = cell.site.inputs[0].dims
    return tuple(every.get(dim.key, at) for dim, at in zip(dims, index, strict=True))


def _back(
    module: CircuitModule, values: Mapping[str, Tensor], cell: Cell, every: Index, one: Index
) -> tuple[Products | None, tuple[RowStage, ...]]:
    """Goes back from a softmax through masks and factors to the product of query and keys."""
    steps: list[RowStage] = []
    id = cell.inputs[0].id
    while (maker := module.circuit.producers.get(id)) is not None:
        numbers = exact(values[id][every])
        if not numbers.dim():  # the part of a score that is the same for all keys
            break
        output = [value.id for value in maker.outputs].index(id)
        found = arithmetic(module, values, maker, output, one)
        if not isinstance(found, CopyArithmetic):
            steps.insert(0, RowStage(maker, found, numbers))
        if isinstance(found, Products):
            return found, tuple(steps)
        if not isinstance(found, FormulaArithmetic | CopyArithmetic):
            break
        again = ArithmeticReader(module, values, maker, every).read(
            maker.expressions[output], every
        )
        assert isinstance(again, FormulaArithmetic | CopyArithmetic)
        source, one = _source_place(found, maker)
        _, every = _source_place(again, maker)
        id = maker.inputs[source].id
    return None, tuple(steps)


def _source_place(found: FormulaArithmetic | CopyArithmetic, maker: Cell) -> tuple[int, Index]:
    """Returns the input that an op changes or passes on, and the place in it."""
    if isinstance(found, CopyArithmetic):
        return found.source, found.index
    sizes = [array.numel for array in maker.site.inputs]
    source = sizes.index(max(sizes))  # the others are repeated along it
    return source, found.indices[source]


def _mixed_values(
    module: CircuitModule, values: Mapping[str, Tensor], cell: Cell, index: Index, most: int
) -> tuple[MixedValue, ...]:
    """Returns the first few numbers of the product that takes the weights."""
    id = cell.outputs[0].id
    taker = module.circuit.consumers.get(id)
    if taker is None or len(taker.inputs) != 2:
        return ()
    source = [value.id for value in taker.inputs].index(id)
    own = taker.site.inputs[source]
    fixed = {dim.key: at for dim, at in zip(own.dims, index, strict=True)}
    out = taker.site.outputs[0].dims
    free = tuple(dim for dim in out if dim.key not in fixed)
    found = []
    for place in islice(product(*(range(dim.size) for dim in free)), most):
        at = fixed | {dim.key: i for dim, i in zip(free, place, strict=True)}
        total = arithmetic(module, values, taker, 0, tuple(at[dim.key] for dim in out))
        if isinstance(total, Products):
            found.append(MixedValue(taker, source, free, place, total))
    return tuple(found)
