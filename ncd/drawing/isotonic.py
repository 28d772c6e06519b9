"""The rows nearest to what wires want that keep the gaps between them.

This is an isotonic regression (pool adjacent violators), with medians, so that the wires of a pool
that can stay straight do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ncd.drawing.plan import Port

Rows = dict[Port, float]
Targets = Mapping[Port, tuple[float, float]]  # the y that a wire wants, and how much
WEAK = 0.01  # the weight of a wire that only stays where it was
_Wants = list[tuple[float, float]]


@dataclass(frozen=True)
class Item:
    """Wires that move as one: a whole array, or one wire of an array that may be spread."""

    wires: tuple[Port, ...]
    offsets: tuple[float, ...]
    above: float  # the least distance from the last wire of the item before


def stacked(items: Sequence[Item]) -> Rows:
    y, found = 0.0, Rows()
    for item in items:
        y += item.above
        found |= {w: y + d for w, d in zip(item.wires, item.offsets, strict=True)}
        y += item.offsets[-1]
    return found


def placed(items: Sequence[Item], wants: Sequence[Targets], old: Rows) -> Rows:
    """The rows nearest to the targets that keep the gaps; wires without a target stay put."""
    targets: dict[Port, tuple[float, float]] = {}
    for more in wants:
        targets |= more
    pools: list[tuple[float, _Wants, int]] = []  # the level, what is wanted, how many items
    shifts, at = [], 0.0
    for item in items:
        at += item.above
        shifts.append(at)
        own = []
        for wire, offset in zip(item.wires, item.offsets, strict=True):
            y, weight = targets.get(wire) or (old[wire], WEAK)
            own.append((y - offset - at, weight))
        own.sort()
        level, count = _median(own), 1
        while pools and pools[-1][0] > level:
            _, above, n = pools.pop()
            own = sorted(above + own)
            level, count = _median(own), count + n
        pools.append((level, own, count))
        at += item.offsets[-1]
    levels = [level for level, _, count in pools for _ in range(count)]
    found = Rows()
    for item, level, shift in zip(items, levels, shifts, strict=True):
        for wire, offset in zip(item.wires, item.offsets, strict=True):
            found[wire] = level + shift + offset
    return found


def _median(ordered: _Wants) -> float:
    """The weighted median; where two would do the one further down, as the figures bend."""
    half, seen = sum(weight for _, weight in ordered) / 2, 0.0
    for value, weight in ordered:
        seen += weight
        if seen > half + 1e-9:
            return value
    return ordered[-1][0]
