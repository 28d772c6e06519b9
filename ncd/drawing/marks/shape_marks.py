"""Outlines on the wires: boxes, triangles, pentagons, rings of norms, collapsed blocks, notes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import ClassVar

from ncd.drawing.elements import style
from ncd.drawing.elements.labels import Label, math, roman, wrap
from ncd.drawing.elements.primitives import (
    QUARTER,
    Curve,
    Dot,
    Outline,
    Path,
    Point,
    Rectangle,
    corners,
    line,
)
from ncd.drawing.elements.routing import GlyphCanvas, away, bend_width, dots
from ncd.drawing.marks.mark_kind import MarkKind, clamped_row, ends, free_row, shape_extent
from ncd.drawing.marks.text_marks import formula_label
from ncd.drawing.marks.window_marks import star
from ncd.language.op import Mark

# --- The box of a collapsed block


class BlockBox(MarkKind):
    """A box in three dimensions with a title, which may have several lines.

    Its wires enter at its left side and leave at its right side.
    """

    def width(self, mark: Mark) -> float:
        return 2 * self.half(mark) + style.BLOCK_DEPTH + 2 * style.STUB

    def half(self, mark: Mark) -> float:
        widest = max((line.width for line in self.lines(mark)), default=0.0)
        return max(style.BLOCK_HALF, widest / 2 + style.BLOCK_INSET)

    def lines(self, mark: Mark) -> tuple[Label, ...]:
        return tuple(
            line
            for part in mark.text.split("\n")
            for line in wrap(part, style.BLOCK_LINE, style.TITLE)
        )

    def tall(self, mark: Mark) -> float:
        """Returns the height that its text needs."""
        return style.LEADING * len(self.lines(mark)) + style.BLOCK_INSET

    def headroom(self, mark: Mark) -> float:
        wires = max(len(mark.ins), len(mark.outs), 1) - 1
        more = self.tall(mark) - wires * style.AXIS_GAP - 2 * style.BLOCK_SIDE
        return style.BLOCK_DEPTH + max(0.0, more)

    def paint(self, canvas: GlyphCanvas, mark: Mark) -> None:
        rows = canvas.rows(mark.ins, mark.outs)
        top, bottom = shape_extent(rows, style.BLOCK_SIDE, style.BLOCK_SIDE)
        more = max(0.0, self.tall(mark) - (bottom - top)) / 2
        top, bottom = top - more, bottom + more
        depth = style.BLOCK_DEPTH
        half, x = self.half(mark), canvas.middle - depth / 2
        left, right = x - half, x + half
        sky = [Point(left, top), Point(left + depth, top - depth)]
        sky += [Point(right + depth, top - depth), Point(right, top)]
        side = [Point(right, top), Point(right + depth, top - depth)]
        side += [Point(right + depth, bottom - depth), Point(right, bottom)]
        for face in (sky, side, corners(x, half, top, bottom)):
            canvas.shape(face, canvas.role, style.OUTLINE)
        canvas.ink[-3:] = [Rectangle(left, top - depth, right + depth, bottom)]
        lines = self.lines(mark)
        first = (top + bottom - style.LEADING * (len(lines) - 1)) / 2 + style.DESCENT
        for n, words in enumerate(lines):
            canvas.text(words, x, first + style.LEADING * n)
        ends(canvas, mark, left, right + depth / 2)
        for o in mark.outs:  # from the slanted side, which ends above the bottom
            canvas.head(o, right + depth if canvas.outs[o] < bottom - depth else right)


# --- Marks of norms: rings and pills on the normalised wires


class Circle(MarkKind):
    """A ring: the last of its wires runs through it, the others touch it."""

    usual_width = style.PLUS_ROOM

    def paint(self, canvas: GlyphCanvas, mark: Mark) -> None:
        radius, x = style.CIRCLE, canvas.middle
        y = canvas.outs[mark.outs[-1]] if mark.outs else canvas.row
        canvas.items.append(Dot(Point(x, y), radius, "page", style.GLYPH))
        canvas.ink.append(Rectangle.from_center(Point(x, y), radius))
        for i, o in list(zip(mark.ins, mark.outs, strict=True))[-1:]:
            canvas.tail(i, x - radius, y)
            canvas.head(o, x + radius, y)
        for i, o in list(zip(mark.ins, mark.outs, strict=True))[:-1]:
            side = 1 if canvas.outs[o] > y else -1
            touch = 0.7 * radius
            left, right = Point(x - touch, y + side * touch), Point(x + touch, y + side * touch)
            canvas.tails[i] = (_touch(Point(canvas.x0, canvas.ins[i]), left),)
            canvas.heads[o] = (_touch(Point(canvas.x1, canvas.outs[o]), right).reversed,)


def _touch(a: Point, b: Point) -> Curve:
    return Curve(a, Point((a.x + b.x) / 2, a.y), Point(b.x, a.y), b)


class BarredCircle(MarkKind):
    """A ring around all of its wires, with a bar in it."""

    spans = True

    def half(self) -> float:
        return style.CIRCLE

    def width(self, mark: Mark) -> float:
        return 2 * self.half() + style.PLUS_ROOM - 2 * style.CIRCLE

    def paint(self, canvas: GlyphCanvas, mark: Mark) -> None:
        x, half = canvas.middle, self.half()
        top, bottom = shape_extent(canvas.rows(mark.ins, mark.outs), style.CIRCLE, style.CIRCLE)
        box = Rectangle(x - half, top, x + half, bottom)
        canvas.items.append(Outline(_rounded_box(box, style.CIRCLE), "page", style.GLYPH))
        canvas.ink.append(box)
        self.paint_sign(canvas, box)
        ends(canvas, mark, box.x0, box.x1)

    def paint_sign(self, canvas: GlyphCanvas, box: Rectangle) -> None:
        """Draws the sign inside the ring: a bar, or the letters of another norm."""
        x = (box.x0 + box.x1) / 2
        canvas.stroke(Point(x, box.y0), Point(x, box.y1))


class RootMeanSquare(BarredCircle):
    """A ring around all of its wires, with the letters rms in it."""

    def half(self) -> float:
        return style.PILL[0]

    def paint_sign(self, canvas: GlyphCanvas, box: Rectangle) -> None:
        label = roman("rms", style.PILL[1])
        y = free_row(canvas, box.y0, box.y1)
        canvas.text(label, (box.x0 + box.x1) / 2, y + (label.ascent - label.descent) / 2)


def _rounded_box(box: Rectangle, radius: float) -> Path:
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


# --- Memory notes, where arrays are saved or loaded


class Save(MarkKind):
    """A yellow note ``→ C_λ`` at which the wires of an array end."""

    def width(self, mark: Mark) -> float:
        return self.label(mark).width + 2 * style.MEMORY_INSET + style.STUB

    def label(self, mark: Mark) -> Label:
        return math(f"→ {mark.text}", style.BIG)

    def room(self, mark: Mark) -> float:
        """Returns how far it extends above and below its wires."""
        wires = max(len(mark.ins), len(mark.outs), 1) - 1
        return max(style.SIDE, (style.MEMORY - wires * style.AXIS_GAP) / 2)

    def headroom(self, mark: Mark) -> float:
        return max(0.0, self.room(mark) - style.SIDE)

    def footroom(self, mark: Mark) -> float:
        return self.headroom(mark)

    def paint(self, canvas: GlyphCanvas, mark: Mark) -> None:
        label, x = self.label(mark), canvas.middle
        half, room = label.width / 2 + style.MEMORY_INSET, self.room(mark)
        top, bottom = shape_extent(canvas.rows(mark.ins, mark.outs), room, room)
        canvas.shape(corners(x, half, top, bottom), "note", 0.0)
        y = (top + bottom + label.ascent - label.descent) / 2
        canvas.text(label, x, y)
        ends(canvas, mark, x - half, x + half)


class Load(Save):
    """A yellow note ``C_λ →`` at which the wires of an array begin."""

    def label(self, mark: Mark) -> Label:
        return math(f"{mark.text} →", style.BIG)


# --- Marks with an outline on the wires


class Triangle(MarkKind):
    """A triangle that points left, on each of its wires."""

    usual_width = style.PLUS_ROOM

    def paint(self, canvas: GlyphCanvas, mark: Mark) -> None:
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


class TextBox(MarkKind):
    """A box around its wires with a text; a ★ in front marks a convolution."""

    spans: ClassVar[bool] = True

    def width(self, mark: Mark) -> float:
        return 2 * self.half(mark) + style.BOX_ROOM - 2 * style.INSET + 2 * style.STUB

    def half(self, mark: Mark) -> float:
        star_room = style.STAR_ROOM if mark.text.startswith("★") else 0.0
        return (self.label(mark).width + star_room) / 2 + style.INSET

    def label(self, mark: Mark) -> Label:
        return formula_label(mark.text.lstrip("★"), style.BOX_TEXT)

    def paint(self, canvas: GlyphCanvas, mark: Mark) -> None:
        label, x, half = self.label(mark), canvas.middle, self.half(mark)
        starred = mark.text.startswith("★")
        side = max(style.SIDE, self.tall(mark) / 2 if _alone(mark) else 0.0)
        top, bottom = shape_extent(canvas.rows(mark.ins, mark.outs), side, side)
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

    def outline(self, canvas: GlyphCanvas, points: list[Point]) -> None:
        canvas.shape(points, canvas.role, style.GLYPH)


def _alone(mark: Mark) -> bool:
    """Returns whether a box is as high as for one wire."""
    return max(len(mark.ins), len(mark.outs)) < 2


class FunctionBox(TextBox):
    """A thin box with a large letter: a function of which only the type is known."""

    def half(self, mark: Mark) -> float:
        return max(style.FUNCTION_HALF, self.label(mark).width / 2 + style.INSET)

    def label(self, mark: Mark) -> Label:
        return formula_label(mark.text, style.FUNCTION)

    def outline(self, canvas: GlyphCanvas, points: list[Point]) -> None:
        canvas.shape(points, "none")


class MaskSquare(MarkKind):
    """A half-filled square over its wires: the part below the diagonal is kept."""

    spans: ClassVar[bool] = True

    def width(self, mark: Mark) -> float:
        return 2 * style.MASK + 2 * style.STUB + style.LETTER_ROOM

    def paint(self, canvas: GlyphCanvas, mark: Mark) -> None:
        x, half = canvas.middle, style.MASK
        rows = canvas.rows(mark.ins, mark.outs)
        side = max(style.INSET, half - (max(rows) - min(rows)) / 2)
        top, bottom = shape_extent(rows, side, side)
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
        if not few or all(b - a < style.NEIGHBOUR_GAP for a, b in pairwise(sorted(many))):
            return 0.0
        return max(abs(y - few[0]) for y in many)

    def paint(self, canvas: GlyphCanvas, mark: Mark) -> None:
        ins, outs = [canvas.ins[i] for i in mark.ins], [canvas.outs[o] for o in mark.outs]
        many, few = (ins, outs) if len(ins) >= len(outs) else (outs, ins)
        slots = _slots(canvas, many, few) or [canvas.row]
        half, side, inset = style.BAR
        x, before, behind = canvas.middle, canvas.x0, canvas.x1
        if _far(many, slots):  # distant wires bend beside the dots of the others
            x = canvas.x1 - inset if many is ins else canvas.x0 + inset
            before += canvas.mark_width if canvas.glyph.joins else 0.0
            behind -= canvas.mark_width if canvas.glyph.splits else 0.0
        top, bottom = shape_extent(slots, side, side)
        canvas.shape(corners(x, half, top, bottom), "ink", 0.0)

        def at(n: int, y: float, count: int) -> float:
            return slots[n] if count == len(slots) else clamped_row(y, top + side, bottom - side)

        self.tails(canvas, mark, x - half, before, at)
        self.heads(canvas, mark, x + half, behind, at)

    def tails(self, canvas: GlyphCanvas, mark: Mark, x: float, before: float, at: _Slot) -> None:
        near, one = _bend_distances(canvas, canvas.glyph.joins, 1), at(0, canvas.row, len(mark.ins))
        for n, i in enumerate(sorted(mark.ins, key=lambda i: canvas.ins[i])):
            y, to = canvas.ins[i], Point(x, at(n, canvas.ins[i], len(mark.ins)))
            bend = Point(min(to.x, canvas.x1 - near.get(n, 0.0)), to.y)
            turn = max(before, bend.x - bend_width(y - one)) if n in near else before
            level = line(Point(canvas.x0, y), Point(turn, y))
            canvas.tails[i] = (level, away(bend, level.d).reversed, line(bend, to))

    def heads(self, canvas: GlyphCanvas, mark: Mark, x: float, behind: float, at: _Slot) -> None:
        near, one = (
            _bend_distances(canvas, canvas.glyph.splits, 0),
            at(0, canvas.row, len(mark.outs)),
        )
        for n, o in enumerate(sorted(mark.outs, key=lambda o: canvas.outs[o])):
            y, to = canvas.outs[o], Point(x, at(n, canvas.outs[o], len(mark.outs)))
            bend = Point(max(to.x, canvas.x0 + near.get(n, 0.0)), to.y)
            turn = min(behind, bend.x + bend_width(y - one)) if n in near else behind
            level = line(Point(turn, y), Point(canvas.x1, y))
            canvas.heads[o] = (line(to, bend), away(bend, level.a), level)


def _bend_distances(
    canvas: GlyphCanvas, pairs: Sequence[tuple[int, int]], side: int
) -> dict[int, float]:
    """Returns the distance from the edge at which the wires of each further array bend."""
    at, to = (canvas.outs, canvas.ins) if side else (canvas.ins, canvas.outs)
    far = sorted({*dots(pairs, side, at, to).values()}, reverse=True)
    return dict(enumerate(far, start=1)) if len(far) > 1 else {}


def _far(many: list[float], slots: list[float]) -> bool:
    moved = (abs(y - slot) for y, slot in zip(sorted(many), slots, strict=False))
    return max(moved, default=0.0) > style.AXIS_GAP


def _slots(canvas: GlyphCanvas, many: list[float], few: list[float]) -> list[float]:
    """Returns where several wires touch a bar: straight if they are adjacent, else near the one."""
    ordered = sorted(many)
    near = all(b - a < style.NEIGHBOUR_GAP for a, b in pairwise(ordered))
    if near or not few:
        return ordered
    below = [y for y in canvas.foreign if y > few[0] + style.LEVEL_TOLERANCE]
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

    def paint(self, canvas: GlyphCanvas, mark: Mark) -> None:
        label, x = self.label(mark), canvas.middle
        half = (label.width + style.PENTAGON) / 2 + style.INSET
        top, bottom = shape_extent(canvas.rows(mark.ins, mark.outs))
        left, neck, tip = x - half, x + half - style.PENTAGON, x + half
        points = [Point(left, top), Point(neck, top), Point(tip, (top + bottom) / 2)]
        if mark.shape == "lookup":
            _link(canvas, mark, x - style.PENTAGON / 2, top)
        canvas.shape([*points, Point(neck, bottom), Point(left, bottom)], "touch")
        y = free_row(canvas, top, bottom) + (label.ascent - label.descent) / 2
        canvas.text(label, x - style.PENTAGON / 2, y, paint="light")
        ends(canvas, mark, left, neck)


def _link(canvas: GlyphCanvas, mark: Mark, x: float, top: float) -> None:
    """Draws the line from the wires of the places to the pentagon; a single place has no wire."""
    half, length = style.LINK
    rows = [canvas.ins[i] for i in mark.attached_ports]
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

    def paint(self, canvas: GlyphCanvas, mark: Mark) -> None:
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
        box = Rectangle(apex.x, top, apex.x + radius, bottom)
        canvas.ink.append(
            Rectangle(apex.x, apex.y - style.GAP, apex.x + style.GAP, apex.y + style.GAP)
        )
        canvas.hits.append(box)
