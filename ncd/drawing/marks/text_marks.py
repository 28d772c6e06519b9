"""Marks of text, on the wires or above them."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import ClassVar

from ncd.drawing.elements import style
from ncd.drawing.elements.labels import Label, math, roman, sans
from ncd.drawing.elements.primitives import Point, Rectangle
from ncd.drawing.elements.routing import GlyphCanvas
from ncd.drawing.marks.mark_kind import MarkKind, clamped_row, clear_row, reach
from ncd.language.op import Mark, Ports


class Letter(MarkKind):
    """A bold letter with its name, such as ``L^{Q}``; only the letter is large and bold.

    A long name follows in small letters, above the wire that leaves.
    """

    drop: ClassVar[float] = 0.345 * style.LETTER  # half the height of a capital

    def width(self, mark: Mark) -> float:
        wide = self.label(mark).width + 2 * style.STUB + style.LETTER_ROOM
        return wide + (note_label(mark).width + style.GAP if mark.note else 0.0)

    def headroom(self, mark: Mark) -> float:
        return 0.0 if mark.ins or mark.outs else style.HEADROOM_LETTER + self.subscript_depth(mark)

    def subscript_depth(self, mark: Mark) -> float:
        """Returns how far a subscript reaches below the baseline."""
        return max(0.0, self.label(mark).descent)

    def label(self, mark: Mark) -> Label:
        return letter_label(mark.text)

    def paint(self, canvas: GlyphCanvas, mark: Mark) -> None:
        label, x = self.label(mark), canvas.middle
        if mark.ins or mark.outs:
            y = clear_row(canvas, mark, style.CLEAR)
        else:
            y = (
                min(canvas.foreign, default=canvas.row)
                - style.LETTER_LIFT
                - self.subscript_depth(mark)
            )
        if mark.note:
            x -= (note_label(mark).width + style.GAP) / 2
        box = canvas.text(label, x, y + self.drop)
        more = note_label(mark).width + style.GAP if mark.note else 0.0
        barred = reach(canvas, mark, box, y, more)
        if mark.note:
            draw_long_name(canvas, mark, () if barred else mark.outs, box, y)
        base, raised, _ = mark.text.partition("^")
        if barred or not raised or "_" in base:
            return
        foot = box.x0 + math(base, style.LETTER, bold=True).width + style.GAP
        for o in mark.outs:  # a wire under the superscript starts at the letter's foot
            if canvas.outs[o] > box.y1:
                canvas.head(o, foot, min(canvas.outs[o], y + style.REACH))


class Italic(Letter):
    """A letter on the wire: a map that is not learned, such as G, or its transpose F^T."""

    def label(self, mark: Mark) -> Label:
        return formula_label(mark.text, style.MAP)


class ParameterName(Letter):
    """The bold name of a learned array, at which its wires begin."""

    drop: ClassVar[float] = 0.25 * style.ARRAY  # half the height of a small letter

    def label(self, mark: Mark) -> Label:
        return roman(mark.text, style.ARRAY, 700)


@lru_cache(maxsize=1024)
def letter_label(text: str) -> Label:
    """Returns a bold letter with its superscript and subscript."""
    spaced = re.sub(r"_(?=[^\W\d]{2})", " ", text)  # self_attn has no subscript
    return math(spaced, style.LETTER, bold=True)


@lru_cache(maxsize=1024)
def formula_label(text: str, size: float) -> Label:
    """Returns a formula, or an upright word; text between two $ in a word is a formula."""
    if "$" in text or re.fullmatch(r"[^\W\d_]{2,}(?: [^\W\d_]+)*", text):
        return roman(text, size)
    return math(text, size)


def note_label(mark: Mark) -> Label:
    """Returns the long name of a mark in small letters, shortened in the middle if needed."""
    name, most = mark.note, style.NOTE_LONGEST
    if len(name) > most:
        name = f"{name[: most // 2]}…{name[-(most - most // 2 - 1) :]}"
    return sans(name, style.NOTE)


def draw_long_name(canvas: GlyphCanvas, mark: Mark, outs: Ports, box: Rectangle, y: float) -> float:
    """Draws the long name after a letter and returns its end; wires at its height begin there."""
    text = canvas.text(note_label(mark), box.x1 + style.GAP, y - style.NOTE_LIFT, center=False)
    for o in outs:
        at = clamped_row(canvas.outs[o], y - style.REACH, y + style.REACH)
        if at < text.y1 + style.WIRE_ROOM:
            canvas.head(o, text.x1 + style.GAP, at)
    return text.x1


class Arrow(MarkKind):
    """A factor above an arrow that leaves a contraction, or that runs above the array."""

    lies_above_wires: ClassVar[bool] = True
    takes_cap: ClassVar[bool] = True

    def width(self, mark: Mark) -> float:
        return math(mark.text, style.NAME).width + style.ARROW_ROOM

    usual_headroom = style.HEADROOM_ARROW

    def paint(self, canvas: GlyphCanvas, mark: Mark) -> None:
        label, x, apex = math(mark.text, style.NAME), canvas.middle, canvas.incoming_cap_apex
        half = label.width / 2 + style.SIGN_LIFT
        y = apex.y if apex else canvas.top - style.SIGN_LIFT
        tip = Point(x + half, y)
        canvas.stroke(Point(apex.x if apex else x - half, y), Point(tip.x - style.ARROW, y))
        canvas.arrow_head(tip)
        canvas.text(label, x - style.NUDGE, y - style.FACTOR_LIFT - max(0.0, label.descent))


class ElementwiseLetter(MarkKind):
    """The letter of a function between two arrowheads, above the wires."""

    lies_above_wires: ClassVar[bool] = True
    takes_scalar: ClassVar[bool] = True

    def width(self, mark: Mark) -> float:
        return formula_label(mark.text, style.SIGN).width + style.SIGN_ROOM

    usual_headroom = style.HEADROOM_SIGN

    def paint(self, canvas: GlyphCanvas, mark: Mark) -> None:
        label, x = formula_label(mark.text, style.SIGN), canvas.middle
        wires = canvas.ins or canvas.outs
        y = canvas.top - style.SIGN_LIFT
        if not wires:  # the line of an array without axes runs through the letter
            y = (
                canvas.incoming_cap_apex.y if canvas.incoming_cap_apex else canvas.row
            ) + label.ascent / 2
        box = canvas.text(label, x, y)
        left, right = box.x0 - style.NUDGE, box.x1 + style.NUDGE + style.ARROW
        middle = (box.y0 + box.y1) / 2
        canvas.arrow_head(Point(left, middle))
        canvas.arrow_head(Point(right, middle))
        if not wires:
            start = canvas.incoming_cap_apex.x if canvas.incoming_cap_apex else canvas.x0
            canvas.stroke(Point(start, middle), Point(left - style.ARROW, middle))


class Plus(MarkKind):
    """A + above wires that join, or another sign at the end of a wire."""

    def width(self, mark: Mark) -> float:
        return max(style.PLUS_ROOM, math(mark.text, style.BOX_TEXT).width + 2 * style.STUB)

    usual_headroom = style.HEADROOM_PLUS

    def paint(self, canvas: GlyphCanvas, mark: Mark) -> None:
        if mark.outs or not mark.ins:
            y = min(canvas.outs, default=canvas.row)
            canvas.text(
                math(mark.text, style.SUM), canvas.x1 - style.DOT_INSET, y - style.PLUS_LIFT
            )
            return
        y = canvas.ins[mark.ins[0]]
        box = canvas.text(math(mark.text, style.BOX_TEXT), canvas.middle, y + style.DESCENT)
        for i in mark.ins:
            canvas.tail(i, box.x0 - style.GAP, clamped_row(canvas.ins[i], box.y0, box.y1))


class Word(MarkKind):
    """A word on the wire, such as Max; the wire ends there with an arrow, or continues."""

    def width(self, mark: Mark) -> float:
        arrow = 0.0 if mark.outs else style.ARROW_WAY
        return word(mark.text).width + 2 * style.STUB + style.LETTER_ROOM + arrow

    def paint(self, canvas: GlyphCanvas, mark: Mark) -> None:
        label, x = word(mark.text), canvas.middle
        if not mark.outs:
            x -= style.ARROW_WAY / 2
        y = clear_row(canvas, mark, style.CLEAR)
        box = canvas.text(label, x, y + (label.ascent - label.descent) / 2)
        reach(canvas, mark, box, y)
        if not mark.outs:
            draw_arrow(canvas, mark.text, box.x1, y)


def word(text: str) -> Label:
    """Returns the label of a mean, a sum or a maximum; a single sign is larger."""
    return math(text, style.EXPECT) if len(text) == 1 else roman(text, style.WORD)


def draw_arrow(canvas: GlyphCanvas, text: str, x: float, y: float) -> float:
    """Draws the arrow after a word that ends a wire; returns its end."""
    tip = Point(x + style.NUDGE + style.ARROW, y)
    if len(text) == 1:
        tip = Point(x + style.ARROW_WAY, y)
        canvas.stroke(Point(x + style.GAP, y), Point(tip.x - style.ARROW, y))
    canvas.arrow_head(tip)
    return tip.x


class ArrayName(MarkKind):
    """The name of an array, at its left."""

    names_array: ClassVar[bool] = True
    lies_above_wires: ClassVar[bool] = True

    def width(self, mark: Mark) -> float:
        return math(mark.text, style.BIG).width + style.NAME_ROOM

    def paint(self, canvas: GlyphCanvas, mark: Mark) -> None:
        label = math(mark.text, style.BIG)
        rows, left = canvas.ins or [canvas.row], canvas.x0 + style.NAME_INSET
        y, right = (min(rows) + max(rows)) / 2, left + label.width
        canvas.text(label, left, y + style.NAME_DROP, center=False)
        right += style.NAME_INSET
        canvas.ink.append(
            Rectangle(canvas.x0, min(rows) - style.NUDGE, right, max(rows) + style.NUDGE)
        )
        for i, o in canvas.glyph.through:  # its wires begin at it
            canvas.tails[i] = ()
            canvas.head(o, right, canvas.outs[o])
