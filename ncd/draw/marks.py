"""Marks: the shapes that stand in the wires, a painter for each kind."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import cos, pi, sin

from ncd.draw import style
from ncd.draw.drawing import Box, Curve, Dot, Point, Shape, line
from ncd.draw.glyphs import HEAD, Canvas, box_label, contract, join, letter, split
from ncd.draw.text import math, roman
from ncd.ops.spec import Mark


def paint(canvas: Canvas) -> None:
    """Draws an op: first its wires, then its marks."""
    glyph = canvas.glyph
    if glyph.caps:
        contract(canvas)
    for i, o in glyph.splits:
        split(canvas, i, o)
    if not glyph.caps:
        for i, o in glyph.joins:
            join(canvas, i, o)
    for mark in glyph.marks:
        MARKS[mark.shape](canvas, mark)


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
        canvas.tails[i] = (
            _touch(Point(canvas.x0, canvas.ins[i]), Point(x - touch, y + side * touch)),
        )
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
    corners = [
        Point(x - half, top),
        Point(x + half, top),
        Point(x + half, bottom),
        Point(x - half, bottom),
    ]
    canvas.polygon(corners, canvas.cell.op.role, style.GLYPH)
    y = _free_row(canvas, top, bottom)
    if star:
        _star(canvas, Point(x - half + 6 + 6.5, y))
    canvas.text(label, x + star / 2, y + 5.5)
    for i in mark.ins:
        canvas.tail(i, x - half)
    for o in mark.outs:
        canvas.head(o, x + half)


def corners(x: float, half: float, top: float, bottom: float) -> list[Point]:
    """The corners of an upright box around x."""
    left, right = x - half, x + half
    return [Point(left, top), Point(right, top), Point(right, bottom), Point(left, bottom)]


def _free_row(canvas: Canvas, top: float, bottom: float) -> float:
    """A row for the text in a box, away from the wires that pass over the box."""
    inside = sorted(y for y in canvas.foreign if top < y < bottom)
    edges = [top, *inside, bottom]
    a, b = max(pairwise(edges), key=lambda pair: pair[1] - pair[0])
    return (a + b) / 2


def _star(canvas: Canvas, at: Point, radius: float = 6.5) -> None:
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
    slots = _slots(ins, outs) if len(ins) >= len(outs) else _slots(outs, ins)
    far = max(abs(y - slot) for y, slot in zip(sorted(ins), slots, strict=False)) > style.AXIS_GAP
    x = canvas.x1 - 12 if far else canvas.middle
    top, bottom = min(slots) - 6, max(slots) + 6
    canvas.polygon(corners(x, 2.5, top, bottom), "ink", 0.0)
    for n, i in enumerate(sorted(mark.ins, key=lambda i: canvas.ins[i])):
        canvas.tail(
            i, x - 2.5, slots[n] if len(ins) == len(slots) else _at(canvas.ins[i], top, bottom)
        )
    for n, o in enumerate(sorted(mark.outs, key=lambda o: canvas.outs[o])):
        canvas.head(
            o, x + 2.5, slots[n] if len(outs) == len(slots) else _at(canvas.outs[o], top, bottom)
        )


def _at(y: float, top: float, bottom: float) -> float:
    return min(max(y, top + 6), bottom - 6)


def _slots(many: list[float], few: list[float]) -> list[float]:
    """Where several wires touch a bar: straight if they are neighbours, else near the one."""
    ordered = sorted(many)
    near = all(b - a < 1.3 * style.AXIS_GAP for a, b in pairwise(ordered))
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
    arrow_head(canvas, Point(tip, y))
    canvas.text(label, canvas.middle - 2, y - 4 - max(0.0, label.descent))


def arrow_head(canvas: Canvas, tip: Point) -> None:
    half, back = HEAD * 0.55, tip.x - HEAD
    notch = Point(tip.x - HEAD * 0.7, tip.y)
    canvas.polygon([tip, Point(back, tip.y - half), notch, Point(back, tip.y + half)], "ink", 0.0)


def _elementwise(canvas: Canvas, mark: Mark) -> None:
    label = math(mark.text, 19)
    x, y = canvas.middle, min([*canvas.ins, *canvas.outs], default=0.0) - 8
    box = canvas.text(label, x, y)
    middle = (box.y0 + box.y1) / 2
    arrow_head(canvas, Point(box.x0 - 2, middle))
    arrow_head(canvas, Point(box.x1 + 2 + HEAD, middle))


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
