"""The canvas on which one op is drawn.

An op gets a range of x. Its glyph says where each input wire ends and each output wire begins;
other wires run through, level at both ends.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from ncd.drawing.base import style
from ncd.drawing.base.label import Label
from ncd.drawing.base.primitives import (
    Box,
    Dot,
    Outline,
    Path,
    Point,
    Text,
    ease,
    line,
    polygon,
)
from ncd.drawing.routing.contractions import Contraction
from ncd.lang.glyph import Glyph

Side = Literal["", "before", "behind"]


@dataclass
class Canvas:
    """A glyph under construction: its range of x, the rows of its wires, and the drawn items.

    ``ins`` and ``outs`` are the rows of its wires at its marks; ``lead`` and ``trail`` are the
    paths of wires before and after the marks. ``row`` is its row if it has no wires, ``foreign``
    the rows of wires that pass over its marks. ``wide`` is the width of its widest mark; passing
    wires bend on ``side`` of it. ``apex`` is the cap whose arrow ends here, ``stems`` are the
    arrows that leave its own caps, ``contraction`` is where its wires meet, and ``start`` the x
    from which they are in their rows. Copies of ``late`` wires leave in the last ``later`` of
    its width; wires join others from ``level`` on.
    """

    role: str
    glyph: Glyph
    x0: float
    x1: float
    ins: list[float]
    outs: list[float]
    row: float
    foreign: list[float]
    wide: float = 0.0
    side: Side = ""
    apex: Point | None = None
    start: float = 0.0
    contraction: Contraction | None = None
    lead: Sequence[Path] = ()
    trail: Sequence[Path] = ()
    late: frozenset[int] = frozenset()
    later: float = 0.0
    level: float = 0.0
    stems: list[tuple[Point, Point]] = field(default_factory=list)
    tails: dict[int, Path] = field(default_factory=dict)
    heads: dict[int, Path] = field(default_factory=dict)
    items: list[Outline | Dot | Text] = field(default_factory=list)
    ink: list[Box] = field(default_factory=list)
    hits: list[Box] = field(default_factory=list)

    @property
    def middle(self) -> float:
        """The x of its marks: in the middle, or beside the bends of passing wires."""
        match self.side:
            case "behind":
                return self.x0 + self.wide / 2
            case "before":
                return self.x1 - self.wide / 2
        return (self.x0 + self.x1) / 2

    @property
    def top(self) -> float:
        """The row of its first wire, or its own."""
        return min([*self.ins, *self.outs], default=self.row)

    def tail(self, port: int, x: float, y: float | None = None) -> None:
        """Ends an input wire at (x, y)."""
        y0 = self.ins[port]
        self.tails[port] = (ease(Point(self.x0, y0), Point(x, y0 if y is None else y)),)

    def head(self, port: int, x: float, y: float | None = None) -> None:
        """Begins an output wire at (x, y)."""
        y1 = self.outs[port]
        self.heads[port] = (ease(Point(x, y1 if y is None else y), Point(self.x1, y1)),)

    def ends(self) -> tuple[dict[int, Path], dict[int, Path]]:
        """Returns the paths of input and output wires, from edge to edge of the op."""
        tails, heads = self.tails, self.heads
        if self.lead:
            tails = {i: (*self.lead[i], *path) for i, path in tails.items()}
        if self.trail:
            heads = {o: (*path, *self.trail[o]) for o, path in heads.items()}
        return tails, heads

    def text(
        self, label: Label, x: float, y: float, *, center: bool = True, paint: str = "ink"
    ) -> Box:
        """Draws a label with its middle at x and its baseline at y."""
        text = Text(label, Point(x - label.width / 2 if center else x, y), paint=paint)
        box = text.box
        self.items.append(text)
        self.ink.append(box)
        return box

    def shape(self, points: list[Point], paint: str, stroke: float = style.OUTLINE) -> None:
        """Draws a polygon."""
        self.items.append(Outline(polygon(points), paint, stroke))
        self.ink.append(Box.of(points))

    def dot(self, at: Point) -> None:
        self.items.append(Dot(at, style.DOT))
        self.ink.append(Box.at(at, style.DOT))

    def arrow_head(self, tip: Point) -> None:
        size = style.ARROW
        half, back, notch = 0.55 * size, tip.x - size, Point(tip.x - 0.7 * size, tip.y)
        wings = [Point(back, tip.y - half), notch, Point(back, tip.y + half)]
        self.shape([tip, *wings], "ink", 0.0)

    def stroke(self, a: Point, b: Point) -> None:
        """Draws a line as thin as a wire that is not a wire."""
        self.items.append(Outline((line(a, b),), "none", style.WIRE, False))

    def rows(self, ins: Sequence[int], outs: Sequence[int]) -> list[float]:
        """Returns the rows of these ports, or that of the op if there are none."""
        return [self.ins[i] for i in ins] + [self.outs[o] for o in outs] or [self.row]
