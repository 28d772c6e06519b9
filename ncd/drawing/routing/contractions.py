"""The points where the wires of a contraction meet.

A contraction is a cap: two wires that meet, or more that meet in a spine. Caps of one op are nested
or apart. A wire that joins a continuing one goes to a dot on it, before the others change rows or
after that, whichever gives fewer crossings.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ncd.drawing.base import style
from ncd.lang.glyph import Glyph, Ports


def fall_width(bend: float) -> float:
    """Returns the width that a wire needs to go down behind a contraction."""
    return min(style.FALLS, style.FALL + style.STEEP * bend)


@lru_cache(maxsize=4096)
def chains(glyph: Glyph) -> tuple[Ports, ...]:
    """Returns the ports of each contraction: two of one array, or one of each of several arrays."""
    found: dict[int, Ports] = {}
    for i, j in sorted(glyph.caps):
        found[j] = (*found.pop(i, (i,)), j)
    return tuple(found.values())


@dataclass(frozen=True)
class Cap:
    """A cap: its ports from top to bottom, its first and last row, and the x of its apex."""

    ports: tuple[int, ...]
    upper: float
    lower: float
    apex: float

    @property
    def middle(self) -> float:
        return (self.upper + self.lower) / 2

    def around(self, y: float) -> bool:
        return self.upper < y < self.lower


@dataclass(frozen=True)
class Contraction:
    """The meetings inside an op: caps, the innermost first, and the x at which each wire joins.

    ``end`` is the x of the last apex, ``free`` the x from which continuing wires may bend; both
    from where the wires arrive. ``last`` are the wires that join after it.
    """

    caps: tuple[Cap, ...]
    falls: Mapping[int, float]
    end: float
    free: float
    last: Sequence[int]

    @property
    def behind(self) -> float:
        """The width for the wires that join last."""
        if not self.last:
            return 0.0
        return style.JOIN_RADIUS + style.JOIN_STEP * (len(self.last) - 1) + style.DOT_INSET


def contracts(glyph: Glyph) -> bool:
    """Returns whether wires of an op meet before others bend: in caps, or at dots of no sum."""
    return bool(glyph.caps or (glyph.joins and not any(mark.outs for mark in glyph.marks)))


def contraction(glyph: Glyph, rows: Sequence[float], outs: Sequence[float]) -> Contraction:
    """Returns where wires meet that arrive in ``rows`` and continue in ``outs``."""
    last = _joins_last(glyph, rows, outs) if glyph.joins else ()
    strung = sorted(chains(glyph), key=lambda ports: _span(rows, ports))
    joining = [i for i in _joining(glyph, rows) if i not in last]
    inner = [i for i in joining if any(_within(rows, i, ports) for ports in strung)]
    begin = style.CAP_LEAD + style.JOIN_STEP * max(0, len(inner) - 1)
    falls = {
        i: begin + style.JOIN_IN + style.JOIN_STEP * (n + 1 - len(inner))
        for n, i in enumerate(inner)
    }
    found: list[tuple[int, Cap]] = []
    for ports in strung:
        upper, lower = min([rows[i] for i in ports]), max([rows[i] for i in ports])
        met = [n for n, cap in found if cap.upper < lower and upper < cap.lower]
        level = max(met, default=-1) + 1
        apex = begin + style.CAP_RADIUS[1] + style.CAP_NEST * level
        found.append((level, Cap(ports, upper, lower, apex)))
    end = max([cap.apex for _, cap in found], default=0.0)
    first = end + (style.CAP_STEM + style.JOIN if strung else style.JOIN_TURN)
    outer = [i for i in joining if i not in inner]
    falls |= {i: first + style.JOIN_STEP * n for n, i in enumerate(outer)}
    free = max(end + style.CAP_CLEAR, max(falls.values(), default=0.0) + style.DOT_INSET)
    return Contraction(tuple([cap for _, cap in found]), falls, end, free, last)


def _joining(glyph: Glyph, rows: Sequence[float]) -> list[int]:
    """Returns the wires that join others: falling ones from the lowest up, then rising ones."""
    source = {o: i for i, o in glyph.through}
    falls = {i: rows[i] < rows[source[o]] for i, o in glyph.joins}
    return sorted(falls, key=lambda i: (not falls[i], -rows[i] if falls[i] else rows[i]))


def _joins_last(glyph: Glyph, ins: Sequence[float], outs: Sequence[float]) -> list[int]:
    """Returns the wires that cross fewer others if they join after these are in their rows."""
    strung, found = chains(glyph), []
    ways = [(ins[i], outs[o]) for i, o in glyph.through]
    came = {o: ins[i] for i, o in glyph.through}
    for i, o in glyph.joins:
        y, early, late = ins[i], came[o], outs[o]
        first = sum([min(y, early) < a < max(y, early) for a, _ in ways])
        then = sum([(a < y) != (b < y) or min(y, late) < b < max(y, late) for a, b in ways])
        away = abs(late - y) > style.AXIS_GAP / 2
        if then < first and away and not any(_within(ins, i, ports) for ports in strung):
            found.append(i)
    return [i for i in _joining(glyph, ins) if i in found]


def _span(rows: Sequence[float], ports: Sequence[int]) -> float:
    return max([rows[i] for i in ports]) - min([rows[i] for i in ports])


def _within(rows: Sequence[float], port: int, ports: Sequence[int]) -> bool:
    return min([rows[i] for i in ports]) < rows[port] < max([rows[i] for i in ports])
