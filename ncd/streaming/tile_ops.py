"""Runs one op on tiles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from ncd.lang.terms.streaming import Running
from ncd.lang.types.axes import Array
from ncd.run.execution.evaluate import Like, codes
from ncd.streaming.schedule import Planned
from ncd.streaming.tiles import Cut, Tile, aligned, product, resized, value


class Shared(NamedTuple):
    """The compiled module, and the device and type of new tensors: the same for all ops."""

    module: nn.Module | None
    like: Like


@dataclass
class Waiting:
    """A result that is only known after the last tile: its parts, and the op that says how."""

    parts: list[Tile]
    of: Planned


@dataclass
class Group:
    """The work on one group: what lies in fast memory."""

    cut: dict[str, tuple[int, int]]
    held: dict[str, Tile | Waiting] = field(default_factory=dict)
    states: dict[str, dict[str, Tensor]] = field(default_factory=dict)  # by the op, then the name
    scales: dict[str, list[Tensor | float]] = field(default_factory=dict)
    totals: dict[str, list[Tile]] = field(default_factory=dict)


def called(x: Tile | Waiting, array: Array) -> Tile | Waiting:
    """Returns a tile with the names that its dimensions have at an op."""
    keys = tuple(dim.key for dim in array.dims)
    if isinstance(x, Tile):
        return Tile(keys, x.data)
    return Waiting([Tile(keys, part.data) for part in x.parts], x.of)


def as_state(of: Planned, x: Tensor) -> Tile:
    """Returns a number that an op keeps, without the axes that it joins."""
    own = {axis.name for axis in of.cell.site.dom.axes}
    keys = tuple(dim.key for dim in of.cell.site.ins[0].dims)
    gone = tuple(place for place, key in enumerate(keys) if key[0] in own)
    return Tile(tuple(key for key in keys if key[0] not in own), x.squeeze(gone))


def ran(
    op: Planned, ins: Sequence[Tile], own: Mapping[str, Tile], cut: Cut, run: Shared
) -> list[Tile]:
    """Runs an op on tiles of its inputs and of its weights, ``own``."""
    cell = op.cell
    keys = [tuple(dim.key for dim in array.dims) for array in cell.site.outs]
    if cell.op.weighted:
        tile = product([*_as_in_weight(op, ins), own[op.weights[0].name]], keys[0])
        if "bias" in own and not op.totals:
            tile = Tile(tile.keys, tile.data + aligned(own["bias"], tile.keys))
        return [tile]
    tensors = [tile.data for tile in ins]
    expr = cell.torch  # one for each output, or one for all of them
    exprs = [resized(each, cut) for each in (expr if isinstance(expr, tuple) else (expr,))]
    layer = cell.layer.function if cell.layer is not None else ""
    called = run.module.get_submodule(cell.path) if run.module is not None and layer else None
    made = codes(exprs, [x.dim() for x in tensors], layer)(tensors, called, run.like)
    if not isinstance(expr, tuple) and len(keys) > 1:
        ((*made,),) = made
    if op.rule.mean and op.totals:  # the sum of the tile; the whole is divided at the end
        made = [x * (tensors[0].numel() // x.numel()) for x in made]
    return [Tile(k, x) for k, x in zip(keys, made, strict=True)]


def _as_in_weight(op: Planned, ins: Sequence[Tile]) -> Sequence[Tile]:
    """Returns the input of a linear map with its own axes named as in the weight."""
    if not ins:
        return ins
    (tile,), site = ins, op.cell.site
    own = op.weights[0].array[len(site.cod[0]) :]
    names = {a.name: b.name for a, b in zip(site.dom[0], own, strict=True)}
    return [Tile(tuple((names.get(n, n), side) for n, side in tile.keys), tile.data)]


def updated(state: Running, old: Tensor, found: Tensor, names: Mapping[str, Any]) -> Tensor:
    """Returns a number that an op keeps, after a tile in which ``found`` was found."""
    if state.how == "max":  # no result depends on it: it only keeps the numbers small
        return torch.maximum(old, found.detach())
    return old * value(state.rescale, None, names) + found if state.rescale else old + found
