"""Chooses which of the wires that join at a dot continues; the others bend onto it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from ncd.lang.glyph import Glyph


@lru_cache(maxsize=2048)
def settled(glyph: Glyph, ins: tuple[int, ...], outs: tuple[int, ...], upward: bool) -> Glyph:
    """Returns the glyph in which, at each join, the wire with the fewest crossings continues.

    ``ins`` and ``outs`` are the numbers of wires of its arrays, drawn from the last axis up if
    ``upward``. The glyph of a sum is not changed.
    """
    if not glyph.joins or any(mark.outs for mark in glyph.marks):
        return glyph
    before, behind = _places(ins, upward), _places(outs, upward)
    joined: dict[int, list[int]] = {}
    for i, o in glyph.joins:
        joined.setdefault(o, []).append(i)
    alone = [(before[i], behind[o]) for i, o in glyph.through if o not in joined]

    def crossed(port: int, o: int, met: Sequence[int]) -> int:
        at, to = before[port], behind[o]
        count = sum((at < a) != (to < b) for a, b in alone)
        return count + sum(
            min(at, before[i]) < a < max(at, before[i]) for i in met for a, _ in alone
        )

    through, joins = {o: i for i, o in glyph.through}, []
    for o, others in joined.items():
        met = [through[o], *reversed(others)]
        on = min(met, key=lambda port: crossed(port, o, met))
        joins += [(i, o) for i in sorted(met) if i != on]
        through[o] = on
    kept = tuple((through[o], o) for _, o in glyph.through)
    return replace(glyph, through=kept, joins=tuple(joins))


def _places(arrays: Sequence[int], upward: bool) -> list[int]:
    """Returns the index of each wire from the top."""
    found: list[int] = []
    for count in arrays:
        start = len(found)
        own = range(start, start + count)
        found += reversed(own) if upward else own
    return found
