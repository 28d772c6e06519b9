"""Runs a sharded term on simulated devices, which send what they need of each other in a ring."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from ncd.circuit.circuit import Cell, Value
from ncd.errors import ParseError, short_repr
from ncd.language.axes import Array
from ncd.rewrite.sharding import ShardedOp, Sharding, passed_inputs
from ncd.rewrite.tile_loop import (
    JOINS,
    Cut,
    LoopContext,
    Tile,
    align_dims,
    checked_arrays,
    cut_tile,
    reduce_dims,
    run_on_tiles,
    value,
)
from ncd.rewrite.tile_schedule import ScheduledOp
from ncd.run.evaluate import TensorOptions

Join = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class ShardedResult:
    """The outputs of a sharded term, and how many numbers the devices sent for them.

    Args:
        outputs: The whole outputs, put together without sending anything.
        numbers_sent: How many numbers all devices sent, counted as they were sent.

    Source: Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of
    workstations", whose ring they are sent in.

    >>> ShardedResult((torch.ones(2),), 6).numbers_sent
    6
    """

    outputs: tuple[Tensor, ...]
    numbers_sent: int


def run_sharded(
    plan: Sharding, inputs: Sequence[Tensor], module: nn.Module | None = None
) -> ShardedResult:
    """Runs a sharded term in torch, one simulated device after the other; gradients flow through.

    Args:
        plan: The sharded term, from :func:`ncd.shard`.
        inputs: The whole inputs of the term.
        module: The compiled module of the term, if it learns anything.

    Raises:
        MismatchError: For another number, shape or kind of inputs, and for weights that are not
            there.
        ParseError: For what is no sharded term.

    Source: Patarasuk and Yuan 2009, "Bandwidth optimal all-reduce algorithms for clusters of
    workstations", for the ring.

    >>> from ncd import Axes, Softmax, shard
    >>> done = run_sharded(shard(Axes(x=4)(Softmax("x")), ["x"], 2), [torch.zeros(4)])
    >>> done.outputs[0].tolist(), done.numbers_sent
    ([0.25, 0.25, 0.25, 0.25], 4)
    """
    if not isinstance(plan, Sharding):
        fact = f"{short_repr(plan)} is not a sharded term"
        raise ParseError(fact, where="run_sharded", cure='ncd.shard(term, ["m"], 2)')
    arrays = [value.array for value in plan.circuit.inputs]
    weights = [weight.id for one in plan.ops for weight in one.op.weights]
    return _Devices(
        plan, checked_arrays(arrays, weights, inputs, module, "run_sharded"), module
    ).run()


class Ring:
    """Devices in a ring, each of which sends to the next; it counts the numbers that are sent."""

    def __init__(self) -> None:
        self.numbers_sent = 0

    def reduce_scatter(self, tensors: Sequence[Tensor], dim: int, join: Join) -> list[Tensor]:
        """Returns for each device its part of the joined tensors.

        The part of device i starts at device i + 1, and is joined at each device on its way.
        """
        n = len(tensors)
        parts = [tensor.tensor_split(n, dim) for tensor in tensors]
        held = [parts[(i + 1) % n][i] for i in range(n)]  # by the device that it ends at
        for step in range(2, n + 1):
            for i in range(n):
                self.numbers_sent += held[i].numel()
                held[i] = join(held[i], parts[(i + step) % n][i])
        return held

    def all_gather(self, parts: Sequence[Tensor], dim: int) -> list[Tensor]:
        """Returns for each device the parts of all, one after the other."""
        self.numbers_sent += (len(parts) - 1) * sum(part.numel() for part in parts)
        return [torch.cat([*parts], dim)] * len(parts)

    def all_reduce(self, tensors: Sequence[Tensor], join: Join) -> list[Tensor]:
        """Returns for each device the joined tensors: they are scattered, then gathered."""
        shape = tensors[0].shape
        parts = self.reduce_scatter([tensor.reshape(-1) for tensor in tensors], 0, join)
        return [whole.reshape(shape) for whole in self.all_gather(parts, 0)]


class _Devices:
    """All devices, with the tiles that each of them holds."""

    def __init__(self, plan: Sharding, inputs: Sequence[Tensor], module: nn.Module | None) -> None:
        self.plan, self.module, self.ring = plan, module, Ring()
        self.learned = dict(module.named_parameters()) if module is not None else {}
        known = [*inputs, *self.learned.values(), *(module.buffers() if module else ())]
        real = next((x for x in known if x.is_floating_point()), torch.zeros(()))
        self.context = LoopContext(module, TensorOptions(real.device, real.dtype))
        self.held: dict[str, list[Tile]] = {}  # by array, then by device
        for array, x in zip(plan.circuit.inputs, inputs, strict=True):
            cuts = self._cuts(plan.shard_axis(array), array.array)
            self.held[array.id] = [cut_tile(x, array.array, cut) for cut in cuts]

    def run(self) -> ShardedResult:
        for one in self.plan.ops:
            if one.op.cell.passes_arrays_on:
                self._pass_arrays_on(one.op.cell)
            else:
                self._run_op(one)
        outputs = tuple([self._assemble(output) for output in self.plan.circuit.outputs])
        return ShardedResult(outputs, self.ring.numbers_sent)

    def _cuts(self, axis: str, *arrays: Array) -> list[Cut]:
        """Returns for each device where its part of an axis begins, and where it ends."""
        sizes = [one.numel for array in arrays for one in array if one.name == axis]
        if not sizes:
            return [{}] * self.plan.devices
        part = sizes[0] // self.plan.devices
        return [{axis: (i * part, (i + 1) * part)} for i in range(self.plan.devices)]

    def _assemble(self, output: Value) -> Tensor:
        tiles = self.held[output.id]
        place = self.plan.shards.get(output.id)
        data = tiles[0].data
        if place is not None:
            data = torch.cat([tile.data for tile in tiles], self._dim(output.array, place))
        return data.reshape(output.array.shape)

    def _dim(self, array: Array, place: int) -> int:
        """Returns the dimension of an axis of one dimension in the array's tensor."""
        return array.position(array.names[place])[0]

    # --- one op ---------------------------------------------------------------------------------

    def _pass_arrays_on(self, cell: Cell) -> None:
        for output, array, i in zip(
            cell.outputs, cell.site.outputs, passed_inputs(cell), strict=True
        ):
            keys = tuple(dim.key for dim in array.dims)
            self.held[output.id] = [Tile(keys, x.data) for x in self.held[cell.inputs[i].id]]

    def _run_op(self, one: ShardedOp) -> None:
        op, site = one.op, one.op.cell.site
        learned = [weight.array for weight in op.weights]
        cuts = self._cuts(one.axis, *site.inputs, *site.outputs, *learned)
        if one.new_axis != one.axis:
            new = self._cuts(one.new_axis, *site.outputs)
            cuts = [{**old, **more} for old, more in zip(cuts, new, strict=True)]
        inputs = [self._input(one, i, cuts) for i in range(len(op.cell.inputs))]  # by input
        by_device = list(zip(*inputs, strict=True)) or [()] * self.plan.devices
        weights = [
            {w.name: cut_tile(self.learned[w.id], w.array, cut) for w in op.weights} for cut in cuts
        ]
        if one.axis and op.rule.parts:
            tiles = [self._run_with_statistics(op, [tile for (tile,) in by_device], weights)]
        else:
            made = [
                run_on_tiles(op, ins, own, cut, self.context)
                for ins, own, cut in zip(by_device, weights, cuts, strict=True)
            ]
            tiles = [list(of) for of in zip(*made, strict=True)]  # by output, then by device
        for output, array, parts in zip(op.cell.outputs, site.outputs, tiles, strict=True):
            self.held[output.id] = self._keep(one, output, array, parts)

    def _input(self, one: ShardedOp, i: int, cuts: Sequence[Cut]) -> list[Tile]:
        """Returns an input on each device, gathered or cut as the op takes it."""
        source, array = one.op.cell.inputs[i], one.op.cell.site.inputs[i]
        data = [tile.data for tile in self.held[source.id]]
        place = self.plan.shards.get(source.id)
        if place is not None and i not in one.gathers:
            keys = tuple(dim.key for dim in array.dims)
            return [Tile(keys, part) for part in data]
        if place is not None:
            data = self.ring.all_gather(data, self._dim(array, place))
        return [cut_tile(whole, array, cut) for whole, cut in zip(data, cuts, strict=True)]

    def _keep(self, one: ShardedOp, output: Value, array: Array, tiles: list[Tile]) -> list[Tile]:
        """Returns what each device keeps of what an op gives, joined if it is a part of a sum."""
        place = self.plan.shards.get(output.id)
        kept = "" if place is None else array.names[place]
        cuts = self._cuts(kept, array)
        if one.op.totals:
            tiles = self._join(one.op, array, tiles, place)
            return [self._add_bias(one.op, *pair) for pair in zip(tiles, cuts, strict=True)]
        if kept == one.new_axis:
            return tiles
        return [cut_tile(tile.data, array, cut) for tile, cut in zip(tiles, cuts, strict=True)]

    def _join(
        self, op: ScheduledOp, array: Array, tiles: Sequence[Tile], place: int | None
    ) -> list[Tile]:
        join, keys = JOINS[op.rule.tile_reduction], tiles[0].keys
        data = [tile.data for tile in tiles]
        if place is None:
            made = self.ring.all_reduce(data, join)
        else:
            made = self.ring.reduce_scatter(data, self._dim(array, place), join)
        if op.rule.mean:
            count = op.cell.site.inputs[0].numel // array.numel
            made = [x / count for x in made]
        return [Tile(keys, x) for x in made]

    def _add_bias(self, op: ScheduledOp, tile: Tile, cut: Cut) -> Tile:
        if op.bias is None:
            return tile
        bias = cut_tile(self.learned[op.bias.id], op.bias.array, cut)
        return Tile(tile.keys, tile.data + align_dims(bias, tile.keys))

    def _run_with_statistics(
        self, op: ScheduledOp, tiles: Sequence[Tile], weights: Sequence[Mapping[str, Tile]]
    ) -> list[Tile]:
        """Runs an op that needs numbers of all parts, such as the largest and the sum."""
        site, keys = op.cell.site, tiles[0].keys
        axes = {axis.name for axis in site.own_inputs.axes}
        dims = [place for place, key in enumerate(keys) if key[0] in axes]
        names: list[dict[str, Any]] = [
            {name: align_dims(x, keys) for name, x in own.items()} for own in weights
        ]
        for state in op.rule.statistics:
            pairs = zip(tiles, names, strict=True)
            found = [
                reduce_dims(value(state.tile_formula, tile.data, known), state.reduction, dims)
                for tile, known in pairs
            ]
            for known, x in zip(
                names, self.ring.all_reduce(found, JOINS[state.reduction]), strict=True
            ):
                known[state.name] = x.masked_fill(x == -math.inf, 0)
        count = prod(axis.numel for axis in site.own_inputs.axes)
        return [
            Tile(keys, self._sum_of_parts(op, tile.data, {**known, "n": count}))
            for tile, known in zip(tiles, names, strict=True)
        ]

    @staticmethod
    def _sum_of_parts(op: ScheduledOp, data: Tensor, known: Mapping[str, Any]) -> Tensor:
        summands = [
            value(part.coefficient, None, known) * value(part.tile_formula, data, known)
            for part in op.rule.parts
        ]
        return sum(summands[1:], summands[0])
