"""Tensors with named dimensions, cut into tiles; and formulas of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, NamedTuple

import torch
from torch import Tensor

from ncd.lang.formulas.expr import Const, Expr, Infix, Position
from ncd.lang.formulas.formula import Formula, Name, Number, Operand, parse
from ncd.lang.types.axes import Array, Dim
from ncd.run.base.formula_values import formula_value

Key = tuple[str, int]  # a dimension: the name of its axis, and its side
Cut = Mapping[str, tuple[int, int]]  # where the tile of each axis begins, and where it ends


class Tile(NamedTuple):
    """A tensor, or a part of one, with the names of its dimensions."""

    keys: tuple[Key, ...]
    data: Tensor


def tiled(data: Tensor, array: Array, cut: Cut) -> Tile:
    """Returns the part of an array that lies in the tiles."""
    keys = tuple(dim.key for dim in array.dims)
    data = data.reshape(array.shape)
    for place, (name, side) in enumerate(keys):
        if name in cut and side == 0:
            start, end = cut[name]
            data = data.narrow(place, start, end - start)
    return Tile(keys, data)


def aligned(tile: Tile, keys: Sequence[Key]) -> Tensor:
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


def resized(part: Any, cut: Cut) -> Any:
    """Returns an op's expression for a tile: its dimensions have the size of the tile.

    A position along a cut axis counts from the start of the whole axis.
    """
    if isinstance(part, Dim):
        if part.name not in cut:
            return part
        start, end = cut[part.name]
        return replace(part, size=end - start)
    if isinstance(part, Position):
        moved = Position(resized(part.dim, cut), resized(part.after, cut))
        start = cut.get(part.dim.name, (0, 0))[0]
        return Infix("+", moved, Const(start)) if start else moved
    if isinstance(part, tuple):
        return tuple(resized(item, cut) for item in part)
    if isinstance(part, Expr) and is_dataclass(part):
        return replace(part, **{f.name: resized(getattr(part, f.name), cut) for f in fields(part)})
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


def reduced(x: Tensor, how: str, dims: Iterable[int]) -> Tensor:
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
