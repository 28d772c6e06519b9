"""Cuts lines where something stands in their way."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from math import ceil

from fontTools.misc.bezierTools import splitCubicAtT

from ncd.drawing.base import style
from ncd.drawing.base.primitives import Box, Curve, Path, Point

CELL = 128.0  # the width of the columns that index obstacles
STEP = 4.0  # the distance of the points at which a bending line is checked
PARTS = 8  # boxes that cover a bending wire

_Sides = tuple[float, float, float, float]


_Thing = tuple[_Sides, Curve | None]  # a box, or the box around a wire that bends


def _parts(thing: _Thing) -> Iterator[_Sides]:
    """Yields the boxes around the parts of an obstacle."""
    sides, bends = thing
    if bends is None:
        yield sides
        return
    points = [bends.at(n / PARTS) for n in range(PARTS + 1)]
    for (x0, a), (x1, b) in pairwise(points):
        yield _grown(x0, min(a, b), x1, max(a, b))


class Ground:
    """The obstacles of a page: boxes and wires, except those within some ``spans`` of x.

    >>> from ncd.drawing.base.primitives import line
    >>> ground = Ground([Box(40, 0, 60, 20)], [])
    >>> [round(p[-1].d.x) for p in ground.clear((line(Point(0, 9), Point(100, 9)),))]
    [36, 100]
    """

    def __init__(
        self,
        boxes: Iterable[Box],
        wires: Iterable[Path],
        spans: Sequence[tuple[float, float]] = (),
    ) -> None:
        self.cells: dict[int, list[_Thing]] = defaultdict(list)
        lefts = [left for left, _ in spans]
        for box in boxes:
            if not (lefts and _inside(box.x0, box.x1, lefts, spans)):
                self.add(_grown(*box), None)
        for path in wires:
            for curve in path:
                (x0, a), (_, b), (_, c), (x1, d) = curve
                if lefts and _inside(x0, x1, lefts, spans):
                    continue
                if a == b == c == d:
                    self.add(_grown(x0, a, x1, a), None)
                else:
                    self.add(_grown(x0, min(a, b, c, d), x1, max(a, b, c, d)), curve)

    def add(self, sides: _Sides, bends: Curve | None) -> None:
        thing = sides, bends
        for n in range(int(sides[0] // CELL), int(sides[2] // CELL) + 1):
            self.cells[n].append(thing)

    def near(self, curve: Curve) -> Iterator[_Sides]:
        """Yields the obstacles that may touch a curve."""
        left, right = curve.a.x, curve.d.x
        top, bottom = min(curve.a.y, curve.d.y), max(curve.a.y, curve.d.y)
        for n in range(int(left // CELL), int(right // CELL) + 1):
            for thing in self.cells.get(n, ()):
                x0, y0, x1, y1 = thing[0]
                if x0 < right and left < x1 and y0 < bottom and top < y1:
                    yield from _parts(thing)

    def clear(self, path: Path) -> Iterator[Path]:
        """Yields the longest piece of a line without obstacles, and others that are no stubs."""
        pieces: list[list[Curve]] = []
        for curve in path:
            for start, stop in _stretches(curve, [*self.near(curve)]):
                part = _part(curve, start, stop)
                if not pieces or pieces[-1][-1].d != part.a:
                    pieces.append([])
                pieces[-1].append(part)
        longest = max(map(_length, pieces), default=0.0)
        least = min(style.DASH_STUB, max(style.DASH_LEAST, longest))
        yield from (tuple(piece) for piece in pieces if _length(piece) >= least)


def _inside(
    x0: float, x1: float, lefts: Sequence[float], spans: Sequence[tuple[float, float]]
) -> bool:
    """Returns whether a range lies in one of the spans, which begin at ``lefts``."""
    n = bisect_right(lefts, x0) - 1
    return n >= 0 and x1 <= spans[n][1]


def _grown(x0: float, y0: float, x1: float, y1: float) -> _Sides:
    by = style.DASH_FREE
    return x0 - by, y0 - by, x1 + by, y1 + by


def _stretches(curve: Curve, near: list[_Sides]) -> Iterator[tuple[float, float]]:
    """Yields the free ranges of a curve, as shares of its length."""
    if not near:
        yield 0.0, 1.0
    elif curve.straight:
        yield from _between(curve, near)
    else:
        yield from _sampled(curve, near)


def _between(curve: Curve, near: list[_Sides]) -> Iterator[tuple[float, float]]:
    (left, y), right = curve.a, curve.d.x
    taken = sorted((x0, x1) for x0, y0, x1, y1 in near if y0 < y < y1)
    free = left
    for x0, x1 in (*taken, (right, right)):
        if min(x0, right) > free:  # a part of a wire that bends may lie behind the curve
            yield (free - left) / (right - left), (min(x0, right) - left) / (right - left)
        free = max(free, x1)


def _sampled(curve: Curve, near: list[_Sides]) -> Iterator[tuple[float, float]]:
    count = ceil(max(curve.d.x - curve.a.x, abs(curve.d.y - curve.a.y)) / STEP)
    start = last = -1
    for n in range(count + 1):
        x, y = curve.at(n / count)
        if any(x0 < x < x1 and y0 < y < y1 for x0, y0, x1, y1 in near):
            if -1 < start < last:
                yield start / count, last / count
            start = -1
        else:
            start, last = (n, n) if start < 0 else (start, n)
    if -1 < start < last:
        yield start / count, 1.0


def _part(curve: Curve, start: float, stop: float) -> Curve:
    cuts = [t for t in (start, stop) if 0 < t < 1]
    if not cuts:
        return curve
    part = splitCubicAtT(*curve, *cuts)[1 if start else 0]
    a, b, c, d = (Point(*point) for point in part)
    return Curve(a if start else curve.a, b, c, curve.d if stop == 1 else d)


def _length(piece: Sequence[Curve]) -> float:
    return piece[-1].d.x - piece[0].a.x
