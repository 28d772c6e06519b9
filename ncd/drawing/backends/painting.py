"""The primitives from back to front, and their paths in SVG syntax."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from math import hypot

from ncd.drawing.elements import style
from ncd.drawing.elements.primitives import (
    Annotation,
    Curve,
    Dot,
    DrawingData,
    DrawnFence,
    DrawnGlyph,
    DrawnWire,
    Outline,
    Path,
    PictureTile,
    Point,
    Text,
    corners,
    line,
    polygon,
)
from ncd.language.blocks import ROLES

# --- The primitives of a drawing in painting order, from back to front

Item = Outline | Dot | Text
Ends = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Stroke:
    """A path with its fill and line; ``has_shadow`` adds the shadow of a fence."""

    path: Path
    fill: str = "none"
    line: str = "ink"
    width: float = 0.0
    is_closed: bool = False
    is_dashed: bool = False
    has_shadow: bool = False
    round: bool = False  # whether its ends are round


def layers(drawing: DrawingData) -> Iterator[Stroke | Dot | Text | PictureTile]:
    """Yields every primitive in painting order."""
    behind = [extra for extra in drawing.extras if extra.behind]
    items = [item for glyph in drawing.glyphs for item in glyph.items]
    shadowed = drawing.palette in style.SHADOW_PALETTES
    for fence in drawing.fences:
        yield from _fence(fence, shadowed)
    for extra in behind:
        yield from _extra(extra, shadowed)
    for dash in drawing.dashes:
        yield Stroke(dash.path, width=style.DASH_WIDTH, is_dashed=True)
    yield from (_item(item) for item in items if is_under(item))
    ends = wire_ends(drawing)
    for each in reading_order(drawing):
        if isinstance(each, DrawnWire):
            yield from _wire(each, ends)
        else:
            yield from (_item(i) for i in each.items if not (is_under(i) or is_over(i)))
    yield from (_item(item) for item in items if is_over(item))
    yield from drawing.labels
    for extra in drawing.extras:
        if not extra.behind:
            yield from _extra(extra, shadowed)
    for drawn in drawing.thumbnails:
        yield from drawn.tiles
        for x0, y0, x1, y1 in drawn.marks:
            outline = polygon(corners((x0 + x1) / 2, (x1 - x0) / 2, y0, y1))
            yield Stroke(outline, width=style.MARKED_WIRE, is_closed=True)


def reading_order(drawing: DrawingData) -> list[DrawnWire | DrawnGlyph]:
    """Returns wires and ops from left to right, then from top to bottom: the order of Tab."""

    def key(item: DrawnWire | DrawnGlyph) -> tuple[int, int]:
        if isinstance(item, DrawnWire):
            start = item.path[0].a if item.path else Point(*drawing.box[:2])
        else:
            start = Point(item.hit_box.x0 + 0.5, item.hit_box.y0)
        return _point_key(start)

    return sorted([*drawing.wires, *drawing.glyphs], key=key)


def wire_ends(drawing: DrawingData) -> Ends:
    """Returns the ends of wires, if the drawing has double wires, which may continue there."""
    if not any(wire.double for wire in drawing.wires):
        return frozenset()
    return frozenset([_point_key(wire.path[-1].d) for wire in drawing.wires if wire.path])


def _point_key(point: Point) -> tuple[int, int]:
    """Returns a key that is equal for points that differ by rounding errors only.

    The key counts half steps of a grid, and no coordinate of three decimals lies between two.
    """
    return round(64 * point.x), round(64 * point.y)


def double_wire_paths(wire: DrawnWire, ends: Ends) -> tuple[Path, Path]:
    """Returns the path of a double wire's ink, and the path of the gap in it.

    Where the wire continues another, both start slightly earlier so that no seam is visible.
    """
    first = wire.path[0]
    if _point_key(first.a) not in ends:
        return wire.path, wire.path
    x, y = first.b.x - first.a.x, first.b.y - first.a.y
    long = max(hypot(x, y), 1e-6)

    def since(back: float) -> Path:
        before = Point(first.a.x - back * x / long, first.a.y - back * y / long)
        return (line(before, first.a), *wire.path)

    return since(style.SEAM / 2), since(style.SEAM)


def is_under(item: Item) -> bool:
    """Returns whether an item is the body of a mark, over which wires may pass."""
    return isinstance(item, Outline) and item.paint not in ("ink", "none")


def is_over(item: Item) -> bool:
    """Returns whether an item is a dot where wires join."""
    return isinstance(item, Dot) and item.paint == "ink"


def is_soft(item: Item) -> bool:
    """Returns whether an item beside the circuit has a shadow, as coloured ones do."""
    return isinstance(item, Outline) and item.is_closed and item.paint in ROLES


def _fence(fence: DrawnFence, shadowed: bool) -> Iterator[Stroke | Text]:
    for path in fence.brackets:
        yield Stroke(path, width=style.BRACKET, round=True)
    if not fence.brackets:
        x0, y0, x1, y1 = fence.box
        frame = polygon(corners((x0 + x1) / 2, (x1 - x0) / 2, y0, y1))
        yield _soft(Stroke(frame, fence.role, is_closed=True), shadowed)
    yield from fence.title


def _wire(wire: DrawnWire, ends: Ends) -> Iterator[Stroke]:
    if not wire.double:
        yield Stroke(wire.path, width=style.WIRE, round=True)
        return
    ink, gap = double_wire_paths(wire, ends)
    yield Stroke(ink, width=style.DOUBLE + style.WIRE)
    yield Stroke(gap, line="page", width=style.DOUBLE - style.WIRE)


def _extra(extra: Annotation, shadowed: bool) -> Iterator[Stroke | Dot | Text]:
    for item in extra.items:
        part = _item(item)
        yield _soft(part, shadowed) if isinstance(part, Stroke) and is_soft(item) else part


def _soft(shape: Stroke, shadowed: bool) -> Stroke:
    """Returns a coloured shape with its thin border, or with the shadow of the paper's palette."""
    if shadowed:
        return replace(shape, has_shadow=True)
    return replace(shape, line="edge", width=style.EDGE)


def _item(item: Item) -> Stroke | Dot | Text:
    if isinstance(item, Outline):
        return Stroke(item.path, item.paint, width=item.stroke, is_closed=item.is_closed)
    return item


# --- Paths and numbers in SVG syntax, as short as possible

PLACES = 100  # coordinates are whole hundredths, so that relative steps add up exactly
_DECIMALS = ["", *(f".{rest:02d}".rstrip("0") for rest in range(1, PLACES))]  # the decimals


def number(value: float) -> str:
    """Returns a coordinate with at most two decimals.

    >>> number(1.0), number(2.346), number(-0.25), number(-0.001)
    ('1', '2.35', '-.25', '0')
    """
    return _short_number(round(value * PLACES))


@lru_cache(maxsize=1 << 15)
def _short_number(hundredths: int) -> str:
    whole, rest = divmod(abs(hundredths), PLACES)
    before = whole if whole or not rest else ""
    return f"-{before}{_DECIMALS[rest]}" if hundredths < 0 else f"{before}{_DECIMALS[rest]}"


@lru_cache(maxsize=1 << 15)
def _following_number(hundredths: int) -> str:
    """Returns a number that follows another; a minus sign needs no space before it."""
    return _short_number(hundredths) if hundredths < 0 else f" {_short_number(hundredths)}"


def commands(path: Path, closed: bool = False) -> str:
    """Returns a path in SVG syntax with relative steps; consecutive horizontal steps are joined.

    >>> from ncd.drawing.elements.primitives import Point, s_curve, line
    >>> a, b, c = Point(0, 5), Point(10, 5), Point(20, 15)
    >>> commands((line(a, b), line(b, Point(14, 5)), s_curve(Point(14, 5), c)))
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
            found.append(f"M{_short_number(pen[0])}{_following_number(pen[1])}")
            letter = ""
        (x, y), pen, end = pen, _hundredths(d), d
        dx, dy = pen[0] - x, pen[1] - y
        if not is_flat(curve):
            (bx, by), (cx, cy) = _hundredths(b), _hundredths(c)
            rest = (by - y, cx - x, cy - y, dx, dy)
            found.append(f"c{_short_number(bx - x)}{''.join(map(_following_number, rest))}")
            letter = ""
        elif closed and pen == start and curve is path[-1]:
            break  # z draws this piece
        elif dx and dy:
            found.append(f"l{_short_number(dx)}{_following_number(dy)}")
            letter = ""
        elif dx or dy:
            goes, by = ("h", dx) if dx else ("v", dy)
            if goes == letter and (way > 0) == (by > 0):
                by += way
                found.pop()
            letter, way = goes, by
            found.append(f"{letter}{_short_number(way)}")
    return "".join(found) + "z" * closed


def _hundredths(point: tuple[float, float]) -> tuple[int, int]:
    return round(point[0] * PLACES), round(point[1] * PLACES)


def is_flat(curve: Curve) -> bool:
    """Returns whether a curve is a straight line.

    >>> from ncd.drawing.elements.primitives import Point, line, s_curve
    >>> one, two = Point(0, 0), Point(6, 3)
    >>> [is_flat(curve) for curve in (line(one, two), s_curve(one, two), s_curve(two, two))]
    [True, False, True]
    >>> is_flat(Curve(one, Point(2, 3), Point(4, 3), two))
    False
    """
    (ax, ay), b, c, (dx, dy) = curve
    x, y = dx - ax, dy - ay
    beside = x * (b[1] - ay) - (b[0] - ax) * y, x * (c[1] - ay) - (c[0] - ax) * y
    return max(beside) < 1e-6 and min(beside) > -1e-6
