"""Marks with an outline on the wires."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import ClassVar

from ncd.drawing.base import style
from ncd.drawing.base.label import Label, math
from ncd.drawing.base.primitives import QUARTER, Box, Curve, Point, corners, line
from ncd.drawing.marks.mark_base import MarkKind, around, ends, free_row, within
from ncd.drawing.marks.text_marks import written
from ncd.drawing.marks.window_marks import star
from ncd.drawing.routing.canvas import Canvas
from ncd.drawing.routing.op_wires import away, bend_width, dots
from ncd.lang.glyph import Mark


class Triangle(MarkKind):
    """A triangle that points left, on each of its wires."""

    usual_width = style.PLUS_ROOM

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


class Boxed(MarkKind):
    """A box around its wires with a text; a ★ in front marks a convolution."""

    spans: ClassVar[bool] = True

    def width(self, mark: Mark) -> float:
        return 2 * self.half(mark) + style.BOX_ROOM - 2 * style.INSET + 2 * style.STUB

    def half(self, mark: Mark) -> float:
        star_room = style.STAR_ROOM if mark.text.startswith("★") else 0.0
        return (self.label(mark).width + star_room) / 2 + style.INSET

    def label(self, mark: Mark) -> Label:
        return written(mark.text.lstrip("★"), style.BOXED)

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        label, x, half = self.label(mark), canvas.middle, self.half(mark)
        starred = mark.text.startswith("★")
        side = max(style.SIDE, self.tall(mark) / 2 if _alone(mark) else 0.0)
        top, bottom = around(canvas.rows(mark.ins, mark.outs), side, side)
        self.outline(canvas, corners(x, half, top, bottom))
        y = free_row(canvas, top, bottom)
        if starred:
            star(canvas, Point(x - half + style.INSET + style.STAR, y))
            x += style.STAR_ROOM / 2
        canvas.text(label, x, y + (label.ascent - label.descent) / 2)
        ends(canvas, mark, canvas.middle - half, canvas.middle + half)

    def tall(self, mark: Mark) -> float:
        """Returns the height that its text needs."""
        label = self.label(mark)
        return label.ascent + max(0.0, label.descent) + style.INSET

    def headroom(self, mark: Mark) -> float:
        return max(0.0, self.tall(mark) / 2 - style.SIDE) if _alone(mark) else 0.0

    def footroom(self, mark: Mark) -> float:
        return self.headroom(mark)

    def outline(self, canvas: Canvas, points: list[Point]) -> None:
        canvas.shape(points, canvas.role, style.GLYPH)


def _alone(mark: Mark) -> bool:
    """Returns whether a box is as high as for one wire."""
    return max(len(mark.ins), len(mark.outs)) < 2


class FunctionBox(Boxed):
    """A thin box with a large letter: a function of which only the type is known."""

    def half(self, mark: Mark) -> float:
        return max(style.FUNCTION_HALF, self.label(mark).width / 2 + style.INSET)

    def label(self, mark: Mark) -> Label:
        return written(mark.text, style.FUNCTION)

    def outline(self, canvas: Canvas, points: list[Point]) -> None:
        canvas.shape(points, "none")


class Mask(MarkKind):
    """A half-filled square over its wires: the part below the diagonal is kept."""

    spans: ClassVar[bool] = True

    def width(self, mark: Mark) -> float:
        return 2 * style.MASK + 2 * style.STUB + style.LETTER_ROOM

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        x, half = canvas.middle, style.MASK
        rows = canvas.rows(mark.ins, mark.outs)
        side = max(style.INSET, half - (max(rows) - min(rows)) / 2)
        top, bottom = around(rows, side, side)
        square = corners(x, half, top, bottom)
        canvas.shape(square, "page")
        over = any(top < y < bottom for y in canvas.foreign)  # wires are invisible on ink
        canvas.shape([square[0], square[2], square[3]], "mask" if over else "ink")
        ends(canvas, mark, x - half, x + half)


_Slot = Callable[[int, float, int], float]  # (n, y, count) -> the row of the nth wire at a bar


class Bar(MarkKind):
    """A thick bar that groups wires, or splits them."""

    def width(self, mark: Mark) -> float:
        return style.BAR_ROOM + style.BAR_MORE * max(0, len(mark.ins) - 2, len(mark.outs) - 2)

    def bend(self, mark: Mark, ins: Sequence[float], outs: Sequence[float]) -> float:
        rows = [ins[i] for i in mark.ins], [outs[o] for o in mark.outs]
        few, many = sorted(rows, key=len)
        if not few or all(b - a < style.NEAR for a, b in pairwise(sorted(many))):
            return 0.0
        return max(abs(y - few[0]) for y in many)

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        ins, outs = [canvas.ins[i] for i in mark.ins], [canvas.outs[o] for o in mark.outs]
        many, few = (ins, outs) if len(ins) >= len(outs) else (outs, ins)
        slots = _slots(canvas, many, few) or [canvas.row]
        half, side, inset = style.BAR
        x, before, behind = canvas.middle, canvas.x0, canvas.x1
        if _far(many, slots):  # distant wires bend beside the dots of the others
            x = canvas.x1 - inset if many is ins else canvas.x0 + inset
            before += canvas.wide if canvas.glyph.joins else 0.0
            behind -= canvas.wide if canvas.glyph.splits else 0.0
        top, bottom = around(slots, side, side)
        canvas.shape(corners(x, half, top, bottom), "ink", 0.0)

        def at(n: int, y: float, count: int) -> float:
            return slots[n] if count == len(slots) else within(y, top + side, bottom - side)

        self.tails(canvas, mark, x - half, before, at)
        self.heads(canvas, mark, x + half, behind, at)

    def tails(self, canvas: Canvas, mark: Mark, x: float, before: float, at: _Slot) -> None:
        near, one = _beside(canvas, canvas.glyph.joins, 1), at(0, canvas.row, len(mark.ins))
        for n, i in enumerate(sorted(mark.ins, key=lambda i: canvas.ins[i])):
            y, to = canvas.ins[i], Point(x, at(n, canvas.ins[i], len(mark.ins)))
            bend = Point(min(to.x, canvas.x1 - near.get(n, 0.0)), to.y)
            turn = max(before, bend.x - bend_width(y - one)) if n in near else before
            level = line(Point(canvas.x0, y), Point(turn, y))
            canvas.tails[i] = (level, away(bend, level.d).back, line(bend, to))

    def heads(self, canvas: Canvas, mark: Mark, x: float, behind: float, at: _Slot) -> None:
        near, one = _beside(canvas, canvas.glyph.splits, 0), at(0, canvas.row, len(mark.outs))
        for n, o in enumerate(sorted(mark.outs, key=lambda o: canvas.outs[o])):
            y, to = canvas.outs[o], Point(x, at(n, canvas.outs[o], len(mark.outs)))
            bend = Point(max(to.x, canvas.x0 + near.get(n, 0.0)), to.y)
            turn = min(behind, bend.x + bend_width(y - one)) if n in near else behind
            level = line(Point(turn, y), Point(canvas.x1, y))
            canvas.heads[o] = (line(to, bend), away(bend, level.a), level)


def _beside(canvas: Canvas, pairs: Sequence[tuple[int, int]], side: int) -> dict[int, float]:
    """Returns the distance from the edge at which the wires of each further array bend."""
    at, to = (canvas.outs, canvas.ins) if side else (canvas.ins, canvas.outs)
    far = sorted({*dots(pairs, side, at, to).values()}, reverse=True)
    return dict(enumerate(far, start=1)) if len(far) > 1 else {}


def _far(many: list[float], slots: list[float]) -> bool:
    moved = (abs(y - slot) for y, slot in zip(sorted(many), slots, strict=False))
    return max(moved, default=0.0) > style.AXIS_GAP


def _slots(canvas: Canvas, many: list[float], few: list[float]) -> list[float]:
    """Returns where several wires touch a bar: straight if they are adjacent, else near the one."""
    ordered = sorted(many)
    near = all(b - a < style.NEAR for a, b in pairwise(ordered))
    if near or not few:
        return ordered
    below = [y for y in canvas.foreign if y > few[0] + style.STILL]
    room = min(below, default=few[0] + 1e3) - few[0] - 2 * style.BAR[1]
    dotted = len(many) > 2 and (canvas.glyph.joins or canvas.glyph.splits)
    most = style.BAR_TIGHT if dotted else style.BAR_SLOT
    slot = min(most, room / max(1, len(many) - 1))
    return [few[0] + slot * n for n in range(len(many))]


class Pentagon(MarkKind):
    """An index: a blue pentagon that points right, at the end of its wires.

    For a lookup a thin line leads to it from the wires of the places, with a triangle on them.
    """

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
        if mark.shape == "lookup":
            _link(canvas, mark, x - style.PENTAGON / 2, top)
        canvas.shape([*points, Point(neck, bottom), Point(left, bottom)], "touch")
        y = free_row(canvas, top, bottom) + (label.ascent - label.descent) / 2
        canvas.text(label, x - style.PENTAGON / 2, y, paint="light")
        ends(canvas, mark, left, neck)


def _link(canvas: Canvas, mark: Mark, x: float, top: float) -> None:
    """Draws the line from the wires of the places to the pentagon; a single place has no wire."""
    half, length = style.LINK
    rows = [canvas.ins[i] for i in mark.over]
    start = min(rows, default=min(canvas.ins, default=top) - style.ARRAY_GAP)
    neck = top - length
    canvas.stroke(Point(x, start), Point(x, neck))
    canvas.shape([Point(x - half, neck), Point(x + half, neck), Point(x, top)], "touch")
    for y in rows:
        head = [Point(x - half, y - half), Point(x - half, y + half), Point(x, y)]
        canvas.shape(head, "ink", 0.0)


class Cup(MarkKind):
    """A unit: its two wires begin in one curve that turns around at the left."""

    usual_width = style.CUP_ROOM

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        rows = canvas.rows((), mark.outs)
        top, bottom = min(rows), max(rows)
        half = (bottom - top) / 2
        radius = min(max(half, style.CAP_RADIUS[0]), style.CAP_RADIUS[1])
        apex = Point(canvas.x1 - radius - style.STUB, top + half)
        for o in mark.outs:
            rise = canvas.outs[o] - apex.y
            turn = Point(apex.x + radius, canvas.outs[o])
            b = Point(apex.x, apex.y + QUARTER * rise)
            c = Point(turn.x - QUARTER * radius, turn.y)
            canvas.heads[o] = (Curve(apex, b, c, turn), line(turn, Point(canvas.x1, turn.y)))
        for i in mark.ins:
            canvas.tail(i, apex.x, apex.y)
        box = Box(apex.x, top, apex.x + radius, bottom)
        canvas.ink.append(Box(apex.x, apex.y - style.GAP, apex.x + style.GAP, apex.y + style.GAP))
        canvas.hits.append(box)
