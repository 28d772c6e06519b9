"""Shapes: marks with an outline in the wires."""

from __future__ import annotations

from itertools import pairwise
from math import cos, pi, sin

from ncd.drawing import style
from ncd.drawing.canvas import Canvas
from ncd.drawing.data import Box, Curve, Dot, Point, corners
from ncd.drawing.marks.kind import MarkKind, around, ends, free_row, within
from ncd.drawing.text import Label, math, roman
from ncd.lang.glyph import Mark


class Triangle(MarkKind):
    """A triangle that points left, in each of its wires."""

    def width(self, mark: Mark) -> float:
        return style.PLUS_ROOM

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        x, (half, tall) = canvas.middle, style.TRIANGLE
        for i, o in zip(mark.ins, mark.outs, strict=True):
            y = canvas.outs[o]
            tip, top, foot = (
                Point(x - half, y),
                Point(x + half, y - tall),
                Point(x + half, y + tall),
            )
            canvas.shape([tip, top, foot], "softmax")
            canvas.tail(i, tip.x, y)
            canvas.head(o, top.x, y)


class Circle(MarkKind):
    """A ring: the last of its wires runs through it, the others touch it."""

    def width(self, mark: Mark) -> float:
        return style.PLUS_ROOM

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


class Boxed(MarkKind):
    """A box around its wires with a text; a ★ in front is a convolution's."""

    def width(self, mark: Mark) -> float:
        return self.label(mark).width + style.BOX_ROOM + 2 * style.STUB

    def label(self, mark: Mark) -> Label:
        return math(mark.text.lstrip("★"), style.BOXED)

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        label, x = self.label(mark), canvas.middle
        star = style.STAR_ROOM if mark.text.startswith("★") else 0.0
        half = (label.width + star) / 2 + style.INSET
        top, bottom = around(canvas.rows(mark.ins, mark.outs))
        canvas.shape(corners(x, half, top, bottom), canvas.role, style.GLYPH)
        y = free_row(canvas, top, bottom)
        if star:
            _star(canvas, Point(x - half + style.INSET + style.STAR, y))
        canvas.text(label, x + star / 2, y + style.DESCENT)
        ends(canvas, mark, x - half, x + half)


def _star(canvas: Canvas, at: Point) -> None:
    points = []
    for n in range(10):
        r = style.STAR if n % 2 == 0 else style.STAR * 0.42
        angle = -pi / 2 + n * pi / 5
        points.append(Point(at.x + r * cos(angle), at.y + r * sin(angle)))
    canvas.shape(points, "ink", 0.0)


class Trapezoid(MarkKind):
    """The window that slides: places leave smaller, the window and the channels enter L₊.

    Its text is ``kernel|stride``, with a T after the stride if it is transposed; ``|Max`` after
    that is a pooling.
    """

    def width(self, mark: Mark) -> float:
        return 2 * (style.TRAPEZOID[0] + self.more(mark)) + style.LETTER_ROOM + 2 * style.STUB

    def more(self, mark: Mark) -> float:
        """By how much half of it must be longer for a long text."""
        room = style.TRAPEZOID[0] - style.TRAPEZOID_TEXT
        return max(0.0, self.label(mark).width / 2 - room)

    def label(self, mark: Mark) -> Label:
        kernel, _, rest = mark.text.partition("|")
        stride, _, word = rest.partition("|")
        if word:
            return roman(word, style.SMALL)
        return math(f"{kernel}/{stride.rstrip('T')}" if rest else kernel, style.WINDOW)

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        half, over, under, wider = style.TRAPEZOID
        half, x = half + self.more(mark), canvas.middle
        top, bottom = around(canvas.rows(mark.ins, mark.outs), over, under)
        flip = "T" in mark.text.partition("|")[2]
        left, right = (bottom + wider, bottom) if flip else (bottom, bottom + wider)
        sky = [Point(x - half, top), Point(x + half, top)]
        canvas.shape([*sky, Point(x + half, right), Point(x - half, left)], "window")
        y = free_row(canvas, top, bottom)
        _star(canvas, Point(x - half + style.TRAPEZOID[0] - style.TRAPEZOID_STAR, y))
        at = x + style.TRAPEZOID_TEXT if not self.more(mark) else x + style.STAR
        canvas.text(self.label(mark), at, y + style.FOOT)
        if flip:
            canvas.text(math("T", style.TINY), x + style.TRAPEZOID_FLIP, bottom + style.TITLE_BASE)
        ends(canvas, mark, x - half, x + half)


class Bar(MarkKind):
    """A thick bar that brings wires together, or takes them apart."""

    def width(self, mark: Mark) -> float:
        return style.BAR_ROOM

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        ins, outs = [canvas.ins[i] for i in mark.ins], [canvas.outs[o] for o in mark.outs]
        slots = _slots(ins, outs) if len(ins) >= len(outs) else _slots(outs, ins)
        slots = slots or [canvas.row]
        moved = (abs(y - slot) for y, slot in zip(sorted(ins), slots, strict=False))
        half, side, inset = style.BAR
        far = max(moved, default=0.0) > style.AXIS_GAP
        x = canvas.x1 - inset if far else canvas.middle
        top, bottom = around(slots, side, side)
        canvas.shape(corners(x, half, top, bottom), "ink", 0.0)

        def at(n: int, y: float, count: int) -> float:
            return slots[n] if count == len(slots) else within(y, top + side, bottom - side)

        for n, i in enumerate(sorted(mark.ins, key=lambda i: canvas.ins[i])):
            canvas.tail(i, x - half, at(n, canvas.ins[i], len(ins)))
        for n, o in enumerate(sorted(mark.outs, key=lambda o: canvas.outs[o])):
            canvas.head(o, x + half, at(n, canvas.outs[o], len(outs)))


def _slots(many: list[float], few: list[float]) -> list[float]:
    """Where several wires touch a bar: straight if they are neighbours, else near the one."""
    ordered = sorted(many)
    near = all(b - a < style.NEAR for a, b in pairwise(ordered))
    if near or not few:
        return ordered
    return [few[0] + style.BAR_SLOT * n for n in range(len(many))]


class Pentagon(MarkKind):
    """An index: a pentagon that points right, at the end of its wires."""

    def width(self, mark: Mark) -> float:
        return self.label(mark).width + style.BOX_ROOM + style.PENTAGON + 2 * style.STUB

    def label(self, mark: Mark) -> Label:
        return math(mark.text, style.WORD)

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        label, x = self.label(mark), canvas.middle
        half = (label.width + style.PENTAGON) / 2 + style.INSET
        top, bottom = around(canvas.rows(mark.ins, mark.outs))
        left, neck, tip = x - half, x + half - style.PENTAGON, x + half
        points = [Point(left, top), Point(neck, top), Point(tip, (top + bottom) / 2)]
        canvas.shape([*points, Point(neck, bottom), Point(left, bottom)], "index")
        y = free_row(canvas, top, bottom)
        canvas.text(label, x - style.PENTAGON / 2, y + (label.ascent - label.descent) / 2)
        for i in mark.ins:
            canvas.tail(i, left)
        for o in mark.outs:
            canvas.head(o, tip, within(canvas.outs[o], *_tip(top, bottom)))


def _tip(top: float, bottom: float) -> tuple[float, float]:
    middle = (top + bottom) / 2
    return middle - style.GAP, middle + style.GAP
