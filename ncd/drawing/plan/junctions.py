"""Joins: which of the wires that meet at dots goes on; the others bend onto it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from ncd.lang.glyph import Glyph


@lru_cache(maxsize=2048)
def settled(glyph: Glyph, ins: tuple[int, ...], outs: tuple[int, ...], upward: bool) -> Glyph:
    """The glyph with that wire of each join going on that crosses the fewest others.

    ``ins`` and ``outs`` are the numbers of wires of its arrays, which are drawn from the last axis
    up if ``upward``. A sum's glyph stays as it is, and so does one that gains nothing.
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
    """Where each wire is from the top."""
    found: list[int] = []
    for count in arrays:
        start = len(found)
        own = range(start, start + count)
        found += reversed(own) if upward else own
    return found
