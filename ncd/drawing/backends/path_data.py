"""Paths and numbers in SVG syntax, as short as possible."""

from __future__ import annotations

from functools import lru_cache

from ncd.drawing.base.primitives import Box, Curve, Path, Point

PLACES = 100  # coordinates are whole hundredths, so that relative steps add up exactly
_AFTER = ["", *(f".{rest:02d}".rstrip("0") for rest in range(1, PLACES))]  # the decimals


def number(value: float) -> str:
    """Returns a coordinate with at most two decimals.

    >>> number(1.0), number(2.346), number(-0.25), number(-0.001)
    ('1', '2.35', '-.25', '0')
    """
    return _short(round(value * PLACES))


@lru_cache(maxsize=1 << 15)
def _short(hundredths: int) -> str:
    whole, rest = divmod(abs(hundredths), PLACES)
    before = whole if whole or not rest else ""
    return f"-{before}{_AFTER[rest]}" if hundredths < 0 else f"{before}{_AFTER[rest]}"


@lru_cache(maxsize=1 << 15)
def _next(hundredths: int) -> str:
    """Returns a number that follows another; a minus sign needs no space before it."""
    return _short(hundredths) if hundredths < 0 else f" {_short(hundredths)}"


def commands(path: Path, closed: bool = False) -> str:
    """Returns a path in SVG syntax with relative steps; consecutive horizontal steps are joined.

    >>> from ncd.drawing.base.primitives import Point, ease, line
    >>> a, b, c = Point(0, 5), Point(10, 5), Point(20, 15)
    >>> commands((line(a, b), line(b, Point(14, 5)), ease(Point(14, 5), c)))
    'M0 5h14c3 0 3 10 6 10'
    """
    found: list[str] = []
    start = pen = (0, 0)
    end: Point | None = None
    letter, way = "", 0  # of the last step if it is horizontal or vertical, so may be extended
    for curve in path:
        a, b, c, d = curve
        if a != end and (not found or _hundredths(a) != pen):
            start = pen = _hundredths(a)
            found.append(f"M{_short(pen[0])}{_next(pen[1])}")
            letter = ""
        (x, y), pen, end = pen, _hundredths(d), d
        dx, dy = pen[0] - x, pen[1] - y
        if not is_flat(curve):
            (bx, by), (cx, cy) = _hundredths(b), _hundredths(c)
            controls = f"{_short(bx - x)}{_next(by - y)}{_next(cx - x)}{_next(cy - y)}"
            found.append(f"c{controls}{_next(dx)}{_next(dy)}")
            letter = ""
        elif closed and pen == start and curve is path[-1]:
            break  # z draws this piece
        elif dx and dy:
            found.append(f"l{_short(dx)}{_next(dy)}")
            letter = ""
        elif dx or dy:
            goes, by = ("h", dx) if dx else ("v", dy)
            if goes == letter and (way > 0) == (by > 0):
                by += way
                found.pop()
            letter, way = goes, by
            found.append(f"{letter}{_short(way)}")
    return "".join(found) + "z" * closed


def rectangle(box: Box) -> str:
    """Returns the outline of a box.

    >>> rectangle(Box(1, 2, 4, 6.5))
    'M1 2h3v4.5h-3z'
    """
    x0, y0, x1, y1 = (round(side * PLACES) for side in box)
    return f"M{_short(x0)}{_next(y0)}h{_short(x1 - x0)}v{_short(y1 - y0)}h{_short(x0 - x1)}z"


def _hundredths(point: tuple[float, float]) -> tuple[int, int]:
    return round(point[0] * PLACES), round(point[1] * PLACES)


def is_flat(curve: Curve) -> bool:
    """Returns whether a curve is a straight line."""
    (ax, ay), b, c, (dx, dy) = curve
    if ay == b[1] == c[1] == dy:
        return True
    x, y = dx - ax, dy - ay
    beside = x * (b[1] - ay) - (b[0] - ax) * y, x * (c[1] - ay) - (c[0] - ax) * y
    return max(beside) < 1e-6 and min(beside) > -1e-6
