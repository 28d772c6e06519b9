"""The primitives of a drawing in painting order, from back to front."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import hypot

from ncd.drawing.base import style
from ncd.drawing.base.primitives import (
    Dot,
    DrawnFence,
    DrawnGlyph,
    DrawnWire,
    Extra,
    Outline,
    Path,
    Picture,
    Point,
    Text,
    corners,
    line,
    polygon,
)
from ncd.lang.roles import ROLES

Item = Outline | Dot | Text
Ends = frozenset[tuple[int, int]]


@dataclass(frozen=True)
class Stroke:
    """A path with its fill and line; ``soft`` adds the shadow of a fence."""

    path: Path
    fill: str = "none"
    line: str = "ink"
    width: float = 0.0
    closed: bool = False
    dashed: bool = False
    soft: bool = False
    round: bool = False  # whether its ends are round


def layers(drawing: Picture) -> Iterator[Stroke | Dot | Text]:
    """Yields every primitive in painting order."""
    behind = [extra for extra in drawing.extras if extra.behind]
    items = [item for glyph in drawing.glyphs for item in glyph.items]
    for fence in drawing.fences:
        yield from _fence(fence)
    for extra in behind:
        yield from _extra(extra)
    for dash in drawing.dashes:
        yield Stroke(dash.path, width=style.DASH_WIDTH, dashed=True)
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
            yield from _extra(extra)


def reading_order(drawing: Picture) -> list[DrawnWire | DrawnGlyph]:
    """Returns wires and ops from left to right, then from top to bottom: the order of Tab."""

    def key(item: DrawnWire | DrawnGlyph) -> tuple[int, int]:
        if isinstance(item, DrawnWire):
            start = item.path[0].a if item.path else Point(*drawing.box[:2])
        else:
            start = Point(item.hit.x0 + 0.5, item.hit.y0)
        return _near(start)

    return sorted([*drawing.wires, *drawing.glyphs], key=key)


def wire_ends(drawing: Picture) -> Ends:
    """Returns the ends of wires, if the drawing has double wires, which may continue there."""
    if not any(wire.double for wire in drawing.wires):
        return frozenset()
    return frozenset([_near(wire.path[-1].d) for wire in drawing.wires if wire.path])


def _near(point: Point) -> tuple[int, int]:
    """Returns a key that is equal for points that differ by rounding errors only.

    The key counts half steps of a grid, and no coordinate of three decimals lies between two.
    """
    return round(64 * point.x), round(64 * point.y)


def both(wire: DrawnWire, ends: Ends) -> tuple[Path, Path]:
    """Returns the path of a double wire's ink, and the path of the gap in it.

    Where the wire continues another, both start slightly earlier so that no seam is visible.
    """
    first = wire.path[0]
    if _near(first.a) not in ends:
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
    return isinstance(item, Outline) and item.closed and item.paint in ROLES


def _fence(fence: DrawnFence) -> Iterator[Stroke | Text]:
    for path in fence.brackets:
        yield Stroke(path, width=style.BRACKET, round=True)
    if not fence.brackets:
        x0, y0, x1, y1 = fence.box
        frame = polygon(corners((x0 + x1) / 2, (x1 - x0) / 2, y0, y1))
        yield Stroke(frame, fence.role, closed=True, soft=True)
    yield from fence.title


def _wire(wire: DrawnWire, ends: Ends) -> Iterator[Stroke]:
    if not wire.double:
        yield Stroke(wire.path, width=style.WIRE, round=True)
        return
    ink, gap = both(wire, ends)
    yield Stroke(ink, width=style.DOUBLE + style.WIRE)
    yield Stroke(gap, line="page", width=style.DOUBLE - style.WIRE)


def _extra(extra: Extra) -> Iterator[Stroke | Dot | Text]:
    return (_item(item, soft=is_soft(item)) for item in extra.items)


def _item(item: Item, soft: bool = False) -> Stroke | Dot | Text:
    if isinstance(item, Outline):
        return Stroke(item.path, item.paint, width=item.stroke, closed=item.closed, soft=soft)
    return item
