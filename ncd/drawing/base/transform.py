"""Moves and combines finished drawings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from ncd.drawing.base.primitives import (
    Box,
    Curve,
    Dash,
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
)

P = TypeVar("P", bound=Picture)
T = TypeVar("T")
Item = Outline | Dot | Text


def changed(part: T, **new: object) -> T:
    """Returns a copy with other fields, as ``replace`` does, in a third of the time."""
    found = object.__new__(type(part))
    found.__dict__.update(part.__dict__, **new)
    return found


def together(drawings: Sequence[P]) -> P:
    """Returns the parts of several drawings in one; other fields are the first drawing's."""
    return replace(
        drawings[0],
        box=Box.around(drawing.box for drawing in drawings),
        fences=tuple(fence for drawing in drawings for fence in drawing.fences),
        dashes=tuple(dash for drawing in drawings for dash in drawing.dashes),
        wires=tuple(wire for drawing in drawings for wire in drawing.wires),
        glyphs=tuple(glyph for drawing in drawings for glyph in drawing.glyphs),
        labels=tuple(label for drawing in drawings for label in drawing.labels),
        extras=tuple(extra for drawing in drawings for extra in drawing.extras),
    )


def moved(drawing: P, dx: float, dy: float) -> P:
    """Returns the drawing moved by dx and dy.

    >>> from ncd.drawing.pipeline import draw
    >>> from ncd.lang.terms.terms import Id
    >>> drawing = draw(Id("y:2 m:3"))
    >>> moved(drawing, 10, 20).box.x0 - drawing.box.x0
    10.0
    """
    move = Move(dx, dy)
    return replace(
        drawing,
        box=move.box(drawing.box),
        fences=tuple(map(move.fence, drawing.fences)),
        dashes=tuple(Dash(move.path(dash.path)) for dash in drawing.dashes),
        wires=tuple(map(move.wire, drawing.wires)),
        glyphs=tuple(map(move.glyph, drawing.glyphs)),
        labels=tuple(map(move.text, drawing.labels)),
        extras=tuple(map(move.extra, drawing.extras)),
    )


class Move:
    """A translation of primitives."""

    def __init__(self, dx: float, dy: float) -> None:
        self.dx, self.dy = dx, dy

    def point(self, point: Point) -> Point:
        x, y = point
        return Point(x + self.dx, y + self.dy)

    def box(self, box: Box) -> Box:
        (x0, y0, x1, y1), dx, dy = box, self.dx, self.dy
        return Box(x0 + dx, y0 + dy, x1 + dx, y1 + dy)

    def path(self, path: Path) -> Path:
        x, y, new = self.dx, self.dy, tuple.__new__  # faster than the constructors of named tuples
        found = []
        for (ax, ay), (bx, by), (cx, cy), (dx, dy) in path:
            a, b = new(Point, (ax + x, ay + y)), new(Point, (bx + x, by + y))
            c, d = new(Point, (cx + x, cy + y)), new(Point, (dx + x, dy + y))
            found.append(new(Curve, (a, b, c, d)))
        return tuple(found)

    def text(self, text: Text) -> Text:
        return changed(text, at=self.point(text.at))

    def item(self, item: Item) -> Item:
        if isinstance(item, Outline):
            return changed(item, path=self.path(item.path))
        if isinstance(item, Dot):
            return changed(item, center=self.point(item.center))
        return self.text(item)

    def wire(self, wire: DrawnWire) -> DrawnWire:
        return changed(wire, path=self.path(wire.path))

    def glyph(self, glyph: DrawnGlyph, **new: object) -> DrawnGlyph:
        """Returns the glyph moved, with other fields changed as well."""
        return changed(
            glyph,
            items=tuple([self.item(item) for item in glyph.items]),
            hit=self.box(glyph.hit),
            ink=tuple([self.box(box) for box in glyph.ink]),
            **new,
        )

    def fence(self, fence: DrawnFence) -> DrawnFence:
        return replace(
            fence,
            box=self.box(fence.box),
            title=tuple(map(self.text, fence.title)),
            brackets=tuple(map(self.path, fence.brackets)),
        )

    def extra(self, extra: Extra) -> Extra:
        return replace(extra, items=tuple(map(self.item, extra.items)))
