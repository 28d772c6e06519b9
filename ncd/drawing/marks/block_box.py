"""The box of a collapsed block."""

from __future__ import annotations

from ncd.drawing.base import style
from ncd.drawing.base.label import Label, wrap
from ncd.drawing.base.primitives import Box, Point, corners
from ncd.drawing.marks.mark_base import MarkKind, around, ends
from ncd.drawing.routing.canvas import Canvas
from ncd.lang.glyph import Mark


class Folded(MarkKind):
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

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        rows = canvas.rows(mark.ins, mark.outs)
        top, bottom = around(rows, style.BLOCK_SIDE, style.BLOCK_SIDE)
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
        canvas.ink[-3:] = [Box(left, top - depth, right + depth, bottom)]
        lines = self.lines(mark)
        first = (top + bottom - style.LEADING * (len(lines) - 1)) / 2 + style.DESCENT
        for n, line in enumerate(lines):
            canvas.text(line, x, first + style.LEADING * n)
        ends(canvas, mark, left, right + depth / 2)
        for o in mark.outs:  # from the slanted side, which ends above the bottom
            canvas.head(o, right + depth if canvas.outs[o] < bottom - depth else right)
