"""The fast memory M that a loop is said to need is what its arrays take while it runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from torch import Tensor

import ncd
from ncd.rewrite import tile_loop as run
from ncd.rewrite.tile_loop import DeferredTile, TileGroup
from ncd.rewrite.tile_schedule import ScheduledOp, Stage, Stream
from tests.rewrite.test_loop import CASES


class Watched(run._FusedLoopRunner):
    """A loop that notes the numbers in each array of fast memory after each op."""

    def _do(self, op: ScheduledOp, group: TileGroup) -> None:
        super()._do(op, group)
        held = {
            id: sum(part.data.numel() for part in (x.parts if isinstance(x, DeferredTile) else [x]))
            for id, x in group.resident_tiles.items()
        }
        totals = {id: sum(p.data.numel() for p in parts) for id, parts in group.totals.items()}
        states = {
            f"{node}.{name}": x.numel()
            for node, kept in group.states.items()
            for name, x in kept.items()
        }
        self.notes = [*getattr(self, "notes", []), (op, held | totals | states)]


def most_bytes(loop: Stream, notes: list[tuple[ScheduledOp, dict[str, int]]]) -> int:
    """Returns the bytes where fast memory is fullest, if what nobody needs any more is given up."""
    return max(
        sum(count * loop.bits(id) for id, count in held.items() if _needed(loop, op, id)) // 8
        for op, held in notes
    )


def _needed(loop: Stream, now: ScheduledOp, id: str) -> bool:
    """Returns whether an array is still needed when an op has given its result."""
    ops = loop.schedule.ops
    uses = [at for at, op in enumerate(ops) if id in {*_taken(op), *_given(op)}]
    if not uses:  # what an op keeps from tile to tile
        return True
    at = ops.index(now)
    if (
        not now.rule.tile_reduction
        and not now.cell.op.tiles_weight
        and id in _overwritten(now, uses[-1] == at)
    ):
        return False
    if uses[-1] >= at:
        return True
    again = any(ops[use].stage is Stage.TILE for use in uses) and now.stage is Stage.TILE
    return again and not _made_anew(loop, id)


def _made_anew(loop: Stream, id: str) -> bool:
    """Returns whether each tile has an array of its own."""
    makers = [op for op in loop.schedule.ops if id in _given(op)]
    if makers:
        return makers[0].stage is Stage.TILE and not makers[0].totals
    arrays = {v.id: v.array for v in loop.schedule.inputs}
    arrays |= {w.id: w.array for op in loop.schedule.ops for w in op.weights}
    return loop.streamed_axis in arrays[id].names


def _overwritten(op: ScheduledOp, last: bool) -> Iterator[str]:
    """Yields the input in whose place a result of the same axes is written."""
    if last and len(op.cell.outputs) == 1:
        names = {*op.cell.outputs[0].array.names}
        yield from [v.id for v in op.cell.inputs if {*v.array.names} == names][:1]


def _taken(op: ScheduledOp) -> list[str]:
    return [*(value.id for value in op.cell.inputs), *(weight.id for weight in op.weights)]


def _given(op: ScheduledOp) -> list[str]:
    return [value.id for value in op.cell.outputs]


@pytest.mark.parametrize("name", CASES)
def test_fast_memory_is_what_the_arrays_take(name: str) -> None:
    term, groups, streamed = CASES[name]
    module, inputs = ncd.compile(term, 0), ncd.example_inputs(term, 0)
    for group, tile in ((1, 1), (2, 3), (5, 4)):
        loop = ncd.stream(term, dict.fromkeys(groups.split(), group), (streamed, tile))
        watched = Watched(loop, list[Tensor](inputs), module, None)
        watched.run()
        assert loop.fast_bytes == most_bytes(loop, watched.notes), (group, tile)
