"""The outline of a broad line along a path."""

from __future__ import annotations

from math import hypot

from ncd.drawing.base.primitives import Curve, Path, Point, line


def ribbon(path: Path, half: float) -> Path:
    """Returns the closed outline at a distance of ``half`` on both sides of a path.

    >>> from ncd.drawing.base.primitives import Box
    >>> wide = ribbon((line(Point(0, 0), Point(9, 0)),), 2)
    >>> [(round(c.a.x), round(c.a.y)) for c in wide]
    [(0, -2), (9, -2), (9, 2), (0, 2)]
    """
    there = [_beside(curve, half) for curve in path]
    back = [_beside(curve, -half).back for curve in reversed(path)]
    found: list[Curve] = []
    for curve in (*there, *back):
        if found and found[-1].d != curve.a:
            found.append(line(found[-1].d, curve.a))
        found.append(curve)
    return (*found, line(found[-1].d, found[0].a))


def _beside(curve: Curve, way: float) -> Curve:
    """Returns the parallel curve at a distance to the left."""
    points = []
    for n, p in enumerate(curve):
        before, after = curve[max(n - 1, 0)], curve[min(n + 1, 3)]
        x, y = after.x - before.x, after.y - before.y
        length = hypot(x, y) or 1.0
        points.append(Point(p.x + y / length * way, p.y - x / length * way))
    return Curve(*points)
