"""Paths and numbers as SVG writes them, in as few letters as it allows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ncd.drawing.data import Box, Curve, Path

PLACES = 100  # what is written is whole hundredths, so that steps add up to where they lead
_AFTER = ["", *(f".{rest:02d}".rstrip("0") for rest in range(1, PLACES))]  # after the point


def number(value: float) -> str:
    """A coordinate with at most two digits after the point.

    >>> number(1.0), number(2.346), number(-0.25), number(-0.001)
    ('1', '2.35', '-.25', '0')
    """
    return _short(round(value * PLACES))


@lru_cache(maxsize=1 << 15)
def _short(hundredths: int) -> str:
    whole, rest = divmod(abs(hundredths), PLACES)
    before = whole if whole or not rest else ""
    return f"-{before}{_AFTER[rest]}" if hundredths < 0 else f"{before}{_AFTER[rest]}"


def commands(path: Path, closed: bool = False) -> str:
    """A path as SVG writes it, each step from where the last one led; level steps are one.

    >>> from ncd.drawing.data import Point, ease, line
    >>> a, b, c = Point(0, 5), Point(10, 5), Point(20, 15)
    >>> commands((line(a, b), line(b, Point(14, 5)), ease(Point(14, 5), c)))
    'M0 5h14c3 0 3 10 6 10'
    """
    steps: list[tuple[str, list[int]]] = []
    start = pen = None
    for curve in path:
        (ax, ay), _, _, (dx, dy) = curve
        x, y = round(ax * PLACES), round(ay * PLACES)
        ends = round(dx * PLACES), round(dy * PLACES)
        if (x, y) != pen:
            steps.append(("M", [x, y]))
            start = (x, y)
        pen = ends
        if closed and ends == start and curve is path[-1] and is_flat(curve):
            break  # what z draws
        _step(steps, curve, x, y, *ends)
    text = "".join(letter + _joined(values) for letter, values in steps)
    return f"{text}z" if closed else text


def rectangle(box: Box) -> str:
    """The outline of a box.

    >>> rectangle(Box(1, 2, 4, 6.5))
    'M1 2h3v4.5h-3z'
    """
    x0, y0, x1, y1 = (round(side * PLACES) for side in box)
    return f"M{_joined([x0, y0])}h{_short(x1 - x0)}v{_short(y1 - y0)}h{_short(x0 - x1)}z"


def _step(
    steps: list[tuple[str, list[int]]], curve: Curve, x: int, y: int, x1: int, y1: int
) -> None:
    dx, dy = x1 - x, y1 - y
    if not is_flat(curve):
        bx, by = _hundredths(curve.b)
        cx, cy = _hundredths(curve.c)
        steps.append(("c", [bx - x, by - y, cx - x, cy - y, dx, dy]))
    elif dx and dy:
        steps.append(("l", [dx, dy]))
    elif dx or dy:
        letter, way = ("h", dx) if dx else ("v", dy)
        if steps[-1][0] == letter and (steps[-1][1][0] > 0) == (way > 0):
            steps[-1][1][0] += way
        else:
            steps.append((letter, [way]))


def _hundredths(point: tuple[float, float]) -> tuple[int, int]:
    return round(point[0] * PLACES), round(point[1] * PLACES)


def _joined(values: Sequence[int]) -> str:
    """Numbers with a space between them, where no minus keeps them apart."""
    text = _short(values[0])
    for value in values[1:]:
        text += _short(value) if value < 0 else f" {_short(value)}"
    return text


def is_flat(curve: Curve) -> bool:
    """Whether the curve is a straight line."""
    (ax, ay), b, c, (dx, dy) = curve
    if ay == b[1] == c[1] == dy:
        return True
    x, y = dx - ax, dy - ay
    return all(abs(x * (p[1] - ay) - (p[0] - ax) * y) < 1e-6 for p in (b, c))
