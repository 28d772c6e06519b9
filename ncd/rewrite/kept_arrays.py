"""The arrays that a cached pass keeps between positions, those of equal layers in one."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Literal

from ncd.language.axes import Array, Axis
from ncd.language.loops import Repeat, Scan
from ncd.language.op import ArrayHandle
from ncd.ops import Cumulative
from ncd.rewrite.cache_choice import CacheChoice, Demand, Span
from ncd.rewrite.causality import Causality
from ncd.rewrite.position_steps import StepList
from ncd.rewrite.step_blocks import Home


@dataclass(frozen=True, eq=False)
class KeptArray:
    """An array that is kept from one position to the next.

    Args:
        slot: The array of the whole term.
        kind: ``"positions"`` for all so far, ``"window"`` for the last of them, ``"state"`` for
            what is carried on, ``"once"`` for what depends on other inputs alone.
        axis: The axis of its positions; empty for none.
        count: How many positions a window has.
        offset: How far behind the new position the last one is that is computed.
    """

    slot: ArrayHandle
    kind: Literal["positions", "window", "state", "once"]
    axis: str = ""
    count: int = 0
    offset: int = 0

    @property
    def numbers(self) -> int:
        """The count of its numbers: of a position, or in all for a state and what is kept once."""
        return math.prod(axis.numel for axis in self.slot.axes if axis.name != self.axis)

    @property
    def array(self) -> Array:
        """Its axes as it is kept: with room for all positions, or for the last ones."""
        axes = self.slot.axes
        if self.kind == "state":
            return axes.with_axes(a for a in axes if a.name != self.axis)
        if self.kind != "window":
            return axes
        size = self.count
        return axes.with_axes(replace(a, size=size) if a.name == self.axis else a for a in axes)


def arrays_to_cache(causality: Causality, demand: Demand, choice: CacheChoice) -> list[KeptArray]:
    """Returns all arrays that are kept: those chosen, and the states of scans and sums."""
    chosen = {each.slot: each for each in choice.arrays}
    found = []
    for slot in causality.steps.inputs:
        if slot in chosen:
            found.append(_keep(demand, slot, chosen[slot].span))
    for step in causality.steps.steps:
        op = step.term
        for i, slot in enumerate(step.gives):
            if isinstance(op, Scan) and i < op.states:
                if demand.dependences[slot].moving:
                    found.append(KeptArray(slot, "state"))
            elif slot in chosen:
                found.append(_keep(demand, slot, chosen[slot].span))
            moving, own = demand.dependences[slot].moving, demand.positions.names(slot)
            if isinstance(op, Cumulative) and moving and op.axis[0].name in own:
                found.append(KeptArray(slot, "state", op.axis[0].name))
    return found


def _keep(demand: Demand, slot: ArrayHandle, span: Span | None) -> KeptArray:
    if span is None:
        return KeptArray(slot, "once")
    (name,), offset = demand.positions.names(slot), int(demand.offset(slot))
    if span.is_everything:
        return KeptArray(slot, "positions", name, 0, offset)
    return KeptArray(slot, "window", name, int(offset - span.start), offset)


# --- Equal arrays of all layers of a repetition, as one array


@dataclass(frozen=True, eq=False)
class KeptStack:
    """An array that is kept, or the arrays that equal layers keep, along an axis of layers.

    Args:
        members: The arrays, one of each layer.
        layers: The place of each layer among the blocks; empty for a single array.
        axis: The axis of the layers; None for a single array.
    """

    members: tuple[KeptArray, ...]
    layers: tuple[Home, ...] = ()
    axis: Axis | None = None

    @property
    def first_member(self) -> KeptArray:
        """The array of the first layer."""
        return self.members[0]

    @property
    def array(self) -> Array:
        """Its axes, that of the layers in front."""
        own = self.first_member.array
        return own if self.axis is None else own.with_axes((self.axis, *own))


def stack_layers(steps: StepList, kept: Sequence[KeptArray]) -> tuple[KeptStack, ...]:
    """Returns the arrays that are kept, those that equal layers make at the same place as one."""
    homes = dict(_layer_places(steps))
    groups: dict[object, list[KeptArray]] = {}
    for one in kept:
        layer, place = homes.get(one.slot, ((), one))
        loop = layer[:-1], [id for id, _ in layer[-1:]]
        key = place, str(loop), one.kind, one.array, one.count, one.offset
        groups.setdefault(key, []).append(one)
    taken = {a.name for step in steps.steps for s in (*step.takes, *step.gives) for a in s.axes}
    names = (name for n in count(1) if (name := f"l{n if n > 1 else ''}") not in taken)
    axes: dict[tuple[Home, ...], Axis] = {}
    return tuple(_stack(members, homes, names, axes) for members in groups.values())


def _stack(
    members: list[KeptArray],
    homes: dict[ArrayHandle, tuple[Home, object]],
    names: Iterator[str],
    axes: dict[tuple[Home, ...], Axis],
) -> KeptStack:
    if len(members) == 1:
        return KeptStack((members[0],))
    layers = tuple(homes[one.slot][0] for one in members)
    if layers not in axes:
        axes[layers] = Axis(next(names), len(layers))
    return KeptStack(tuple(members), layers, axes[layers])


def _layer_places(steps: StepList) -> Iterator[tuple[ArrayHandle, tuple[Home, object]]]:
    """Yields the layer of each array, and its number among the arrays of this layer."""
    counts: dict[Home, int] = {}
    for step in steps.steps:
        inside = [n for n, (id, _) in enumerate(step.home) if isinstance(steps.blocks[id], Repeat)]
        if not inside:
            continue
        layer = step.home[: inside[-1] + 1]
        counts[layer] = counts.get(layer, 0) + 1
        for i, slot in enumerate(step.gives):
            yield slot, (layer, (counts[layer], i))
