"""The attention heads of a circuit, and runs with some of them switched off."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor

from ncd.circuit.circuit import Cell, Circuit, attention_axes
from ncd.language.axes import Array, Axis
from ncd.run.program import Watch


class Head(NamedTuple):
    """A head: the id of its softmax, and its index there."""

    softmax: str
    number: int


@dataclass(frozen=True)
class AttentionCells:
    """A softmax, and the product of its weights with the values."""

    softmax: Cell
    product: Cell

    @property
    def weights(self) -> Array:
        """The weights, with the product's names for their axes."""
        ids = [value.id for value in self.product.inputs]
        return self.product.site.inputs[ids.index(self.softmax.outputs[0].id)]

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The axes of the heads: those that weights and product share, but for the queries."""
        (own,), (out,) = self.softmax.site.own_outputs[0], self.product.site.outputs
        _, _, rest = attention_axes(self.softmax.outputs[0].array, own)
        return tuple(self.weights[i] for i in rest if self.weights[i].name in out.names)

    @property
    def heads(self) -> tuple[Head, ...]:
        """A head for each index of these axes; a single one if there are none."""
        count = math.prod(axis.numel for axis in self.axes)
        return tuple(Head(self.softmax.id, number) for number in range(count))

    def maps(self, found: Tensor) -> Tensor:
        """Returns the softmax as (…, heads, queries, keys); the product sums over the keys."""
        (out,), inner = self.product.site.outputs, {axis.name for axis in self.axes}
        parts = [0 if a.name in inner else 1 if a.name in out.names else 2 for a in self.weights]
        dims = [(part, n) for part, a in zip(parts, self.weights, strict=True) for n in a.shape]
        lead = found.dim() - len(dims)
        order = sorted(range(len(dims)), key=lambda i: dims[i][0])
        sizes = [math.prod(n for part, n in dims if part == own) for own in range(3)]
        moved = found.permute(*range(lead), *(lead + i for i in order))
        return moved.reshape(*found.shape[:lead], *sizes)

    def without_heads(self, off: Collection[int], made: Tensor) -> Tensor:
        """Returns the product with zeros for some heads.

        ``made`` may have batch axes in front.
        """
        (out,), axes = self.product.site.outputs, self.axes
        on = torch.ones(len(self.heads), dtype=torch.bool, device=made.device)
        on[list(off)] = False
        order = sorted(range(len(axes)), key=lambda i: out.names.index(axes[i].name))
        grid = on.reshape([axis.numel for axis in axes]).permute(order)
        inner = {axis.name for axis in axes}
        sizes = [n if axis.name in inner else 1 for axis in out for n in axis.shape]
        return made.where(grid.reshape(sizes), 0)


def find_attention(circuit: Circuit) -> Iterator[AttentionCells]:
    """Yields every softmax whose weights go directly into a product with values.

    >>> import ncd
    >>> term = ncd.catalogue["multi-head-attention"].build(h=3)
    >>> [len(found.heads) for found in find_attention(ncd.elaborate(term))]
    [3]
    """
    for cell in circuit.cells:
        taker = circuit.consumers.get(cell.outputs[0].id) if cell.op.role == "softmax" else None
        if taker is not None and len(taker.inputs) == 2:
            yield AttentionCells(cell, taker)


def capture_maps(circuit: Circuit, maps: dict[str, Tensor]) -> Watch:
    """Returns a watch that stores the maps (…, heads, queries, keys) of a run by softmax.

    >>> import ncd
    >>> term, maps = ncd.catalogue["multi-head-attention"].build(), {}
    >>> module, inputs = ncd.compile(term), ncd.example_inputs(term)
    >>> (y,) = module.execute(inputs, watch=capture_maps(module.circuit, maps))
    >>> [tuple(found.shape) for found in maps.values()]
    [(4, 20, 22)]
    """
    known = {found.softmax.id: found for found in find_attention(circuit)}

    def watch(cell: Cell, given: tuple[Tensor, ...], made: tuple[Tensor, ...]) -> None:
        if cell.id in known:
            maps[cell.id] = known[cell.id].maps(made[0])

    return watch


def disable_heads(circuit: Circuit, heads: Collection[Head]) -> Watch:
    """Returns a watch for :meth:`CircuitModule.execute` that sets these heads to zero.

    >>> import ncd
    >>> term = ncd.catalogue["scaled-dot-product-attention"].build()
    >>> module, inputs = ncd.compile(term), ncd.example_inputs(term)
    >>> (only,) = (head for each in find_attention(module.circuit) for head in each.heads)
    >>> (y,) = module.execute(inputs, watch=disable_heads(module.circuit, [only]))
    >>> bool(y.any())
    False
    """
    known = {found.product.id: found for found in find_attention(circuit)}
    off: dict[str, list[int]] = {}
    for softmax, number in heads:
        off.setdefault(softmax, []).append(number)

    def watch(
        cell: Cell, given: tuple[Tensor, ...], made: tuple[Tensor, ...]
    ) -> tuple[Tensor, ...] | None:
        found = known.get(cell.id)
        numbers = off.get(found.softmax.id) if found is not None else None
        return (found.without_heads(numbers, made[0]),) if found is not None and numbers else None

    return watch
