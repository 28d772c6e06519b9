"""Memory notes, where arrays are saved or loaded."""

from __future__ import annotations

from ncd.drawing.base import style
from ncd.drawing.base.label import Label, math
from ncd.drawing.base.primitives import corners
from ncd.drawing.marks.mark_base import MarkKind, around, ends
from ncd.drawing.routing.canvas import Canvas
from ncd.lang.glyph import Mark


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

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        label, x = self.label(mark), canvas.middle
        half, room = label.width / 2 + style.MEMORY_INSET, self.room(mark)
        top, bottom = around(canvas.rows(mark.ins, mark.outs), room, room)
        canvas.shape(corners(x, half, top, bottom), "note", 0.0)
        y = (top + bottom + label.ascent - label.descent) / 2
        canvas.text(label, x, y)
        ends(canvas, mark, x - half, x + half)


class Load(Save):
    """A yellow note ``C_λ →`` at which the wires of an array begin."""

    def label(self, mark: Mark) -> Label:
        return math(f"{mark.text} →", style.BIG)
