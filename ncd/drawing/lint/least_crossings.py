"""The least crossings that an op needs to route its wires.

An op's stretch is a disc with the ends of its wires around it: inputs at the left, outputs at the
right. Wires that meet at a dot, in a cap or at a mark form a star. Two stars cross as often as the
order of their ends requires, wherever their centres are.
"""

from __future__ import annotations

from itertools import combinations, pairwise

from ncd.drawing.base.plan_types import Unit
from ncd.drawing.marks import in_marks

_End = tuple[str, int]
_Star = list[tuple[int, str]]


def least(unit: Unit) -> int:
    """Returns how often wires of an op must cross in the best drawing.

    >>> from ncd.drawing.plan.build_plan import plan
    >>> from ncd import Axes, Einsum, elaborate
    >>> term = Axes(a=2, b=3, c=4)(Einsum("a b c -> c b a"))
    >>> least(plan(elaborate(term)).steps[0][0])
    3
    """
    around = _around(unit)
    stars = [sorted((around[end], end[0]) for end in star) for star in _stars(unit)]
    return sum(_between(a, b) for a, b in combinations(stars, 2))


def _around(unit: Unit) -> dict[_End, int]:
    """Returns the index of each wire's end on the circle around the op."""
    ins = {port: n for n, port in enumerate(unit.ins)}
    outs = {port: n for n, port in enumerate(unit.outs)}
    left = [("in", ins[port]) for port in unit.in_places if port in ins]
    right = [("out", outs[port]) for port in unit.out_places if port in outs]
    return {end: n for n, end in enumerate([*left, *reversed(right)])}


def _stars(unit: Unit) -> list[list[_End]]:
    """Returns the groups of wire ends that meet."""
    glyph = unit.glyph
    star: dict[_End, set[_End]] = {}
    pairs = [(("in", i), ("out", o)) for i, o in (*glyph.through, *glyph.joins, *glyph.splits)]
    pairs += [(("in", i), ("in", j)) for i, j in glyph.caps]
    ended, begun = in_marks(glyph)
    for mark in glyph.marks:
        ends = [("in", i) for i in mark.ins if i in ended]
        ends += [("out", o) for o in mark.outs if o in begun]
        pairs += pairwise(ends)
    for a, b in pairs:
        joined = star.get(a, {a}) | star.get(b, {b})
        star |= dict.fromkeys(joined, joined)
    return [list(ends) for ends in {id(ends): ends for ends in star.values()}.values()]


def _between(one: _Star, two: _Star) -> int:
    """Returns how often two stars must cross."""
    sectors = [sum(place < leg for place, _ in two) % len(two) for leg, _ in one]
    return min(sum(_passed(two, middle, s) for s in sectors) for middle in range(len(two)))


def _passed(star: _Star, a: int, b: int) -> int:
    """Returns how many legs lie between two sectors of a star, on the allowed way round."""
    low, high = sorted((a, b))
    ways = (star[low:high], star[high:] + star[:low])
    plain = [way for way in ways if len({side for _, side in way}) < 2]
    return min(len(way) for way in plain or ways)
