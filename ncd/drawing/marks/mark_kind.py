"""The interface of a mark: its size, how wires bend around it, and how it is painted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

from ncd.drawing.elements import style
from ncd.drawing.elements.primitives import Rectangle, corners
from ncd.drawing.elements.routing import GlyphCanvas
from ncd.language.op import Mark


class MarkKind:
    """A shape of the catalogue.

    ``lies_above_wires``: it stands over its wires, which run on; other marks end their input wires
    and begin their output wires. ``takes_cap``: it is the arrow that leaves the cap before it.
    ``takes_scalar``: that arrow leads to it if there is nothing else. ``names_array``: it is the
    name at which an array's wires begin. ``spans``: foreign wires may pass over it; other marks
    need their own wires to be adjacent. ``continues_first_wire``: its first wire continues as its
    first output. ``usual_width``, ``usual_headroom`` and ``usual_footroom`` are for marks of one
    size.
    """

    lies_above_wires: ClassVar[bool] = False
    takes_cap: ClassVar[bool] = False
    takes_scalar: ClassVar[bool] = False
    names_array: ClassVar[bool] = False
    spans: ClassVar[bool] = False
    continues_first_wire: ClassVar[bool] = False
    usual_width: ClassVar[float] = 0.0
    usual_headroom: ClassVar[float] = 0.0
    usual_footroom: ClassVar[float] = 0.0

    def width(self, mark: Mark) -> float:
        """Returns its width."""
        return self.usual_width

    def headroom(self, mark: Mark) -> float:
        """Returns the height beyond the usual gap that it needs above its array."""
        return self.usual_headroom

    def footroom(self, mark: Mark) -> float:
        """Returns the height beyond the usual gap that it needs below its array."""
        return self.usual_footroom

    def bend(self, mark: Mark, ins: Sequence[float], outs: Sequence[float]) -> float:
        """Returns how far its own wires move up or down to reach it."""
        return 0.0

    def paint(self, canvas: GlyphCanvas, mark: Mark) -> None:
        """Draws it, and the ends and beginnings of its wires."""
        raise NotImplementedError


def clear_row(canvas: GlyphCanvas, mark: Mark, need: float) -> float:
    """Returns a row in the middle of a mark's own wires, away from passing wires."""
    both = canvas.rows(mark.ins, mark.outs)
    near, half = both, style.AXIS_GAP / 2
    if mark.ins and mark.outs:  # of the side on which they are fewer
        few = len(mark.ins) <= len(mark.outs)
        near = canvas.rows(mark.ins, ()) if few else canvas.rows((), mark.outs)
    middle = clamped_row((min(both) + max(both)) / 2, min(near) - half, max(near) + half)
    wishes = [middle, *both]

    def room(y: float) -> float:
        return min([abs(y - other) for other in canvas.foreign], default=need)

    return next((y for y in wishes if room(y) >= need), max(wishes, key=room))


def free_row(canvas: GlyphCanvas, top: float, bottom: float) -> float:
    """Returns a row for the text in a box, away from passing wires."""
    inside = sorted(y for y in canvas.foreign if top < y < bottom)
    edges = [top, *inside, bottom]
    a, b = max(pairwise(edges), key=lambda pair: pair[1] - pair[0])
    return (a + b) / 2


def ends(canvas: GlyphCanvas, mark: Mark, left: float, right: float) -> None:
    """Routes a mark's own wires horizontally to its two sides."""
    for i in mark.ins:
        canvas.tail(i, left)
    for o in mark.outs:
        canvas.head(o, right)


def reach(canvas: GlyphCanvas, mark: Mark, text: Rectangle, y: float, more: float = 0.0) -> bool:
    """Routes a mark's own wires to the sides of its text.

    ``y`` is its middle. Wires that would have to bend end at an upright bar beside the text,
    ``more`` further away behind it. Returns whether there is a bar behind it.
    """
    top, bottom = (
        max(y - style.REACH, text.y0 - style.FOOT),
        min(y + style.REACH, text.y1 + style.FOOT),
    )
    ins, outs = canvas.rows(mark.ins, ()), canvas.rows((), mark.outs)
    before, behind = _far(ins, y), _far(outs, y)
    left, right = text.x0 - style.GAP, text.x1 + style.GAP + (more if behind else 0.0)
    for i in mark.ins:
        canvas.tail(i, left, canvas.ins[i] if before else clamped_row(canvas.ins[i], top, bottom))
    for o in mark.outs:
        canvas.head(
            o, right, canvas.outs[o] if behind else clamped_row(canvas.outs[o], top, bottom)
        )
    for far, rows, x in ((before, ins, left), (behind, outs, right)):
        if far:
            upper, lower = min(*rows, top), max(*rows, bottom)
            canvas.shape(corners(x, style.UPRIGHT / 2, upper, lower), "ink", 0.0)
    return behind


def _far(rows: list[float], y: float) -> bool:
    """Returns whether several wires would have to bend to a letter in row y."""
    return len(rows) > 1 and max([abs(row - y) for row in rows]) > style.REACH + style.GAP


def clamped_row(y: float, top: float, bottom: float) -> float:
    return min(max(y, top), bottom)


def shape_extent(
    rows: list[float], over: float = style.SIDE, under: float = style.SIDE
) -> tuple[float, float]:
    """Returns the top and the bottom of a shape around these rows."""
    return min(rows) - over, max(rows) + under
