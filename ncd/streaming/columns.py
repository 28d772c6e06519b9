"""The arrays in fast memory at each step of a fused loop: the columns of its diagram."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ncd.lang.types.axes import Array
from ncd.streaming.amounts import Amount, Factor
from ncd.streaming.schedule import Planned, Schedule, Stage

Bits = Callable[[str], int]  # the width of the numbers of an array, by its id
Terms = list[tuple[int, tuple[Factor, ...], int]]


@dataclass(frozen=True)
class Column:
    """The arrays in fast memory while an op runs, and how many numbers they are.

    Args:
        node: The id of the op.
        held: The ids of the arrays; what an op keeps from tile to tile has the op's id.
        amount: Their numbers.
    """

    node: str
    held: tuple[str, ...]
    amount: Amount


@dataclass(frozen=True)
class Held:
    """An array in fast memory: from its first step to its last, its parts, and its axes."""

    id: str
    array: Array
    first: int
    last: int
    parts: int = 1
    bits: int = 32


def factors(array: Array, cut: Iterable[str]) -> tuple[Factor, ...]:
    """Returns the factors of a tile of an array, of which some axes are cut."""
    known = set(cut)
    return tuple(Factor("tile" if n in known else "size", n) for n in array.names)


def columns(schedule: Schedule, grouped: Sequence[str], streamed: str, bits: Bits) -> list[Column]:
    """Returns the columns of a loop, one for each op.

    An array is there from the op that makes it, or the first that reads it, to the last that uses
    it. One that is the same for all tiles is read once, and stays until the last of them. An op
    that gives one number for each number that it takes writes over its input, if nothing else
    needs that.
    """
    cut = (*grouped, *([streamed] if streamed else []))
    every = _held(schedule, streamed, bits)
    found = []
    for at, op in enumerate(schedule.ops):
        over = _replaced(op, at, every)
        here = [h for h in every.values() if h.first <= at <= h.last and h.id not in over]
        terms: Terms = [(h.parts, factors(h.array, cut), h.bits) for h in here]
        found.append(Column(op.cell.id, tuple(h.id for h in here), Amount.of(terms)))
    return found


def _replaced(op: Planned, at: int, every: Mapping[str, Held]) -> frozenset[str]:
    """Returns the input that an op writes its result over, if it does."""
    ins, outs = op.cell.inputs, op.cell.outputs
    if len(outs) != 1 or op.rule.merge or op.cell.op.weighted:
        return frozenset()
    out = every[outs[0].id]
    for value in ins:
        held = every[value.id]
        same = set(held.array.names) == set(out.array.names) and held.parts <= out.parts
        if same and held.last == at:
            return frozenset({value.id})
    return frozenset()


def _held(schedule: Schedule, streamed: str, bits: Bits) -> dict[str, Held]:
    """Returns every array, with the steps at which it is in fast memory."""
    ops = schedule.ops
    tiles = [at for at, op in enumerate(ops) if op.stage is Stage.TILE]
    uses: dict[str, list[int]] = {}
    arrays: dict[str, tuple[Array, int]] = {v.id: (v.array, 1) for v in schedule.inputs}
    makers: dict[str, int] = {}
    for at, op in enumerate(ops):
        for weight in op.weights:
            arrays[weight.id] = (weight.array, 1)
            uses.setdefault(weight.id, []).append(at)
        for value in op.cell.inputs:
            uses.setdefault(value.id, []).append(at)
        for value in op.cell.outputs:
            arrays[value.id] = (value.array, op.gives or 1)
            makers[value.id] = at
            uses.setdefault(value.id, []).append(at)
    found = {}
    for id, (array, parts) in arrays.items():
        first, last = min(uses[id]), max(uses[id])
        found[id] = Held(id, array, first, last, parts, bits(id))
        if tiles:
            found[id] = _spanned(found[id], ops, tiles, makers.get(id), streamed)
    for op in ops:
        found |= _states(op, tiles, ops, uses, bits)
    return found


def _spanned(
    held: Held, ops: Sequence[Planned], tiles: Sequence[int], maker: int | None, streamed: str
) -> Held:
    """Returns an array with the ops of the tiles added for which it stays.

    ``maker`` is the op that makes it; None if it comes from slow memory.
    """
    first, last = min(held.first, tiles[0]), max(held.last, tiles[-1])
    if maker is not None and ops[maker].totals:  # it grows from the first tile to the last
        return replace(held, first=tiles[0], last=last, parts=ops[maker].waits or 1)
    used = any(held.first <= at <= held.last for at in tiles)
    if not used or (maker in tiles if maker is not None else streamed in held.array.names):
        return held
    return replace(held, first=first, last=last)


def _states(
    op: Planned,
    tiles: Sequence[int],
    ops: Sequence[Planned],
    uses: Mapping[str, Sequence[int]],
    bits: Bits,
) -> dict[str, Held]:
    """Returns the numbers that an op keeps from tile to tile, until what waits for them is done."""
    own = {axis.name for axis in op.cell.site.dom.axes}
    (value, *_) = op.cell.outputs
    rest = Array(axis for axis in value.array if axis.name not in own)
    last = max([tiles[-1], *uses[value.id]]) if tiles else 0
    return {
        f"{op.cell.id}.{state.name}": Held(
            f"{op.cell.id}.{state.name}", rest, tiles[0], last, 1, bits(value.id)
        )
        for state in op.rule.states
    }
