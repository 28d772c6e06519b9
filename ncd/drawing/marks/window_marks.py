"""Marks of sliding windows: the trapezoid, the window axis that leaves it, and the axis' end."""

from __future__ import annotations

from functools import lru_cache
from math import cos, pi, sin
from typing import ClassVar, NamedTuple

from ncd.drawing.elements import style
from ncd.drawing.elements.labels import Label, math
from ncd.drawing.elements.primitives import Outline, Point, Rectangle, line, s_curve
from ncd.drawing.elements.routing import GlyphCanvas
from ncd.drawing.marks.mark_kind import MarkKind, clamped_row
from ncd.drawing.marks.text_marks import draw_arrow, draw_long_name, letter_label, note_label, word
from ncd.language.op import Mark


class Trapezoid(MarkKind):
    """A window that slides along the first of its wires; the window axis leaves on the other side.

    Its text is ``kernel|stride|end``. A T after the stride marks a transposed one. The window axis,
    such as ``3^2``, ends in **L** together with the other wires, or in a word such as Max, or it is
    the second wire that leaves.
    """

    continues_first_wire: ClassVar[bool] = True

    def width(self, mark: Mark) -> float:
        parts = _parts(mark)
        note = note_label(mark).width + style.GAP if mark.note else 0.0
        return 2 * style.STUB + parts.trapezoid_width + parts.way + parts.ends + note

    usual_headroom = style.HEADROOM_WINDOW
    usual_footroom = style.FOOTROOM_WINDOW

    def paint(self, canvas: GlyphCanvas, mark: Mark) -> None:
        parts, own = _parts(mark), canvas.rows(mark.ins, mark.outs)
        at = _TrapezoidPosition(
            canvas.middle - self.width(mark) / 2 + style.STUB,
            own[0],
            _window_side(canvas, mark),
            parts,
        )
        _shape(canvas, at)
        for i in mark.ins[:1]:
            canvas.tail(i, at.left_x)
        for o in mark.outs[:1]:
            near, far = sorted((at.y(-style.WINDOW_OUT), at.y(style.WINDOW_IN)))
            leaves = at.y(-style.WINDOW_OUT) if parts.flip else canvas.outs[o]
            canvas.head(o, at.right_x, clamped_row(leaves, near, far))
        _duck(
            canvas, mark, at, (_draw_ended_axis if parts.end else _draw_open_axis)(canvas, mark, at)
        )


class _Parts(NamedTuple):
    """The parts of a mark's text."""

    kernel: Label
    stride: Label | None
    flip: bool
    end: str

    @property
    def trapezoid_width(self) -> float:
        """The width of the trapezoid."""
        more = self.stride.width - style.WINDOW_TEXT if self.stride else 0.0
        return style.WINDOW_WIDE + max(0.0, more)

    @property
    def way(self) -> float:
        """The length of the window axis."""
        if not self.end:
            return style.WINDOW_OPEN
        return self.kernel.width + style.WINDOW_WAY + (style.WINDOW_FLIP if self.flip else 0.0)

    @property
    def ends(self) -> float:
        """The width of the sign that the window axis ends in."""
        if not self.end:
            return 0.0
        if self.is_learned:
            return letter_label(self.end).width + 2 * style.GAP
        return word(self.end).width + style.GAP + style.ARROW_WAY

    @property
    def is_learned(self) -> bool:
        return self.end.startswith("L")


@lru_cache(maxsize=1024)
def _parts(mark: Mark) -> _Parts:
    kernel, _, rest = mark.text.partition("|")
    stride, _, end = rest.partition("|")
    number = stride.rstrip("T")
    shown = math(number, style.WINDOW) if number not in ("", "1") else None
    return _Parts(math(kernel, style.WINDOW), shown, "T" in stride, end)


class _TrapezoidPosition(NamedTuple):
    """The position of a trapezoid: its left, its row, and the side of its window axis."""

    left_x: float
    row: float
    direction: int
    parts: _Parts

    def y(self, away: float) -> float:
        """Returns a row on the side of the window axis."""
        return self.row + self.direction * away

    @property
    def right_x(self) -> float:
        return self.left_x + self.parts.trapezoid_width


def _window_side(canvas: GlyphCanvas, mark: Mark) -> int:
    """Returns the side on which the window axis leaves: that of the other wires."""
    away = [canvas.ins[i] - canvas.ins[mark.ins[0]] for i in mark.ins[1:]]
    away += [canvas.outs[o] - canvas.outs[mark.outs[0]] for o in mark.outs[1:]]
    return -1 if sum(away) < 0 else 1


def _shape(canvas: GlyphCanvas, at: _TrapezoidPosition) -> None:
    over, under, far = style.TRAPEZOID
    parts = at.parts
    near = [Point(at.left_x, at.y(-over)), Point(at.right_x, at.y(-over))]
    canvas.shape([*near, Point(at.right_x, at.y(far)), Point(at.left_x, at.y(under))], "window")
    x, y = style.WINDOW_STAR
    star(canvas, Point(at.left_x + x, at.y(-y)))
    foot = Point(at.left_x, at.y(under))
    if parts.stride is None:
        canvas.stroke(foot, Point(at.right_x, at.row))
        return
    x, y = style.WINDOW_STROKE
    canvas.stroke(foot, Point(at.right_x - x - parts.stride.width, at.y(y)))
    label, middle = parts.stride, at.y(style.WINDOW_LOW)
    x = at.right_x - style.WINDOW_SIDE - label.width / 2
    canvas.text(label, x, middle + (label.ascent - label.descent) / 2)


def star(canvas: GlyphCanvas, at: Point) -> None:
    """Draws the sign of a convolution."""
    points = []
    for n in range(10):
        r = style.STAR if n % 2 == 0 else style.STAR * 0.42
        angle = -pi / 2 + n * pi / 5
        points.append(Point(at.x + r * cos(angle), at.y + r * sin(angle)))
    canvas.shape(points, "ink", 0.0)


def _draw_open_axis(canvas: GlyphCanvas, mark: Mark, at: _TrapezoidPosition) -> float:
    """Draws a window axis that is an output; any other wire ends at the trapezoid."""
    low, high = sorted((at.y(-style.WINDOW_OUT), at.y(style.TRAPEZOID[1] - style.GAP)))
    for i in mark.ins[1:]:
        canvas.tail(i, at.left_x, clamped_row(canvas.ins[i], low, high))
    for n, o in enumerate(mark.outs[1:]):
        row = at.y(style.WINDOW_ROW - style.GAP * n)
        canvas.head(o, at.right_x, clamped_row(canvas.outs[o], row - style.GAP, row + style.GAP))
    return at.right_x


def _draw_ended_axis(canvas: GlyphCanvas, mark: Mark, at: _TrapezoidPosition) -> float:
    """Draws a window axis that ends in a sign; returns the end of the sign."""
    parts, row = at.parts, at.y(style.WINDOW_ROW)
    start = at.right_x + (style.WINDOW_FLIP if parts.flip else 0.0)
    stop = at.right_x + parts.way
    if parts.is_learned:
        y = _letter_row(canvas, mark, at)
        box = canvas.text(
            letter_label(parts.end), stop + style.GAP, y + 0.345 * style.LETTER, center=False
        )
        enters = y - at.direction * style.WINDOW_ENTER
        right = _channels(canvas, mark, at, box, enters)
    else:
        label = word(parts.end)
        box = canvas.text(label, stop + style.GAP, row + label.ascent / 2, center=False)
        enters, right = row, draw_arrow(canvas, parts.end, box.x1, row)
    _axis(canvas, parts.kernel, Point(at.right_x, row), Point(stop, enters))
    label = parts.kernel
    middle = at.y(style.WINDOW_LABEL) + (label.ascent - label.descent) / 2
    canvas.text(label, start + style.WINDOW_WAY / 2 + label.width / 2, middle)
    if parts.flip:
        sign = math("T", style.WINDOW)
        canvas.text(sign, at.right_x + style.WINDOW_FLIP / 2 + style.GAP / 2, middle)
    return right


def _letter_row(canvas: GlyphCanvas, mark: Mark, at: _TrapezoidPosition) -> float:
    """Returns the middle row of the channels, moved so that the window axis can enter level."""
    rows = canvas.rows(mark.ins[1:], mark.outs[1:])
    if not (mark.ins[1:] or mark.outs[1:]):
        return at.y(style.WINDOW_ROW + style.WINDOW_ENTER)
    middle = (min(rows) + max(rows)) / 2
    least = at.y(style.WINDOW_ROW + style.WINDOW_ENTER)
    return max(middle, least) if at.direction > 0 else min(middle, least)


def _channels(
    canvas: GlyphCanvas, mark: Mark, at: _TrapezoidPosition, box: Rectangle, enters: float
) -> float:
    """Routes the channels into and out of the letter, on the far side of the window axis."""
    middle = enters + at.direction * style.WINDOW_ENTER
    first = enters + at.direction * 2 * style.WINDOW_ENTER
    last = middle + at.direction * style.REACH
    for i in mark.ins[1:]:
        y = clamped_row(canvas.ins[i], min(first, last), max(first, last))
        bend = Point(min(at.right_x, box.x0 - style.GAP), y)
        end = Point(box.x0 - style.GAP, y)
        canvas.tails[i] = (s_curve(Point(canvas.x0, canvas.ins[i]), bend), line(bend, end))
    for o in mark.outs[1:]:
        y = clamped_row(canvas.outs[o], middle - style.REACH, middle + style.REACH)
        canvas.head(o, box.x1 + style.GAP, y)
    return draw_long_name(canvas, mark, mark.outs[1:], box, middle) if mark.note else box.x1


def _axis(canvas: GlyphCanvas, kernel: Label, a: Point, b: Point) -> None:
    """Draws the window axis, with two lines for a window of several dimensions."""
    several = len(kernel.spans) > 1 or "×" in kernel.words
    sides = (-style.DOUBLE / 2, style.DOUBLE / 2) if several else (0.0,)
    for side in sides:
        one, two = a._replace(y=a.y + side), b._replace(y=b.y + side)
        canvas.items.append(Outline((s_curve(one, two),), "none", style.WIRE, False))


def _duck(canvas: GlyphCanvas, mark: Mark, at: _TrapezoidPosition, stop: float) -> None:
    """Routes passing wires around the foot of the sign."""
    near, far = sorted((at.y(style.GAP), at.y(style.DUCK)))
    end = max(stop - style.STUB, at.right_x)
    for i, o in canvas.glyph.through:
        a, b = canvas.ins[i], canvas.outs[o]
        if i in mark.ins or not (near < a < far or near < b < far):
            continue
        turn, back = Point(at.right_x, at.y(style.DUCK)), Point(end, at.y(style.DUCK))
        canvas.tails[i] = (s_curve(Point(canvas.x0, a), turn), line(turn, back))
        canvas.heads[o] = (s_curve(back, Point(canvas.x1, b)),)
