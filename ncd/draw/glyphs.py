"""Glyphs: what one op looks like between its wires; a case for each kind of mark.

An op gets a stretch of x. Its glyph says where each input wire ends and each output wire begins;
what it says nothing of runs on, level at both ends.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from ncd.circuit import Cell
from ncd.draw import style
from ncd.draw.drawing import Box, Curve, Dot, Path, Point, Shape, Text, ease, halves, line
from ncd.draw.text import Label, math, roman
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


def bends(glyph: Glyph) -> str:
    """Where wires that pass over an op bend: clear of its mark, if it takes or makes more wires."""
    more = sum(len(m.ins) - len(m.outs) for m in glyph.marks if m.shape in ("letter", "bar", "plus"))
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


# --- drawing -------------------------------------------------------------------------------------


def paint(canvas: Canvas) -> None:
    """Draws an op: first its wires, then its marks."""
    glyph = canvas.glyph
    if glyph.caps:
        _contract(canvas)
    for i, o in glyph.splits:
        _split(canvas, i, o)
    if not glyph.caps:
        for i, o in glyph.joins:
            _join(canvas, i, o)
    for mark in glyph.marks:
        MARKS[mark.shape](canvas, mark)


def _contract(canvas: Canvas) -> None:
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
    canvas.apex = tips[0]
    top = min(canvas.ins[i] for i, _ in glyph.caps)
    for i, o in glyph.through:
        a, b = Point(x0, canvas.ins[i]), Point(canvas.x1, canvas.outs[o])
        if canvas.ins[i] < top:  # what lies over a cap comes down behind it
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


def _split(canvas: Canvas, i: int, o: int) -> None:
    dot = Point(canvas.x0 + 8, canvas.ins[i])
    canvas.heads[o] = (ease(dot, Point(canvas.x1, canvas.outs[o])),)
    canvas.dot(dot)


def _join(canvas: Canvas, i: int, o: int) -> None:
    dot = Point(canvas.x1 - 8, canvas.outs[o])
    canvas.tails[i] = (ease(Point(canvas.x0, canvas.ins[i]), dot),)
    canvas.dot(dot)


def _own(canvas: Canvas, mark: Mark) -> tuple[list[float], list[float]]:
    return [canvas.ins[i] for i in mark.ins], [canvas.outs[o] for o in mark.outs]


def clear_row(canvas: Canvas, mark: Mark, need: float) -> float:
    """A row for a mark in the middle of its own wires, and clear of the wires that pass over it."""
    ins, outs = _own(canvas, mark)
    both = [*ins, *outs]
    if not both:
        return min(canvas.foreign, default=0.0) - 17.0
    wishes = [(min(both) + max(both)) / 2, *ins, *outs]

    def room(y: float) -> float:
        return min([abs(y - other) for other in canvas.foreign], default=99.0)

    return next((y for y in wishes if room(y) >= need), max(wishes, key=room))


def _ends(canvas: Canvas, mark: Mark, left: float, right: float, y: float, reach: float) -> None:
    """Brings a mark's own wires to its two sides."""
    for i in mark.ins:
        canvas.tail(i, left, min(max(canvas.ins[i], y - reach), y + reach))
    for o in mark.outs:
        canvas.head(o, right, min(max(canvas.outs[o], y - reach), y + reach))


def _letter(canvas: Canvas, mark: Mark) -> None:
    label = letter(mark)
    y = clear_row(canvas, mark, 15.0)
    x = canvas.middle
    cap = 0.69 * style.LETTER
    canvas.text(label, x, y + cap / 2)
    left, right = x - label.width / 2, x + label.width / 2
    foot = math("L", style.LETTER, bold=True).width
    _ends(canvas, mark, left - 3, right + 3, y, 13.0)
    for o in mark.outs:  # a wire under the superscript starts at the letter's foot
        if canvas.outs[o] > y + 5 and "_" not in mark.text:
            canvas.head(o, left + foot + 3, min(canvas.outs[o], y + 13.0))


def _triangle(canvas: Canvas, mark: Mark) -> None:
    (i,), (o,) = mark.ins, mark.outs
    y, x = canvas.outs[o], canvas.middle
    half, tall = 8.5, 11.0
    canvas.polygon(
        [Point(x - half, y), Point(x + half, y - tall), Point(x + half, y + tall)], "softmax"
    )
    canvas.tail(i, x - half, y)
    canvas.head(o, x + half, y)


def _circle(canvas: Canvas, mark: Mark) -> None:
    """The last of its wires runs through the circle, the others touch it."""
    radius, x = 9.5, canvas.middle
    y = canvas.outs[mark.outs[-1]]
    canvas.items.append(Dot(Point(x, y), radius, "page", style.GLYPH))
    canvas.ink.append(Box(x, y, x, y).grown(radius))
    canvas.tail(mark.ins[-1], x - radius, y)
    canvas.head(mark.outs[-1], x + radius, y)
    for i, o in zip(mark.ins[:-1], mark.outs[:-1], strict=True):
        side = 1 if canvas.outs[o] > y else -1
        touch = 0.7 * radius
        canvas.tails[i] = (_touch(Point(canvas.x0, canvas.ins[i]), Point(x - touch, y + side * touch)),)
        back = _touch(Point(canvas.x1, canvas.outs[o]), Point(x + touch, y + side * touch))
        canvas.heads[o] = (Curve(*reversed(back)),)


def _touch(a: Point, b: Point) -> Curve:
    return Curve(a, Point((a.x + b.x) / 2, a.y), Point(b.x, a.y), b)


def _box(canvas: Canvas, mark: Mark) -> None:
    label = box_label(mark)
    star = 15.0 if mark.text.startswith("★") else 0.0
    half = (label.width + star) / 2 + 6
    ins, outs = _own(canvas, mark)
    top, bottom = min(*ins, *outs) - 9, max(*ins, *outs) + 9
    x = canvas.middle
    corners = [Point(x - half, top), Point(x + half, top), Point(x + half, bottom), Point(x - half, bottom)]
    canvas.polygon(corners, canvas.cell.op.role, style.GLYPH)
    y = _free_row(canvas, top, bottom)
    if star:
        _star(canvas, Point(x - half + 6 + 6.5, y))
    canvas.text(label, x + star / 2, y + 5.5)
    for i in mark.ins:
        canvas.tail(i, x - half)
    for o in mark.outs:
        canvas.head(o, x + half)


def _free_row(canvas: Canvas, top: float, bottom: float) -> float:
    """A row for the text in a box, away from the wires that pass over the box."""
    inside = sorted(y for y in canvas.foreign if top < y < bottom)
    edges = [top, *inside, bottom]
    a, b = max(zip(edges, edges[1:], strict=False), key=lambda pair: pair[1] - pair[0])
    return (a + b) / 2


def _star(canvas: Canvas, at: Point, radius: float = 6.5) -> None:
    from math import cos, pi, sin

    points = []
    for n in range(10):
        r = radius if n % 2 == 0 else radius * 0.42
        angle = -pi / 2 + n * pi / 5
        points.append(Point(at.x + r * cos(angle), at.y + r * sin(angle)))
    canvas.polygon(points, "ink", 0.0)


def _trapezoid(canvas: Canvas, mark: Mark) -> None:
    """The window that slides: places leave smaller, the window and the channels enter L₊."""
    kernel, stride, *rest = mark.text.split("|")
    ins, outs = _own(canvas, mark)
    top, bottom = min(*ins, *outs) - 12, max(*ins, *outs) + 10
    x, half = canvas.middle, 21.0
    flip = "T" in stride
    left, right = (bottom + 8, bottom) if flip else (bottom, bottom + 8)
    canvas.polygon(
        [Point(x - half, top), Point(x + half, top), Point(x + half, right), Point(x - half, left)],
        "window",
    )
    y = _free_row(canvas, top, bottom)
    _star(canvas, Point(x - 12, y))
    label = roman("Max", 12) if rest else math(f"{kernel}/{stride.rstrip('T')}", 14)
    canvas.text(label, x + 7, y + 5)
    if flip:
        canvas.text(math("T", 11), x + 15, bottom + 1)
    for i in mark.ins:
        canvas.tail(i, x - half)
    for o in mark.outs:
        canvas.head(o, x + half)


def _bar(canvas: Canvas, mark: Mark) -> None:
    ins, outs = _own(canvas, mark)
    x = canvas.middle
    slots = _slots(ins, outs) if len(ins) >= len(outs) else _slots(outs, ins)
    top, bottom = min(slots) - 6, max(slots) + 6
    canvas.polygon(
        [Point(x - 2.5, top), Point(x + 2.5, top), Point(x + 2.5, bottom), Point(x - 2.5, bottom)],
        "ink",
        0.0,
    )
    for n, i in enumerate(sorted(mark.ins, key=lambda i: canvas.ins[i])):
        canvas.tail(i, x - 2.5, slots[n] if len(ins) == len(slots) else _at(canvas.ins[i], top, bottom))
    for n, o in enumerate(sorted(mark.outs, key=lambda o: canvas.outs[o])):
        canvas.head(o, x + 2.5, slots[n] if len(outs) == len(slots) else _at(canvas.outs[o], top, bottom))


def _at(y: float, top: float, bottom: float) -> float:
    return min(max(y, top + 6), bottom - 6)


def _slots(many: list[float], few: list[float]) -> list[float]:
    """Where several wires touch a bar: straight if they are neighbours, else near the one."""
    ordered = sorted(many)
    near = all(b - a < 1.3 * style.AXIS_GAP for a, b in zip(ordered, ordered[1:], strict=False))
    if near or not few:
        return ordered
    return [few[0] + 12.0 * n for n in range(len(many))]


def _arrow(canvas: Canvas, mark: Mark) -> None:
    """An arrow that leaves a contraction (or runs above the array), its factor over it."""
    label = math(mark.text)
    apex = canvas.apex
    y = apex.y if apex else min(canvas.outs, default=0.0) - 8
    start = apex.x if apex else canvas.middle - label.width / 2 - 8
    tip = canvas.middle + label.width / 2 + 8
    stop = tip - HEAD
    canvas.items.append(Shape((line(Point(start, y), Point(stop, y)),), "none", style.WIRE, False))
    _head(canvas, Point(tip, y))
    canvas.text(label, canvas.middle - 2, y - 4 - max(0.0, label.descent))


def _head(canvas: Canvas, tip: Point) -> None:
    half = HEAD * 0.55
    canvas.polygon(
        [tip, Point(tip.x - HEAD, tip.y - half), Point(tip.x - HEAD * 0.7, tip.y), Point(tip.x - HEAD, tip.y + half)],
        "ink",
        0.0,
    )


def _elementwise(canvas: Canvas, mark: Mark) -> None:
    label = math(mark.text, 19)
    x, y = canvas.middle, min([*canvas.ins, *canvas.outs], default=0.0) - 8
    box = canvas.text(label, x, y)
    middle = (box.y0 + box.y1) / 2
    _head(canvas, Point(box.x0 - 2, middle))
    _head(canvas, Point(box.x1 + 2 + HEAD, middle))


def _plus(canvas: Canvas, mark: Mark) -> None:
    if mark.text != "+":  # a sum over one wire: it ends at its sign
        y = canvas.ins[mark.ins[0]]
        box = canvas.text(math(mark.text, 17), canvas.middle, y + 5.5)
        canvas.tail(mark.ins[0], box.x0 - 3)
        return
    y = min([*canvas.outs], default=0.0)
    canvas.text(math("+", 18), canvas.x1 - 8, y - 7)


def _name(canvas: Canvas, mark: Mark) -> None:
    label = math(mark.text, style.BIG)
    rows = [*canvas.ins]
    y = (min(rows, default=0.0) + max(rows, default=0.0)) / 2
    right = canvas.x0 + 4 + label.width
    canvas.text(label, canvas.x0 + 4, y + 9, center=False)
    if rows:  # the name stands where its wires begin
        canvas.ink.append(Box(canvas.x0, min(rows) - 2, right + 4, max(rows) + 2))
    for i, o in canvas.glyph.through:
        canvas.tails[i] = ()
        canvas.head(o, right + 4, canvas.outs[o])


MARKS: dict[str, Callable[[Canvas, Mark], None]] = {
    "letter": _letter,
    "triangle": _triangle,
    "circle": _circle,
    "box": _box,
    "trapezoid": _trapezoid,
    "bar": _bar,
    "arrow": _arrow,
    "elementwise": _elementwise,
    "plus": _plus,
    "name": _name,
}
