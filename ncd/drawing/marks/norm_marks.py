"""Marks of norms: rings and pills on the normalised wires."""

from __future__ import annotations

from ncd.drawing.base import style
from ncd.drawing.base.label import roman
from ncd.drawing.base.primitives import QUARTER, Box, Curve, Dot, Outline, Path, Point, line
from ncd.drawing.marks.mark_base import MarkKind, around, ends, free_row
from ncd.drawing.routing.canvas import Canvas
from ncd.lang.glyph import Mark


class Circle(MarkKind):
    """A ring: the last of its wires runs through it, the others touch it."""

    usual_width = style.PLUS_ROOM

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        radius, x = style.CIRCLE, canvas.middle
        y = canvas.outs[mark.outs[-1]] if mark.outs else canvas.row
        canvas.items.append(Dot(Point(x, y), radius, "page", style.GLYPH))
        canvas.ink.append(Box.at(Point(x, y), radius))
        for i, o in list(zip(mark.ins, mark.outs, strict=True))[-1:]:
            canvas.tail(i, x - radius, y)
            canvas.head(o, x + radius, y)
        for i, o in list(zip(mark.ins, mark.outs, strict=True))[:-1]:
            side = 1 if canvas.outs[o] > y else -1
            touch = 0.7 * radius
            left, right = Point(x - touch, y + side * touch), Point(x + touch, y + side * touch)
            canvas.tails[i] = (_touch(Point(canvas.x0, canvas.ins[i]), left),)
            canvas.heads[o] = (_touch(Point(canvas.x1, canvas.outs[o]), right).back,)


def _touch(a: Point, b: Point) -> Curve:
    return Curve(a, Point((a.x + b.x) / 2, a.y), Point(b.x, a.y), b)


class Barred(MarkKind):
    """A ring around all of its wires, with a bar in it."""

    spans = True

    def half(self) -> float:
        return style.CIRCLE

    def width(self, mark: Mark) -> float:
        return 2 * self.half() + style.PLUS_ROOM - 2 * style.CIRCLE

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        x, half = canvas.middle, self.half()
        top, bottom = around(canvas.rows(mark.ins, mark.outs), style.CIRCLE, style.CIRCLE)
        box = Box(x - half, top, x + half, bottom)
        canvas.items.append(Outline(_rounded(box, style.CIRCLE), "page", style.GLYPH))
        canvas.ink.append(box)
        self.inside(canvas, box)
        ends(canvas, mark, box.x0, box.x1)

    def inside(self, canvas: Canvas, box: Box) -> None:
        """Draws the sign inside the ring: a bar, or the letters of another norm."""
        x = (box.x0 + box.x1) / 2
        canvas.stroke(Point(x, box.y0), Point(x, box.y1))


class RootMeanSquare(Barred):
    """A ring around all of its wires, with the letters rms in it."""

    def half(self) -> float:
        return style.PILL[0]

    def inside(self, canvas: Canvas, box: Box) -> None:
        label = roman("rms", style.PILL[1])
        y = free_row(canvas, box.y0, box.y1)
        canvas.text(label, (box.x0 + box.x1) / 2, y + (label.ascent - label.descent) / 2)


def _rounded(box: Box, radius: float) -> Path:
    """Returns a box with round corners."""
    (x0, y0, x1, y1), r, k = box, radius, (1 - QUARTER) * radius
    corners = (
        (Point(x1 - r, y0), Point(x1 - k, y0), Point(x1, y0 + k), Point(x1, y0 + r)),
        (Point(x1, y1 - r), Point(x1, y1 - k), Point(x1 - k, y1), Point(x1 - r, y1)),
        (Point(x0 + r, y1), Point(x0 + k, y1), Point(x0, y1 - k), Point(x0, y1 - r)),
        (Point(x0, y0 + r), Point(x0, y0 + k), Point(x0 + k, y0), Point(x0 + r, y0)),
    )
    path: list[Curve] = []
    for n, corner in enumerate(corners):
        curve = Curve(*corner)
        after = corners[(n + 1) % 4][0]
        path += [curve, line(curve.d, after)] if curve.d != after else [curve]
    return tuple(path)
