"""Runs a fused loop over tiles in torch, and counts what it moves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from itertools import product as every
from math import prod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ncd.circuit.circuit import Value
from ncd.errors import MismatchError, ParseError, short_repr
from ncd.formulas.formula import Formula, Name, Number, Operand, parse
from ncd.language.axes import Array, Dim
from ncd.language.op import RunningStatistic
from ncd.language.torch_code import Const, Infix, Position, TorchExpr
from ncd.rewrite.tile_schedule import ScheduledOp, Stage, Stream
from ncd.run.evaluate import TensorOptions, compile_exprs, formula_value
from ncd.run.module import as_int64, check_shapes

# --- Tensors with named dimensions, cut into tiles; and formulas of them

Key = tuple[str, int]  # a dimension: the name of its axis, and its side
Cut = Mapping[str, tuple[int, int]]  # where the tile of each axis begins, and where it ends


class Tile(NamedTuple):
    """A tensor, or a part of one, with the names of its dimensions."""

    keys: tuple[Key, ...]
    data: Tensor


def cut_tile(data: Tensor, array: Array, cut: Cut) -> Tile:
    """Returns the part of an array that lies in the tiles."""
    keys = tuple(dim.key for dim in array.dims)
    data = data.reshape(array.shape)
    for place, (name, side) in enumerate(keys):
        if name in cut and side == 0:
            start, end = cut[name]
            data = data.narrow(place, start, end - start)
    return Tile(keys, data)


def align_dims(tile: Tile, keys: Sequence[Key]) -> Tensor:
    """Returns a tensor with these dimensions in order; those that it lacks have size 1."""
    order = [tile.keys.index(key) for key in keys if key in tile.keys]
    data = tile.data.permute(order)
    for place, key in enumerate(keys):
        if key not in tile.keys:
            data = data.unsqueeze(place)
    return data


def product(tiles: Sequence[Tile], out: Sequence[Key]) -> Tile:
    """Returns the product of tiles, summed over the dimensions that are not in ``out``."""
    letters: dict[Key, int] = {}
    operands: list[Any] = []
    for tile in tiles:
        places = [letters.setdefault(key, len(letters)) for key in tile.keys]
        operands += [tile.data, places]
    return Tile(tuple(out), torch.einsum(*operands, [letters[key] for key in out]))


def resize_expression(part: Any, cut: Cut) -> Any:
    """Returns an op's expression for a tile: its dimensions have the size of the tile.

    A position along a cut axis counts from the start of the whole axis.
    """
    if isinstance(part, Dim):
        if part.name not in cut:
            return part
        start, end = cut[part.name]
        return replace(part, size=end - start)
    if isinstance(part, Position):
        moved = Position(resize_expression(part.dim, cut), resize_expression(part.target_dims, cut))
        start = cut.get(part.dim.name, (0, 0))[0]
        return Infix("+", moved, Const(start)) if start else moved
    if isinstance(part, tuple):
        return tuple(resize_expression(item, cut) for item in part)
    if isinstance(part, TorchExpr) and is_dataclass(part):
        return replace(
            part, **{f.name: resize_expression(getattr(part, f.name), cut) for f in fields(part)}
        )
    return part


def value(formula: str | Formula, tile: Tensor | None, names: Mapping[str, Any]) -> Any:
    """Returns a formula of a tile, ``$1``, and of named numbers.

    >>> value("exp($1 - m)", torch.tensor([1.0]), {"m": torch.tensor([1.0])})
    tensor([1.])
    """
    rule = parse(formula) if isinstance(formula, str) else formula

    def leaf(part: Number | Operand | Name) -> Any:
        if isinstance(part, Number):
            return part.value
        return tile if isinstance(part, Operand) else names[part.text]

    return formula_value(rule, leaf)


def reduce_dims(x: Tensor, how: str, dims: Iterable[int]) -> Tensor:
    """Returns the sum, product, maximum or minimum over some dimensions, which stay with size 1."""
    dims = tuple(dims)
    if how == "sum":
        return x.sum(dims, keepdim=True) if dims else x
    if how == "product":
        for dim in dims:
            x = x.prod(dim, keepdim=True)
        return x
    return (torch.amax if how == "max" else torch.amin)(x, dims, keepdim=True) if dims else x


JOINS: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "max": torch.maximum,
    "min": torch.minimum,
    "product": torch.mul,
    "sum": torch.add,
}
STARTS = {"max": -math.inf, "min": math.inf, "product": 1.0, "sum": 0.0}


# --- Checks of the tensors and the module that a run is given

RUN = {"run_stream": "the loop", "run_sharded": "the sharded term"}


def checked_inputs(
    plan: Stream, inputs: Sequence[Tensor], module: nn.Module | None
) -> list[Tensor]:
    """Returns the inputs; raises MismatchError if they, or the weights, are not the loop's."""
    if not isinstance(plan, Stream):
        fact = f"{short_repr(plan)} is not a fused loop"
        raise ParseError(fact, where="run_stream", cure="ncd.stream(term)")
    arrays = [value.array for value in plan.schedule.inputs]
    weights = [weight.id for op in plan.schedule.ops for weight in op.weights]
    return checked_arrays(arrays, weights, inputs, module, "run_stream")


def checked_arrays(
    arrays: Sequence[Array],
    weights: Sequence[str],
    inputs: Sequence[Tensor],
    module: nn.Module | None,
    where: str,
) -> list[Tensor]:
    """Returns the inputs; raises MismatchError if they are not the arrays, or a weight is missing.

    Args:
        arrays: What is read, by its axes.
        weights: The names of the parameters that are read.
        inputs: The tensors that are given.
        module: The module whose parameters they are.
        where: The function that is called, for the message.
    """
    if not isinstance(inputs, Sequence) or len(inputs) != len(arrays):
        wanted = ", ".join(f"({array})" for array in arrays)
        many = isinstance(inputs, Sequence)
        count = f"{len(inputs)} array{'s' * (len(inputs) != 1)}" if many else short_repr(inputs)
        fact = f"{RUN[where]} reads {wanted or 'no arrays'}, not {count}"
        raise MismatchError(fact, cure=wanted or "[]")
    for array, x in zip(arrays, inputs, strict=True):
        shape = tuple(getattr(x, "shape", ()))
        if not isinstance(x, Tensor) or shape != array.shape:
            fact = f"the array ({array}) has shape {array.shape}, but is given {_input_text(x)}"
            raise MismatchError(fact, where=where, cure=f"a tensor of shape {array.shape}")
    check_shapes(tuple(arrays), tuple(inputs))
    known = dict(module.named_parameters()) if isinstance(module, nn.Module) else {}
    missing = [id for id in weights if id not in known]
    if missing:
        fact = f"{RUN[where]} reads the weights {', '.join(missing)}, which the module lacks"
        fact = fact if known else f"{RUN[where]} reads the weights {', '.join(missing)} of a module"
        raise MismatchError(fact, where=where, cure="module=ncd.compile(term)")
    return [
        x if array.below is None else as_int64(array, x)
        for array, x in zip(arrays, inputs, strict=True)
    ]


def _input_text(x: object) -> str:
    return f"one of shape {tuple(x.shape)}" if isinstance(x, Tensor) else short_repr(x)


# --- Runs one op on tiles


class LoopContext(NamedTuple):
    """The compiled module, and the device and type of new tensors: the same for all ops."""

    module: nn.Module | None
    like: TensorOptions


@dataclass
class DeferredTile:
    """A result that is only known after the last tile: its parts, and the op that says how."""

    parts: list[Tile]
    source_op: ScheduledOp


@dataclass
class TileGroup:
    """The work on one group: what lies in fast memory."""

    cut: dict[str, tuple[int, int]]
    resident_tiles: dict[str, Tile | DeferredTile] = field(default_factory=dict)
    states: dict[str, dict[str, Tensor]] = field(default_factory=dict)  # by the op, then the name
    scales: dict[str, list[Tensor | float]] = field(default_factory=dict)
    totals: dict[str, list[Tile]] = field(default_factory=dict)


def rename_tile(x: Tile | DeferredTile, array: Array) -> Tile | DeferredTile:
    """Returns a tile with the names that its dimensions have at an op."""
    keys = tuple(dim.key for dim in array.dims)
    if isinstance(x, Tile):
        return Tile(keys, x.data)
    return DeferredTile([Tile(keys, part.data) for part in x.parts], x.source_op)


def as_state(of: ScheduledOp, x: Tensor) -> Tile:
    """Returns a number that an op keeps, without the axes that it joins."""
    own = {axis.name for axis in of.cell.site.own_inputs.axes}
    keys = tuple(dim.key for dim in of.cell.site.inputs[0].dims)
    gone = tuple(place for place, key in enumerate(keys) if key[0] in own)
    return Tile(tuple(key for key in keys if key[0] not in own), x.squeeze(gone))


def run_on_tiles(
    op: ScheduledOp, ins: Sequence[Tile], own: Mapping[str, Tile], cut: Cut, run: LoopContext
) -> list[Tile]:
    """Runs an op on tiles of its inputs and of its weights, ``own``."""
    cell = op.cell
    keys = [tuple(dim.key for dim in array.dims) for array in cell.site.outputs]
    if cell.op.tiles_weight:
        tile = product([*_as_in_weight(op, ins), own[op.weights[0].name]], keys[0])
        if op.bias is not None and not op.totals:
            tile = Tile(tile.keys, tile.data + align_dims(own[op.bias.name], tile.keys))
        return [tile]
    tensors = [tile.data for tile in ins]
    expr = cell.torch_code  # one for each output, or one for all of them
    exprs = [
        resize_expression(each, cut) for each in (expr if isinstance(expr, tuple) else (expr,))
    ]
    layer = cell.layer.function if cell.layer is not None else ""
    called = run.module.get_submodule(cell.path) if run.module is not None and layer else None
    made = compile_exprs(exprs, [x.dim() for x in tensors], layer)(tensors, called, run.like)
    if not isinstance(expr, tuple) and len(keys) > 1:
        ((*made,),) = made
    if op.rule.mean and op.totals:  # the sum of the tile; the whole is divided at the end
        made = [x * (tensors[0].numel() // x.numel()) for x in made]
    return [Tile(k, x) for k, x in zip(keys, made, strict=True)]


def _as_in_weight(op: ScheduledOp, ins: Sequence[Tile]) -> Sequence[Tile]:
    """Returns the input of a linear map with its own axes named as in the weight."""
    if not ins:
        return ins
    (tile,), site = ins, op.cell.site
    own = op.weights[0].array[len(site.own_outputs[0]) :]
    names = {a.name: b.name for a, b in zip(site.own_inputs[0], own, strict=True)}
    return [Tile(tuple((names.get(n, n), side) for n, side in tile.keys), tile.data)]


def update_statistic(
    state: RunningStatistic, old: Tensor, found: Tensor, names: Mapping[str, Any]
) -> Tensor:
    """Returns a number that an op keeps, after a tile in which ``found`` was found."""
    if state.reduction == "max":  # no result depends on it: it only keeps the numbers small
        return torch.maximum(old, found.detach())
    return old * value(state.rescale, None, names) + found if state.rescale else old + found


# --- Runs a fused loop over tiles in torch, and counts what it moves

Watch = Callable[[Cut, Mapping[str, Tensor]], None]


@dataclass(frozen=True)
class Result:
    """The outputs of a loop, and the bytes that it moved.

    Args:
        outputs: The arrays that it writes.
        bytes_read: The bytes that were read, counted tile by tile.
        bytes_written: The bytes that were written.

    Source: Abbott and Zardini 2024, *FlashAttention on a Napkin*, whose H it counts.

    >>> Result((), 3, 4).bytes_moved
    7
    """

    outputs: tuple[Tensor, ...]
    bytes_read: int
    bytes_written: int

    @property
    def bytes_moved(self) -> int:
        """The bytes that moved in both directions."""
        return self.bytes_read + self.bytes_written


def run_stream(
    plan: Stream,
    inputs: Sequence[Tensor],
    module: nn.Module | None = None,
    watch: Watch | None = None,
) -> Result:
    """Runs a fused loop in torch; gradients flow through it.

    Args:
        plan: The loop, from :func:`ncd.stream`.
        inputs: The arrays that it reads, in the order of ``plan.schedule.inputs``.
        module: The compiled module of the term, if it learns anything.
        watch: Is called after each tile, with where it is and the numbers that are kept: those of
            an op such as ``n5.m``, and totals by the id of their array.

    Returns:
        The arrays that it writes, and how many bytes it moved.

    Raises:
        MismatchError: For another number, shape or kind of inputs, and for weights that are not
            there.
        ParseError: For what is no loop.

    Source: Dao et al. 2022, "FlashAttention", algorithm 1, for the loop of attention.

    >>> from ncd.ops import Softmax, Einsum
    >>> from ncd import stream
    >>> term = Softmax("x:5") >> Einsum("x:5 -> ")
    >>> done = run_stream(stream(term, {}, ("x", 2)), [torch.arange(5.0)])
    >>> round(done.outputs[0].item(), 6), done.bytes_read
    (1.0, 20)
    """
    return _FusedLoopRunner(plan, checked_inputs(plan, inputs, module), module, watch).run()


class _FusedLoopRunner:
    def __init__(
        self, plan: Stream, inputs: list[Tensor], module: nn.Module | None, watch: Watch | None
    ) -> None:
        self.plan, self.watch = plan, watch
        self.slow = {v.id: (v.array, x) for v, x in zip(plan.schedule.inputs, inputs, strict=True)}
        own = (weight for op in plan.schedule.ops for weight in op.weights)
        learned = dict(module.named_parameters()) if module is not None else {}
        self.slow |= {weight.id: (weight.array, learned[weight.id]) for weight in own}
        known = [x for _, x in self.slow.values()] + [*(module.buffers() if module else ())]
        real = next((x for x in known if x.is_floating_point()), torch.zeros(()))
        self.shared = LoopContext(module, TensorOptions(real.device, real.dtype))
        self.read = self.written = 0  # bits
        self.widths: dict[str, int] = {}
        self.by_stage = {s: [op for op in plan.schedule.ops if op.stage is s] for s in Stage}

    def run(self) -> Result:
        found = [self._group(dict(cut)) for cut in self._cuts(self.plan.grouped_axes)]
        outputs = []
        for place, output in enumerate(self.plan.schedule.outputs):
            blocks = [group[place] for group in found]
            outputs.append(self._join_blocks(blocks, output.array, self.plan.grouped_axes))
        return Result(tuple(outputs), -(-self.read // 8), -(-self.written // 8))

    def _cuts(self, names: Sequence[str]) -> Iterator[tuple[tuple[str, tuple[int, int]], ...]]:
        sizes, tiles = self.plan.sizes, self.plan.tiles
        spans = [
            [
                (name, (i, min(i + tiles[name], sizes[name])))
                for i in range(0, sizes[name], tiles[name])
            ]
            for name in names
        ]
        return every(*spans)

    def _join_blocks(self, blocks: list[Tensor], array: Array, cut: Sequence[str]) -> Tensor:
        """Joins the blocks of all groups along the grouped axes, the last of which varies first."""
        for name in reversed(cut):
            count = -(-self.plan.sizes[name] // self.plan.tiles[name])
            (dim,) = array.position(name)
            rows = range(0, len(blocks), count)
            blocks = [torch.cat(blocks[i : i + count], dim) for i in rows]
        return blocks[0]

    # --- one group ------------------------------------------------------------------------------

    def _group(self, cut: dict[str, tuple[int, int]]) -> list[Tensor]:
        """Does the work on one group; returns what it writes."""
        group = TileGroup(cut)
        for op in self.by_stage[Stage.BEFORE]:
            self._do(op, group)
        rows: dict[str, list[Tensor]] = {}
        kept = dict(group.resident_tiles)
        for ((name, span),) in (
            self._cuts([self.plan.streamed_axis]) if self.plan.streamed_axis else []
        ):
            group.cut, group.resident_tiles = {**cut, name: span}, dict(kept)
            self._one_tile(group, rows)
            kept |= {id: x for id, x in group.resident_tiles.items() if self._stays(id)}
        group.cut, group.resident_tiles = cut, kept
        for id, parts in group.totals.items():
            group.resident_tiles[id] = self._total_tile(id, parts, group)
        for op in self.by_stage[Stage.AFTER]:
            self._do(op, group)
        return [self._output(value, group, rows) for value in self.plan.schedule.outputs]

    def _one_tile(self, group: TileGroup, rows: dict[str, list[Tensor]]) -> None:
        for op in self.by_stage[Stage.TILE]:
            self._do(op, group)
        for output in self.plan.schedule.outputs:
            found = group.resident_tiles.get(output.id)
            if isinstance(found, Tile) and self.plan.streamed_axis in output.array.names:
                rows.setdefault(output.id, []).append(self._write(output.id, found))
        if self.watch:
            named = {f"{id}.{n}": x for id, own in group.states.items() for n, x in own.items()}
            totals = {id: parts[0].data for id, parts in group.totals.items()}
            self.watch(group.cut, named | totals)

    def _output(self, output: Value, group: TileGroup, rows: dict[str, list[Tensor]]) -> Tensor:
        if output.id in rows:
            (dim,) = output.array.position(self.plan.streamed_axis)
            return torch.cat(rows[output.id], dim)
        found = group.resident_tiles[output.id]
        assert isinstance(found, Tile)
        return self._write(output.id, found)

    def _stays(self, id: str) -> bool:
        """Returns whether an array is the same for the next tiles: it has no streamed axis."""
        array = self.slow[id][0] if id in self.slow else self.plan.circuit.values[id].array
        return self.plan.streamed_axis not in array.names

    def _write(self, id: str, tile: Tile) -> Tensor:
        self.written += self._bits(id, tile)
        return tile.data

    def _take(self, id: str, group: TileGroup) -> Tile | DeferredTile:
        """Returns an array in fast memory, which is read from slow memory if it is not there."""
        if id not in group.resident_tiles:
            array, data = self.slow[id]
            tile = cut_tile(data, array, group.cut)
            self.read += self._bits(id, tile)
            group.resident_tiles[id] = tile
        return group.resident_tiles[id]

    def _bits(self, id: str, tile: Tile) -> int:
        if id not in self.widths:
            self.widths[id] = self.plan.bits(id)
        return tile.data.numel() * self.widths[id]

    # --- one op ---------------------------------------------------------------------------------

    def _do(self, op: ScheduledOp, group: TileGroup) -> None:
        pairs = zip(op.cell.inputs, op.cell.site.inputs, strict=True)
        ins = [rename_tile(self._take(value.id, group), array) for value, array in pairs]
        weights = {weight.name: self._take(weight.id, group) for weight in op.weights}
        own = {name: tile for name, tile in weights.items() if isinstance(tile, Tile)}
        if op.rule.parts:
            (tile,) = ins
            assert isinstance(tile, Tile)
            group.resident_tiles[op.cell.outputs[0].id] = self._deferred_tile(op, tile, own, group)
            return
        waiting = next((x for x in ins if isinstance(x, DeferredTile)), None)
        if waiting is None:
            made = run_on_tiles(
                op, [x for x in ins if isinstance(x, Tile)], own, group.cut, self.shared
            )
            self._keep(op, [[tile] for tile in made], None, group)
            return
        parts = []
        for part in waiting.parts:
            tiles = [part if x is waiting else x for x in ins]
            found = [x for x in tiles if isinstance(x, Tile)]
            parts.append(run_on_tiles(op, found, own, group.cut, self.shared))
        self._keep(
            op, [list(tiles) for tiles in zip(*parts, strict=True)], waiting.source_op, group
        )

    def _keep(
        self, op: ScheduledOp, made: list[list[Tile]], waits: ScheduledOp | None, group: TileGroup
    ) -> None:
        """Keeps results, or joins them with those of the tiles before."""
        for result, parts in zip(op.cell.outputs, made, strict=True):
            if not op.totals:
                group.resident_tiles[result.id] = DeferredTile(parts, waits) if waits else parts[0]
                continue
            before = group.totals.get(result.id)
            if before is None:
                start = STARTS[op.rule.tile_reduction]
                before = [Tile(p.keys, torch.full_like(p.data, start)) for p in parts]
            scales = group.scales[waits.cell.id] if waits else [1.0] * len(parts)
            pairs = zip(before, parts, scales, strict=True)
            join = JOINS[op.rule.tile_reduction]
            group.totals[result.id] = [
                Tile(p.keys, join(self._rescale(old, scale, waits), p.data))
                for old, p, scale in pairs
            ]

    def _rescale(self, old: Tile, scale: Tensor | float, of: ScheduledOp | None) -> Tensor:
        if of is None or not isinstance(scale, Tensor):
            return old.data
        return old.data * align_dims(as_state(of, scale), old.keys)

    def _deferred_tile(
        self, op: ScheduledOp, tile: Tile, own: Mapping[str, Tile], group: TileGroup
    ) -> DeferredTile:
        """Updates what an op keeps, and returns the parts of its result on a tile."""
        axes = {axis.name for axis in op.cell.site.own_inputs.axes}
        dims = [place for place, key in enumerate(tile.keys) if key[0] in axes]
        names: dict[str, Any] = {name: align_dims(x, tile.keys) for name, x in own.items()}
        states, kept = group.states.get(op.cell.id, {}), {}
        for state in op.rule.statistics:
            old = states.get(state.name)
            found = reduce_dims(value(state.tile_formula, tile.data, names), state.reduction, dims)
            if old is None:
                old = torch.full_like(found, STARTS[state.reduction])
            names[f"{state.name}_old"] = old
            kept[state.name] = new = update_statistic(state, old, found, names)
            names[state.name] = new.masked_fill(new == -math.inf, 0)  # nothing was seen yet
        group.states[op.cell.id] = kept
        group.scales[op.cell.id] = [
            value(part.rescale, None, names) if part.rescale else 1.0 for part in op.rule.parts
        ]
        parts = []
        for part in op.rule.parts:
            data = torch.as_tensor(
                value(part.tile_formula, tile.data, names), dtype=tile.data.dtype
            )
            parts.append(Tile(tile.keys, data.expand(tile.data.shape)))
        return DeferredTile(parts, op)

    def _total_tile(self, id: str, parts: list[Tile], group: TileGroup) -> Tile:
        """Returns a total: the sum of its parts, each times its coefficient."""
        op = next(o for o in self.plan.schedule.ops if any(v.id == id for v in o.cell.outputs))
        data = self._weighted_sum(op, parts, group) if op.deferred_inputs else parts[0].data
        if op.rule.mean:
            data = data / (op.cell.site.inputs[0].numel // op.cell.site.outputs[0].numel)
        if op.bias is not None:
            tile = self._take(op.bias.id, group)
            assert isinstance(tile, Tile)
            data = data + align_dims(tile, parts[0].keys)
        return Tile(parts[0].keys, data)

    def _weighted_sum(self, op: ScheduledOp, parts: list[Tile], group: TileGroup) -> Tensor:
        """Returns the sum of the parts of a total, each times its coefficient."""
        of = self._source(op)
        names: dict[str, Any] = {"n": prod(axis.numel for axis in of.cell.site.own_inputs.axes)}
        for name, x in group.states[of.cell.id].items():
            names[name] = align_dims(as_state(of, x), parts[0].keys)
        pairs = list(zip(of.rule.parts, parts, strict=True))
        data = value(pairs[0][0].coefficient, None, names) * pairs[0][1].data
        for part, tile in pairs[1:]:
            data = data + value(part.coefficient, None, names) * tile.data
        return data

    def _source(self, op: ScheduledOp) -> ScheduledOp:
        """Returns the op whose result waits for the last tile, and which this one takes."""
        makers = {v.id: o for o in self.plan.schedule.ops for v in o.cell.outputs}
        while True:
            op = next(
                makers[v.id]
                for v in op.cell.inputs
                if v.id in makers and makers[v.id].deferred_outputs
            )
            if op.rule.parts:
                return op
