"""Signs: marks of text, in the wires or over them."""

from __future__ import annotations

import re
from typing import ClassVar

from ncd.drawing import style
from ncd.drawing.canvas import Canvas
from ncd.drawing.data import Box, Point
from ncd.drawing.marks.kind import MarkKind, clear_row, reach, within
from ncd.drawing.text import Label, math, roman
from ncd.lang.glyph import Mark


class Letter(MarkKind):
    """A bold letter with its name, ``L^{Q}``; only the letter is large and bold."""

    def width(self, mark: Mark) -> float:
        return self.label(mark).width + 2 * style.STUB + style.LETTER_ROOM

    def headroom(self, mark: Mark) -> float:
        return 0.0 if mark.ins or mark.outs else style.HEADROOM_LETTER + self.below(mark)

    def below(self, mark: Mark) -> float:
        """How far a subscript reaches under the base line."""
        return max(0.0, self.label(mark).descent)

    def label(self, mark: Mark) -> Label:
        spaced = re.sub(r"_(?=[^\W\d]{2})", " ", mark.text)  # self_attn is no self with an index
        return math(spaced, style.LETTER, bold=True)

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        label, x = self.label(mark), canvas.middle
        if mark.ins or mark.outs:
            y = clear_row(canvas, mark, style.CLEAR)
        else:
            y = min(canvas.foreign, default=canvas.row) - style.OVER - self.below(mark)
        box = canvas.text(label, x, y + 0.345 * style.LETTER)  # half of a capital is under it
        reach(canvas, mark, box, y)
        base, raised, _ = mark.text.partition("^")
        if not raised or "_" in base:
            return
        foot = box.x0 + math(base, style.LETTER, bold=True).width + style.GAP
        for o in mark.outs:  # a wire under the superscript starts at the letter's foot
            if canvas.outs[o] > box.y1:
                canvas.head(o, foot, min(canvas.outs[o], y + style.REACH))


class Arrow(MarkKind):
    """A factor over an arrow that leaves a contraction, or runs over the array."""

    over: ClassVar[bool] = True
    takes_cap: ClassVar[bool] = True

    def width(self, mark: Mark) -> float:
        return math(mark.text, style.NAME).width + style.ARROW_ROOM

    def headroom(self, mark: Mark) -> float:
        return style.HEADROOM_ARROW

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        label, x, apex = math(mark.text, style.NAME), canvas.middle, canvas.apex
        half = label.width / 2 + style.SIGN_LIFT
        y = apex.y if apex else canvas.top - style.SIGN_LIFT
        tip = Point(x + half, y)
        canvas.stroke(Point(apex.x if apex else x - half, y), Point(tip.x - style.ARROW, y))
        canvas.arrow_head(tip)
        canvas.text(label, x - style.NUDGE, y - style.FACTOR_LIFT - max(0.0, label.descent))


class Elementwise(MarkKind):
    """The letter of a function between two arrowheads, over the wires."""

    over: ClassVar[bool] = True

    def width(self, mark: Mark) -> float:
        return math(mark.text, style.SIGN).width + style.SIGN_ROOM

    def headroom(self, mark: Mark) -> float:
        return style.HEADROOM_SIGN

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        y = canvas.top - style.SIGN_LIFT
        box = canvas.text(math(mark.text, style.SIGN), canvas.middle, y)
        middle = (box.y0 + box.y1) / 2
        canvas.arrow_head(Point(box.x0 - style.NUDGE, middle))
        canvas.arrow_head(Point(box.x1 + style.NUDGE + style.ARROW, middle))


class Plus(MarkKind):
    """A + over wires that join, or another sign at the end of a wire."""

    def width(self, mark: Mark) -> float:
        return max(style.PLUS_ROOM, math(mark.text, style.BOXED).width + 2 * style.STUB)

    def headroom(self, mark: Mark) -> float:
        return style.HEADROOM_PLUS

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        if mark.outs or not mark.ins:
            y = min(canvas.outs, default=canvas.row)
            canvas.text(
                math(mark.text, style.SUM), canvas.x1 - style.DOT_INSET, y - style.PLUS_LIFT
            )
            return
        y = canvas.ins[mark.ins[0]]
        box = canvas.text(math(mark.text, style.BOXED), canvas.middle, y + style.DESCENT)
        for i in mark.ins:
            canvas.tail(i, box.x0 - style.GAP, within(canvas.ins[i], box.y0, box.y1))


class Word(MarkKind):
    """A word in the wire, such as max; it ends there, or goes on behind."""

    def width(self, mark: Mark) -> float:
        return roman(mark.text, style.WORD).width + 2 * style.STUB + style.LETTER_ROOM

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        label, x = roman(mark.text, style.WORD), canvas.middle
        y = clear_row(canvas, mark, style.CLEAR)
        box = canvas.text(label, x, y + (label.ascent - label.descent) / 2)
        reach(canvas, mark, box, y)


class Name(MarkKind):
    """The name of an array, at its left."""

    names_array: ClassVar[bool] = True
    over: ClassVar[bool] = True

    def width(self, mark: Mark) -> float:
        return math(mark.text, style.BIG).width + style.NAME_ROOM

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        label = math(mark.text, style.BIG)
        rows, left = canvas.ins or [canvas.row], canvas.x0 + style.NAME_INSET
        y, right = (min(rows) + max(rows)) / 2, left + label.width
        canvas.text(label, left, y + style.NAME_DROP, center=False)
        right += style.NAME_INSET
        canvas.ink.append(Box(canvas.x0, min(rows) - style.NUDGE, right, max(rows) + style.NUDGE))
        for i, o in canvas.glyph.through:  # its wires begin at it
            canvas.tails[i] = ()
            canvas.head(o, right, canvas.outs[o])
