"""The cost of a term: parameters, floating-point operations and bytes, per op and in total."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import prod

from ncd.lang.circuits.circuit import Cell, Circuit
from ncd.lang.circuits.elaborate import elaborate, require_sizes
from ncd.lang.formulas.expr import Arg
from ncd.lang.terms.arguments import check_term
from ncd.lang.terms.op import Initial
from ncd.lang.terms.terms import Term

BYTES = 4  # a float32
WHOLE = 8  # an int64


@dataclass(frozen=True)
class OpCost:
    """The cost of one op: learned numbers, operations of a forward pass, bytes of new arrays.

    An op in a scan counts as often as it runs, its parameters once.
    """

    node: str
    label: str
    parameters: int
    flops: int
    bytes: int


@dataclass(frozen=True)
class Cost:
    """The cost of a term, in total and for each op.

    The memory that a run needs at one time is given by :func:`ncd.run.peak`.

    Args:
        parameters: The number of learned numbers; a layer that several ops share counts for the
            first of them.
        flops: The floating-point operations of one forward pass; a multiply-add is two.
        bytes: The memory of all arrays that the ops make, 4 bytes for a real number and 8 for a
            whole one.
        ops: The cost of each op, in the order of the cells.

    Source: ``torch.utils.flop_counter``, whose counts it matches where no size is 1.

    >>> from ncd.ops import Softmax
    >>> cost(Softmax("x:3")).ops
    (OpCost(node='n0', label='Softmax', parameters=0, flops=0, bytes=12),)
    """

    parameters: int
    flops: int
    bytes: int
    ops: tuple[OpCost, ...]


def cost(term: Term) -> Cost:
    """Returns the cost of a term, without running it or allocating memory.

    Args:
        term: The term, with sizes.

    Raises:
        SizeError: For an axis without a size.

    Source: ``torch.utils.flop_counter``.

    >>> from ncd.lang.terms.terms import Id
    >>> from ncd.ops import Linear
    >>> cost(Id("y:5 m:3") >> Linear("m -> k:2", "Q")).parameters
    6
    """
    check_term(term, "cost")
    return cost_of(elaborate(term))


def cost_of(circuit: Circuit) -> Cost:
    """Returns the cost of a circuit."""
    return _cost(circuit.term)


@lru_cache(maxsize=256)
def _cost(term: Term) -> Cost:
    circuit = elaborate(term)
    require_sizes(circuit)
    seen: set[str] = set()
    ops = tuple(_op_cost(cell, seen) for cell in circuit.cells)
    return Cost(
        parameters=sum(op.parameters for op in ops),
        flops=sum(op.flops for op in ops),
        bytes=sum(op.bytes for op in ops),
        ops=ops,
    )


def _op_cost(cell: Cell, seen: set[str]) -> OpCost:
    initial = learned(cell, seen)
    parameters = sum(value.array.numel for value in initial if value.learned)
    flops = cell.times * cell.op.flops(cell.site)
    return OpCost(cell.id, cell.op.label, parameters, flops, cell.times * made(cell))


def learned(cell: Cell, seen: set[str]) -> tuple[Initial, ...]:
    """Returns the parameters and buffers of a cell's layer, unless it is in ``seen``."""
    initial = cell.initial
    if not initial or cell.path in seen:
        return ()
    seen.add(cell.path)
    return tuple(initial.values())


def made(cell: Cell) -> int:
    """Returns the bytes of the new arrays of a cell, without those that it only passes on."""
    code = cell.torch
    arrays = [value.array for value in cell.outputs]
    if isinstance(code, tuple):
        pairs = zip(arrays, code, strict=True)
        arrays = [array for array, expr in pairs if not isinstance(expr, Arg)]
    return sum(prod(array.shape) * (BYTES if array.below is None else WHOLE) for array in arrays)
