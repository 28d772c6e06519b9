"""A fused loop over tiles: the bytes that it moves, and the fast memory that it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from math import prod
from types import MappingProxyType

from ncd.costs import FLOAT32, cost_of
from ncd.lang.circuits.circuit import Circuit
from ncd.lang.circuits.elaborate import elaborate, require_sizes
from ncd.lang.errors import LimitError
from ncd.lang.formats import BITS, Formats
from ncd.lang.formulas.expr import Arg
from ncd.lang.terms.arguments import check_flag, check_term
from ncd.lang.terms.terms import Term
from ncd.lang.types.axes import Array
from ncd.streaming.amounts import Amount, Factor
from ncd.streaming.checks import check_budget, checked_cuts
from ncd.streaming.columns import Column, columns
from ncd.streaming.schedule import Schedule, core, scheduled

WHOLE = 64  # bits of a whole number
NONE: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True)
class Move:
    """An array that is read from slow memory or written to it.

    Args:
        id: The id of the array, or the name of the parameter.
        array: Its axes.
        kind: ``"read"`` or ``"write"``.
        amount: How many numbers move in all: an array is read once for every group that it is
            not cut by.
    """

    id: str
    array: Array
    kind: str
    amount: Amount


@dataclass(frozen=True)
class Stream:
    """A fused loop of a term over groups of some axes and tiles of one.

    Args:
        circuit: The circuit of the term.
        schedule: Its ops in order, with their stages.
        grouped: The axes that are cut into groups, each done by itself.
        streamed: The axis whose tiles come one after the other; empty for none.
        tiles: The size of a tile of each of these axes.
        formats: The formats in which bytes are counted.

    Source: Abbott and Zardini 2024, *FlashAttention on a Napkin* (arXiv 2412.03317): the transfer
    cost H and the memory M of a diagram with grouped and streamed axes.

    >>> from ncd.ops import Einsum
    >>> product = Einsum("a:64 b:64, b:64 c:64 -> a c")
    >>> loop = stream(product, {"a": 8, "c": 8}, ("b", 1))
    >>> str(loop.moved), loop.bytes_moved, loop.fast_bytes
    ('a·b·⌈c/g_c⌉ + b·c·⌈a/g_a⌉ + a·c', 278528, 320)
    """

    circuit: Circuit
    schedule: Schedule
    grouped: tuple[str, ...]
    streamed: str
    tiles: Mapping[str, int] = field(hash=False)
    formats: Formats = FLOAT32

    @property
    def sizes(self) -> dict[str, int]:
        """The size of every axis of the loop."""
        arrays = [
            a for op in self.schedule.ops for t in (op.cell.site.ins, op.cell.site.outs) for a in t
        ]
        arrays += [weight.array for op in self.schedule.ops for weight in op.weights]
        return {axis.name: axis.numel for array in arrays for axis in array}

    def bits(self, id: str) -> int:
        """Returns the width of the numbers of an array or a parameter."""
        if any(weight.id == id for op in self.schedule.ops for weight in op.weights):
            return BITS[self.formats.weights]
        value = self.circuit.values.get(id)
        if value is not None and value.array.below is not None:
            return WHOLE
        maker = self.circuit.makers.get(id)
        return BITS[self.formats.made_by(maker.path if maker else "")]

    @property
    def moves(self) -> tuple[Move, ...]:
        """Every array that is read or written."""
        weights = {w.id: w.array for op in self.schedule.ops for w in op.weights}
        reads = {**{v.id: v.array for v in self.schedule.inputs}, **weights}
        found = [Move(id, array, "read", self._moved(id, array)) for id, array in reads.items()]
        for v in self.schedule.outputs:
            found.append(Move(v.id, v.array, "write", self._moved(v.id, v.array)))
        return tuple(found)

    def _moved(self, id: str, array: Array) -> Amount:
        whole = tuple(Factor("size", name) for name in array.names)
        again = tuple(Factor("tiles", name) for name in self.grouped if name not in array.names)
        return Amount.of([(1, (*whole, *again), self.bits(id))])

    @property
    def moved(self) -> Amount:
        """H: the numbers that move between slow and fast memory."""
        return Amount.of(term for move in self.moves for term in move.amount.terms)

    @property
    def bytes_moved(self) -> int:
        """H in bytes."""
        return self.moved.bytes(self.sizes, self.tiles)

    @property
    def columns(self) -> list[Column]:
        """The arrays in fast memory while each op runs."""
        return columns(self.schedule, self.grouped, self.streamed, self.bits)

    @property
    def widest(self) -> Column:
        """The op that needs most fast memory."""
        return max(self.columns, key=lambda c: c.amount.bytes(self.sizes, self.tiles))

    @property
    def fast(self) -> Amount:
        """M: the numbers in fast memory where it is fullest."""
        return self.widest.amount

    @property
    def fast_bytes(self) -> int:
        """M in bytes."""
        return self.fast.bytes(self.sizes, self.tiles)

    def fitting(self, budget: int) -> dict[str, int] | None:
        """Returns the tiles that fit in so many bytes of fast memory and move least.

        All groups have one size; sizes are powers of two, or those of whole axes. ``None`` if
        nothing fits, or no axis is cut. Raises SizeError for a budget that is no whole number.

        >>> from ncd.ops import Einsum
        >>> stream(Einsum("a:64 b:64, b:64 c:64 -> a c"), {"a": 8, "c": 8}, ("b", 1)).fitting(4096)
        {'a': 16, 'c': 16, 'b': 16}
        """
        check_budget(budget, "fitting")
        sizes, moved = self.sizes, self.moved
        kept = [column.amount for column in self.columns]
        most = max((sizes[name] for name in self.tiles), default=1)
        powers = [1 << n for n in range(most.bit_length() + 1)]
        best: tuple[int, int, dict[str, int]] | None = None
        for group, tile in product(powers, powers) if self.tiles else ():
            asked = {name: group if name in self.grouped else tile for name in self.tiles}
            tiles = {name: min(size, sizes[name]) for name, size in asked.items()}
            if max(amount.bytes(sizes, tiles) for amount in kept) > budget:
                continue
            rank = moved.bytes(sizes, tiles), -prod(tiles.values())
            if best is None or rank < best[:2]:
                best = (*rank, tiles)
        return best[2] if best else None

    @property
    def alone(self) -> list[tuple[str, int, int]]:
        """The name of each op that computes, its operations, and the bytes it moves by itself."""
        costs = {op.node: op.flops for op in cost_of(self.circuit).ops}
        found = []
        for op in self.schedule.ops:
            if passes(op.cell.torch):
                continue
            arrays = [(v.id, v.array) for v in (*op.cell.inputs, *op.cell.outputs)]
            arrays += [(weight.id, weight.array) for weight in op.weights]
            moved = sum(-(-array.numel * self.bits(id) // 8) for id, array in arrays)
            found.append((op.cell.op.label, costs[op.cell.id], moved))
        return found

    @property
    def apart_bytes(self) -> int:
        """The bytes that move if every op reads its inputs and writes its results by itself."""
        return sum(moved for _, _, moved in self.alone)

    @property
    def flops(self) -> int:
        """The operations of its ops, with those that every group repeats."""
        costs = {op.node: op.flops for op in cost_of(self.circuit).ops}
        return sum(
            costs[op.cell.id] * self._repeated(op.cell.site.ins.axes) for op in self.schedule.ops
        )

    def _repeated(self, axes: tuple[object, ...]) -> int:
        names = {getattr(axis, "name", "") for axis in axes}
        sizes = self.sizes
        return prod(
            -(-sizes[name] // self.tiles[name])
            for name in self.grouped
            if names and name not in names
        )


def passes(code: object) -> bool:
    """Returns whether an op only passes its arrays on."""
    return isinstance(code, tuple) and all(isinstance(expr, Arg) for expr in code)


def stream(
    term: Term,
    grouped: Mapping[str, int] = NONE,
    streamed: tuple[str, int] | None = None,
    *,
    budget: int | None = None,
    formats: Formats | None = None,
    around: bool = True,
) -> Stream:
    """Returns a term as one loop over tiles, with what it moves and what it keeps.

    Args:
        term: The term, with sizes.
        grouped: The size of a group for each axis that is cut into groups.
        streamed: The axis whose tiles come one after the other, and the size of a tile.
        budget: How many bytes of fast memory there are; unlimited if left out.
        formats: The number formats; float32 by default.
        around: Whether all ops are in the loop; else only those that take or give an array with
            the first grouped axis and the streamed one, such as the scores of attention.

    Raises:
        MismatchError: For an op that cannot be cut in this way, with the reason, and for an axis of
            two dimensions or one that is grouped and streamed.
        SizeError: For an axis without a size, a tile of no size, or a budget that is no number.
        ParseError: For ``grouped``, ``streamed`` or ``formats`` of another form.
        UnknownNameError: For an axis that the term lacks.
        LimitError: If the loop needs more fast memory than the budget.

    Source: Abbott and Zardini 2024, *FlashAttention on a Napkin*; Dao et al. 2022,
    "FlashAttention", algorithm 1.

    >>> from ncd.ops import Einsum
    >>> stream(Einsum("a:64 b:64, b:64 c:64 -> a c"), {"a": 8, "c": 8}, ("b", 4)).bytes_moved
    278528
    """
    check_term(term, "stream")
    circuit = elaborate(term)
    require_sizes(circuit)
    check_flag(around, "around", "stream")
    axis, tile = checked_cuts(grouped, streamed, budget, formats)
    given = {**grouped, **({axis: tile} if axis else {})}
    cells = circuit.cells if around or not grouped else core(circuit, next(iter(grouped)), axis)
    schedule = scheduled(circuit, cells, tuple(grouped), axis)
    plan = Stream(circuit, schedule, tuple(grouped), axis, given, formats or FLOAT32)
    sizes = plan.sizes
    fitted = {name: min(size, sizes[name]) for name, size in given.items()}
    plan = Stream(circuit, schedule, tuple(grouped), axis, fitted, formats or FLOAT32)
    if budget is not None and plan.fast_bytes > budget:
        raise too_large(plan, budget, plan.fitting(budget))
    return plan


def too_large(plan: Stream, budget: int, tiles: Mapping[str, int] | None) -> LimitError:
    """Returns the refusal of a loop that needs more fast memory than there is.

    ``tiles`` are those that fit, if there are any.
    """
    where = plan.circuit.cell(plan.widest.node).op.label
    fact = (
        f"the loop needs {plan.fast_bytes:,} bytes of fast memory at {where} "
        f"({plan.fast} numbers), and there are {budget:,}"
    )
    cure = ", ".join(f"{name} = {size}" for name, size in tiles.items()) if tiles else ""
    if not cure:
        cure = "more fast memory" if plan.tiles else "tiles of an axis"
    return LimitError(fact, cure=cure)
