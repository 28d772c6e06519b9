"""Routes wires that change their order so that they cross in pairs, never three in one point.

Orders without a triple of wires that all cross each other need one sweep. Otherwise neighbours
change places in rounds (odd-even transposition sort): each pair that must cross does so once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from ncd.drawing.base import style
from ncd.drawing.base.primitives import QUARTER, Curve, Path, Point, ease, line

Wires = tuple[tuple[float, float], ...]  # the y at which each begins and ends


def crossing_width(wires: Sequence[tuple[float, float]]) -> float:
    """Returns the width that wires need to change their rows."""
    bend = max([abs(b - a) for a, b in wires], default=0.0)
    if bend < style.STILL:
        return 0.0
    order = sorted(wires)
    cross = any(one[1] > two[1] for one, two in pairwise(order))
    sweep = style.BEND + (style.CROSS if cross else style.SLOPE) * bend
    return max(min(style.BENDS, sweep), sum(_widths(tuple(wires))))


def cross_wires(wires: Sequence[tuple[float, float]], x0: float, x1: float) -> list[Path]:
    """Returns a path for each wire from x0 to x1, level at both ends."""
    widths = _widths(tuple(wires))
    if not widths:
        return [(ease(Point(x0, a), Point(x1, b)),) for a, b in wires]
    scale, xs = (x1 - x0) / sum(widths), [x0]
    for wide in widths:
        xs.append(xs[-1] + scale * wide)
    slots = _rounds(tuple(wires))
    return [_smooth([Point(xs[r], y) for r, y in wire]) for wire in slots]


@lru_cache(maxsize=1024)
def _widths(wires: Wires) -> tuple[float, ...]:
    """Returns the width of each round, so that every crossing has a visible angle."""
    states, (least, most) = _states(wires), style.CROSSING
    rows = _levels(wires, len(states)) if states else []
    found = []
    for r, (now, then) in enumerate(pairwise(states)):
        moves = [rows[r][k + 1] - rows[r][k] for k in range(len(now) - 1) if now[k] == then[k + 1]]
        found.append(min(max(least, style.CROSSING_ANGLE * max(moves, default=0.0)), most))
    return tuple(found)


@lru_cache(maxsize=1024)
def _rounds(wires: Wires) -> tuple[tuple[tuple[int, float], ...], ...]:
    """Returns between which rounds each wire turns, and in which row."""
    states = _states(wires)
    rows, last = _levels(wires, len(states)), len(states) - 1
    found: list[tuple[tuple[int, float], ...]] = []
    for n in range(len(wires)):
        at = [state.index(n) for state in states]
        turns = [r for r in range(1, last) if not at[r - 1] == at[r] == at[r + 1]]
        found.append(tuple((r, rows[r][at[r]]) for r in (0, *turns, last)))
    return tuple(found)


def _levels(wires: Wires, count: int) -> list[list[float]]:
    """Returns the rows between the rounds: those of the side on which wires are closer."""
    starts, stops = sorted(a for a, _ in wires), sorted(b for _, b in wires)
    closer = min(starts, stops, key=lambda rows: rows[-1] - rows[0])
    return [starts, *[closer] * (count - 2), stops]


@lru_cache(maxsize=1024)
def _states(wires: Wires) -> tuple[tuple[int, ...], ...]:
    """Returns the orders of the wires between the rounds; nothing if one sweep is enough."""
    order = sorted(range(len(wires)), key=lambda n: wires[n])
    goal = sorted(order, key=lambda n: wires[n][1])
    if not _tangled([goal.index(n) for n in order]):
        return ()
    return min((_sorted(order, goal, odd) for odd in (0, 1)), key=len)


def _tangled(places: Sequence[int]) -> bool:
    """Returns whether three wires all cross each other."""
    longest: list[int] = []
    for n, place in enumerate(places):
        longest.append(1 + max((longest[m] for m in range(n) if places[m] > place), default=0))
    return max(longest, default=0) > 2


def _sorted(order: Sequence[int], goal: Sequence[int], odd: int) -> tuple[tuple[int, ...], ...]:
    """Returns the orders between rounds in which alternate pairs of neighbours change places."""
    states = [tuple(order)]
    while states[-1] != tuple(goal):
        now = list(states[-1])
        for k in range(odd, len(now) - 1, 2):
            if goal.index(now[k]) > goal.index(now[k + 1]):
                now[k], now[k + 1] = now[k + 1], now[k]
        odd = 1 - odd
        states.append(tuple(now))
    return tuple(state for n, state in enumerate(states) if n == 0 or state != states[n - 1])


def _smooth(points: Sequence[Point]) -> Path:
    """Returns a curve through points that stays between the rows of consecutive points."""
    slopes = [(b.y - a.y) / (b.x - a.x) for a, b in pairwise(points)]
    turns = [0.0, *(_slope(m, n) for m, n in pairwise(slopes)), 0.0]
    path = []
    for (a, b), (m, n) in zip(pairwise(points), pairwise(turns), strict=True):
        if a.y == b.y:
            path.append(line(a, b))
            continue
        reach = (b.x - a.x) / 2
        left = reach if not m else reach / 1.5
        right = reach if not n else reach / 1.5
        path.append(
            Curve(a, Point(a.x + left, a.y + m * left), Point(b.x - right, b.y - n * right), b)
        )
    return tuple(path)


def _slope(before: float, after: float) -> float:
    """Returns the gentler of two slopes of one direction; 0 where a wire turns."""
    return min(before, after, key=abs) if before * after > 0 else 0.0


def drop(a: Point, b: Point, radius: float) -> Path:
    """Returns a level path that turns a corner onto a wire from above or below."""
    way = b.y - a.y
    if not way:
        return (line(a, b),)
    rx, ry = radius, min(abs(way), radius) * (1 if way > 0 else -1)
    corner = Curve(
        Point(b.x - rx, a.y),
        Point(b.x - rx + QUARTER * rx, a.y),
        Point(b.x, a.y + (1 - QUARTER) * ry),
        Point(b.x, a.y + ry),
    )
    return (line(a, corner.a), corner, line(corner.d, b))
