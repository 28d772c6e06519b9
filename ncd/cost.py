"""What a term costs: parameters, floating-point operations, bytes; per op and in total."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ncd.circuit import Cell, Circuit, elaborate, require_sizes
from ncd.errors import LimitError
from ncd.terms import Term

BYTES = 4  # a float32


@dataclass(frozen=True)
class OpCost:
    """One op: ``parameters``, ``flops`` of a forward pass, ``bytes`` of what it makes."""

    node: str
    label: str
    parameters: int
    flops: int
    bytes: int


@dataclass(frozen=True)
class Cost:
    """The cost of a term.

    ``parameters``: learned numbers. ``flops``: floating-point operations of one forward pass, as
    ``torch.utils.flop_counter`` counts them (a multiply-add is two). ``bytes``: float32 memory of
    all arrays that the ops make. ``peak``: bytes of weights, and of all the inputs and arrays that
    the backward pass keeps; this is what the guard holds against the limit.
    """

    parameters: int
    flops: int
    bytes: int
    peak: int
    ops: tuple[OpCost, ...]


def cost(term: Term) -> Cost:
    """Counts without running or allocating.

    >>> import ncd
    >>> ncd.cost(ncd.catalogue["multi-head-attention"].build()).parameters
    32768
    """
    return cost_of(elaborate(term))


def cost_of(circuit: Circuit) -> Cost:
    """The cost of a circuit."""
    return _cost(repr(circuit.term), circuit)


@lru_cache(maxsize=256)
def _cost(key: str, circuit: Circuit) -> Cost:
    require_sizes(circuit)
    ops = tuple(_op_cost(cell) for cell in circuit.cells)
    parameters = sum(op.parameters for op in ops)
    made = sum(op.bytes for op in ops)
    given = sum(BYTES * value.array.numel for value in circuit.inputs)
    return Cost(
        parameters=parameters,
        flops=sum(op.flops for op in ops),
        bytes=made,
        peak=BYTES * parameters + given + made,
        ops=ops,
    )


def _op_cost(cell: Cell) -> OpCost:
    try:
        layer = cell.op.layer(cell.site)
    except (RuntimeError, TypeError):  # torch cannot even count them
        raise LimitError(
            "its weights are more than torch can count",
            where=cell.op.label,
            bound=cell.site.axes,
            cure="smaller sizes",
        ).at(op=cell.op) from None
    parameters = sum(p.numel() for p in layer.parameters()) if layer is not None else 0
    aliases = not cell.op.code(cell.site).expression  # a copy or a name makes nothing new
    made = 0 if aliases else sum(BYTES * value.array.numel for value in cell.outputs)
    return OpCost(cell.id, cell.op.label, parameters, cell.op.flops(cell.site), made)
