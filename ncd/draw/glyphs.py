"""Glyphs: what one op looks like between its wires; a case for each kind of mark.

An op gets a stretch of x. Its glyph says where each input wire ends and each output wire begins;
what it says nothing of runs on, level at both ends.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ncd.circuit import Cell
from ncd.draw import style
from ncd.draw.drawing import Box, Curve, Dot, Path, Point, Shape, Text, ease, halves, line
from ncd.draw.text import Label, math
from ncd.ops.spec import Glyph, Mark

STUB = 7.0  # of a wire beside a mark
HEAD = 7.0  # of an arrow


@dataclass
class Canvas:
    """A glyph while it is drawn: its stretch, the rows of its wires, and what has been drawn."""

    cell: Cell
    glyph: Glyph
    x0: float
    x1: float
    ins: list[float]
    outs: list[float]
    foreign: list[float]
    lowered: list[float]
    apex: Point | None = None
    tails: dict[int, Path] = field(default_factory=dict)
    heads: dict[int, Path] = field(default_factory=dict)
    items: list[Shape | Dot | Text] = field(default_factory=list)
    ink: list[Box] = field(default_factory=list)
    hits: list[Box] = field(default_factory=list)

    @property
    def middle(self) -> float:
        """Where marks stand: in the middle, or beside the bends of the wires that pass over."""
        wide = mark_width(self.glyph)
        match bends(self.glyph):
            case "behind":
                return self.x0 + wide / 2
            case "before":
                return self.x1 - wide / 2
        return (self.x0 + self.x1) / 2

    def over(self, i: int, o: int) -> tuple[Path, Path]:
        """A wire that passes over the marks, cut where it becomes an output."""
        a, b = Point(self.x0, self.ins[i]), Point(self.x1, self.outs[o])
        wide = mark_width(self.glyph)
        match bends(self.glyph):
            case "behind":
                turn = Point(min(self.x0 + wide, self.x1), a.y)
                return (line(a, turn),), (ease(turn, b),)
            case "before":
                turn = Point(max(self.x1 - wide, self.x0), b.y)
                return (ease(a, turn),), (line(turn, b),)
        first, second = halves(ease(a, b))
        return (first,), (second,)

    def tail(self, port: int, x: float, y: float | None = None) -> None:
        """An input wire ends at (x, y)."""
        y0 = self.ins[port]
        y = y0 if y is None else y
        self.tails[port] = (ease(Point(self.x0, y0), Point(x, y)),)

    def head(self, port: int, x: float, y: float | None = None) -> None:
        """An output wire begins at (x, y)."""
        y1 = self.outs[port]
        y = y1 if y is None else y
        self.heads[port] = (ease(Point(x, y), Point(self.x1, y1)),)

    def text(self, label: Label, x: float, y: float, *, center: bool = True) -> Box:
        """A label with its middle at x and its baseline at y."""
        text = Text(label, Point(x - label.width / 2 if center else x, y))
        self.items.append(text)
        self.ink.append(text.box)
        return text.box

    def polygon(self, points: list[Point], paint: str, stroke: float = style.OUTLINE) -> None:
        pairs = zip(points, [*points[1:], points[0]], strict=True)
        self.items.append(Shape(tuple(line(a, b) for a, b in pairs), paint, stroke))
        xs, ys = [p.x for p in points], [p.y for p in points]
        self.ink.append(Box(min(xs), min(ys), max(xs), max(ys)))

    def dot(self, at: Point) -> None:
        self.items.append(Dot(at, style.DOT))
        self.ink.append(Box(at.x, at.y, at.x, at.y).grown(style.DOT))


def width(cell: Cell, glyph: Glyph, ins: list[float], outs: list[float]) -> float:
    """How much x an op wants."""
    wide = mark_width(glyph)
    bend = max(
        [abs(ins[i] - outs[o]) for i, o in (*glyph.through, *glyph.joins, *glyph.splits)],
        default=0.0,
    )
    if glyph.caps:
        return cap_stretch(glyph, ins)[1] + max(26.0, late(bend))
    if bends(glyph):
        return wide + bend_width(bend)
    return max(wide, bend_width(bend))


def mark_width(glyph: Glyph) -> float:
    """How much x the widest mark wants."""
    return max([_mark_width(mark) for mark in glyph.marks], default=0.0)


UNEVEN = ("letter", "bar", "plus")  # marks that may take more wires than they make, or fewer


def bends(glyph: Glyph) -> str:
    """Where wires that pass over an op bend: clear of a mark that takes or makes more wires."""
    more = sum(len(m.ins) - len(m.outs) for m in glyph.marks if m.shape in UNEVEN)
    return "behind" if more > 0 else "before" if more < 0 else ""


def bend_width(bend: float) -> float:
    return 0.0 if bend < 0.5 else min(110.0, 24.0 + 0.42 * bend)


def late(bend: float) -> float:
    """The room that a wire wants for its way down behind a contraction."""
    return min(120.0, 10.0 + 0.7 * bend)


def cap_stretch(glyph: Glyph, ins: list[float]) -> tuple[float, float]:
    """Where the caps begin and where they end, from the op's left."""
    radius = max(min(_radius(ins[i], ins[j]), 18.0) for i, j in glyph.caps)
    cross = 40.0
    return cross, cross + radius


def _radius(upper: float, lower: float) -> float:
    return max(8.0, abs(lower - upper) / 2)


def _mark_width(mark: Mark) -> float:
    match mark.shape:
        case "letter":
            return letter(mark).width + 2 * STUB + 4
        case "name":
            return math(mark.text, style.BIG).width + 14
        case "arrow":
            return math(mark.text).width + 24
        case "box":
            return box_label(mark).width + 16 + 2 * STUB
        case "elementwise":
            return math(mark.text, 19).width + 30
        case "trapezoid":
            return 46.0 + 2 * STUB
        case "bar":
            return 34.0
    return 40.0


def letter(mark: Mark) -> Label:
    """The bold letter with its name: only the letter is large and bold."""
    return math(mark.text, style.LETTER, bold=True)


def box_label(mark: Mark) -> Label:
    """A convolution's ★ is drawn, the rest is set."""
    return math(mark.text.lstrip("★"), 17)


# --- wires: contractions, copies, joins ---


def contract(canvas: Canvas) -> None:
    glyph, x0, rows = canvas.glyph, canvas.x0, canvas.lowered
    begin, end = cap_stretch(glyph, canvas.ins)
    tips = []
    for i, j in glyph.caps:
        upper, lower = canvas.ins[i], rows[j]
        rx, ry = min(_radius(upper, lower), 18.0), (lower - upper) / 2
        center, apex = Point(x0 + begin, upper + ry), Point(x0 + begin + rx, upper + ry)
        top, bottom = quarter(center, rx, -ry), quarter(center, rx, ry)
        canvas.tails[i] = (line(Point(x0, upper), top.a), top)
        canvas.tails[j] = (ease(Point(x0, canvas.ins[j]), bottom.a), bottom)
        tips.append(apex)
        canvas.hits.append(Box(x0 + 4, upper, apex.x, lower))
    canvas.apex = tips[0]
    highest = min(canvas.ins[i] for i, _ in glyph.caps)
    for i, o in glyph.through:
        a, b = Point(x0, canvas.ins[i]), Point(canvas.x1, canvas.outs[o])
        if canvas.ins[i] < highest:  # what lies over a cap comes down behind it
            turn = Point(x0 + end + 16, a.y)
            canvas.tails[i] = (line(a, turn),) if turn.x > x0 else ()
            canvas.heads[o] = (ease(turn, b),)
        else:
            turn = Point(x0 + begin, b.y)
            canvas.tails[i] = (ease(a, turn),)
            canvas.heads[o] = (line(turn, b),)
    for n, (i, o) in enumerate(glyph.joins):
        dot = Point(x0 + end + 6 + 12 * n, canvas.outs[o])
        canvas.tails[i] = drop(Point(x0, canvas.ins[i]), dot, x0 + end - 14 + 12 * n)
        canvas.dot(dot)


def quarter(center: Point, rx: float, ry: float) -> Curve:
    """A quarter of an ellipse, from over (or under) its centre to its right."""
    k = 0.5523
    start, stop = Point(center.x, center.y + ry), Point(center.x + rx, center.y)
    return Curve(start, Point(start.x + k * rx, start.y), Point(stop.x, stop.y + k * ry), stop)


def drop(a: Point, b: Point, turn: float) -> Path:
    """Level at first, then round a corner and onto a wire from above or below."""
    k = 0.5523
    way = b.y - a.y
    r = min(abs(way), b.x - turn) * (1 if way > 0 else -1)
    corner = Curve(
        Point(turn, a.y),
        Point(turn + k * (b.x - turn), a.y),
        Point(b.x, a.y + (1 - k) * r),
        Point(b.x, a.y + r),
    )
    return (line(a, corner.a), corner, line(corner.d, b))


def split(canvas: Canvas, i: int, o: int) -> None:
    dot = Point(canvas.x0 + 8, canvas.ins[i])
    canvas.heads[o] = (ease(dot, Point(canvas.x1, canvas.outs[o])),)
    canvas.dot(dot)


def join(canvas: Canvas, i: int, o: int) -> None:
    dot = Point(canvas.x1 - 8, canvas.outs[o])
    canvas.tails[i] = (ease(Point(canvas.x0, canvas.ins[i]), dot),)
    canvas.dot(dot)
