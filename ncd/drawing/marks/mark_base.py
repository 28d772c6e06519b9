"""What a mark answers: how wide and high it is, how wires bend around it, and how it is painted."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import ClassVar

from ncd.drawing.base import style
from ncd.drawing.base.primitives import Box, corners
from ncd.drawing.routing.canvas import Canvas
from ncd.lang.glyph import Mark


class MarkKind:
    """A shape of the catalogue.

    ``over`` is for marks that stand over their wires, which run on; others end the wires that they
    take and begin those that they give. ``takes_cap`` is for an arrow that leaves the cap before
    it, ``takes_scalar`` for a sign to which it leads if it is all that there is, ``names_array``
    for a name at which the wires of an array begin. ``spans`` is for shapes that wires of others
    may pass over; all others want their own wires beside each other. ``leads`` is for those whose
    first wire goes on as their first output.
    """

    over: ClassVar[bool] = False
    takes_cap: ClassVar[bool] = False
    takes_scalar: ClassVar[bool] = False
    names_array: ClassVar[bool] = False
    spans: ClassVar[bool] = False
    leads: ClassVar[bool] = False

    def width(self, mark: Mark) -> float:
        """How much x it wants."""
        raise NotImplementedError

    def headroom(self, mark: Mark) -> float:
        """How much more than a gap it needs over the array that it stands on."""
        return 0.0

    def footroom(self, mark: Mark) -> float:
        """The same under that array."""
        return 0.0

    def bend(self, mark: Mark, ins: Sequence[float], outs: Sequence[float]) -> float:
        """How far its own wires go up or down to reach it."""
        return 0.0

    def paint(self, canvas: Canvas, mark: Mark) -> None:
        """Draws it, and ends and begins its wires."""
        raise NotImplementedError


def clear_row(canvas: Canvas, mark: Mark, need: float) -> float:
    """A row for a mark in the middle of its own wires, and clear of the wires that pass over it."""
    both = canvas.rows(mark.ins, mark.outs)
    near, half = both, style.AXIS_GAP / 2
    if mark.ins and mark.outs:  # of the side on which they are fewer
        few = len(mark.ins) <= len(mark.outs)
        near = canvas.rows(mark.ins, ()) if few else canvas.rows((), mark.outs)
    middle = within((min(both) + max(both)) / 2, min(near) - half, max(near) + half)
    wishes = [middle, *both]

    def room(y: float) -> float:
        return min([abs(y - other) for other in canvas.foreign], default=need)

    return next((y for y in wishes if room(y) >= need), max(wishes, key=room))


def free_row(canvas: Canvas, top: float, bottom: float) -> float:
    """A row for the text in a box, away from the wires that pass over the box."""
    inside = sorted(y for y in canvas.foreign if top < y < bottom)
    edges = [top, *inside, bottom]
    a, b = max(pairwise(edges), key=lambda pair: pair[1] - pair[0])
    return (a + b) / 2


def ends(canvas: Canvas, mark: Mark, left: float, right: float) -> None:
    """Brings a mark's own wires level to its two sides."""
    for i in mark.ins:
        canvas.tail(i, left)
    for o in mark.outs:
        canvas.head(o, right)


def reach(canvas: Canvas, mark: Mark, text: Box, y: float, more: float = 0.0) -> bool:
    """Brings a mark's own wires to the two sides of its text, no further than they may stand off.

    ``y`` is its middle. Wires that would have to bend end level at a bar beside the text, ``more``
    further on behind it; gives whether there is one behind it.
    """
    top, bottom = (
        max(y - style.REACH, text.y0 - style.FOOT),
        min(y + style.REACH, text.y1 + style.FOOT),
    )
    ins, outs = canvas.rows(mark.ins, ()), canvas.rows((), mark.outs)
    before, behind = _far(ins, y), _far(outs, y)
    left, right = text.x0 - style.GAP, text.x1 + style.GAP + (more if behind else 0.0)
    for i in mark.ins:
        canvas.tail(i, left, canvas.ins[i] if before else within(canvas.ins[i], top, bottom))
    for o in mark.outs:
        canvas.head(o, right, canvas.outs[o] if behind else within(canvas.outs[o], top, bottom))
    for far, rows, x in ((before, ins, left), (behind, outs, right)):
        if far:
            upper, lower = min(*rows, top), max(*rows, bottom)
            canvas.shape(corners(x, style.UPRIGHT / 2, upper, lower), "ink", 0.0)
    return behind


def _far(rows: list[float], y: float) -> bool:
    """Whether several wires would have to bend to a letter in the row y."""
    return len(rows) > 1 and max([abs(row - y) for row in rows]) > style.REACH + style.GAP


def within(y: float, top: float, bottom: float) -> float:
    return min(max(y, top), bottom)


def around(
    rows: list[float], over: float = style.SIDE, under: float = style.SIDE
) -> tuple[float, float]:
    """The top and the bottom of a shape around these rows."""
    return min(rows) - over, max(rows) + under
