"""One mark on a canvas of 100 units, by its numbers."""

from __future__ import annotations

from itertools import pairwise

from ncd.drawing.elements.primitives import Dot, Outline, Point, Rectangle, Text
from ncd.drawing.elements.routing import GlyphCanvas
from ncd.drawing.marks.marks import MARKS
from ncd.language.op import Glyph, Mark

X0, X1, MIDDLE = 0.0, 100.0, 50.0
Rows = tuple[float, ...]


def sheet(ins: Rows = (), outs: Rows = (), foreign: Rows = (), **more: object) -> GlyphCanvas:
    glyph = more.pop("glyph", Glyph())
    return GlyphCanvas("linear", glyph, X0, X1, [*ins], [*outs], 7.0, [*foreign], **more)


def marked(shape: str, text="", ins: Rows = (), outs: Rows = (), foreign: Rows = (), **more):
    """A canvas with this mark over all of its wires, and the mark."""
    note, over = more.pop("note", ""), more.pop("over", ())
    own = tuple(i for i in range(len(ins)) if i not in over)
    mark = Mark(shape, text, own, tuple(range(len(outs))), note, over)
    canvas = sheet(ins, outs, foreign, **more)
    MARKS[shape].paint(canvas, mark)
    for i, path in canvas.tails.items():
        assert not path or path[0].a == Point(X0, ins[i])
        assert all(one.d == two.a for one, two in pairwise(path))
    for o, path in canvas.heads.items():
        assert not path or path[-1].d == Point(X1, outs[o])
        assert all(one.d == two.a for one, two in pairwise(path))
    return canvas, mark


def tails(canvas: GlyphCanvas) -> dict[int, tuple[float, float]]:
    """Where each input wire ends."""
    return {i: tuple(path[-1].d) for i, path in canvas.tails.items()}


def heads(canvas: GlyphCanvas) -> dict[int, tuple[float, float]]:
    """Where each output wire begins."""
    return {o: tuple(path[0].a) for o, path in canvas.heads.items()}


def shapes(canvas: GlyphCanvas, paint: str) -> list[list[tuple[float, float]]]:
    """The corners of each closed shape of a colour."""
    items = [i for i in canvas.items if isinstance(i, Outline) and i.is_closed and i.paint == paint]
    return [[tuple(curve.a) for curve in item.path] for item in items]


def boxes(canvas: GlyphCanvas, paint: str) -> list[Rectangle]:
    return [
        Rectangle.from_points([Point(*at) for at in corners]) for corners in shapes(canvas, paint)
    ]


def lines(canvas: GlyphCanvas) -> list[tuple[tuple[float, float], tuple[float, float]]]:
    items = [i for i in canvas.items if isinstance(i, Outline) and not i.is_closed]
    return [(tuple(item.path[0].a), tuple(item.path[-1].d)) for item in items]


def words(canvas: GlyphCanvas) -> list[Text]:
    return [item for item in canvas.items if isinstance(item, Text)]


def dots(canvas: GlyphCanvas) -> list[Dot]:
    return [item for item in canvas.items if isinstance(item, Dot)]


def tips(canvas: GlyphCanvas) -> list[tuple[float, float]]:
    """The tips of arrowheads."""
    return [corners[0] for corners in shapes(canvas, "ink") if len(corners) == 4]


def centred(text: Text) -> tuple[float, float]:
    """The middle of a text across, and of its ink upright."""
    box = text.box
    return (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2


def spread(left: float, right: float, ins: Rows, outs: Rows) -> tuple[dict, dict]:
    """The ends of wires that run level to two sides."""
    return {i: (left, y) for i, y in enumerate(ins)}, {o: (right, y) for o, y in enumerate(outs)}
