"""Strands: how wires meet, split and bend inside an op."""

from __future__ import annotations

from collections.abc import Sequence

from ncd.drawing import style
from ncd.drawing.canvas import Canvas
from ncd.drawing.data import QUARTER, Box, Curve, Path, Point, ease, line
from ncd.lang.glyph import Glyph


def bend_width(bend: float) -> float:
    """The room that a wire wants to go up or down so far."""
    return 0.0 if abs(bend) < style.STILL else min(style.BENDS, style.BEND + 0.42 * abs(bend))


def fall_width(bend: float) -> float:
    """The room that a wire wants for its way down behind a contraction."""
    return min(style.FALLS, style.FALL + 0.7 * bend)


def cap_stretch(glyph: Glyph, ins: Sequence[float], marks: float) -> tuple[float, float]:
    """Where the caps begin and where they end, from the op's left; its marks stand before them."""
    radius = max(_radius(ins[ports[0]], ins[ports[-1]]) for ports in chains(glyph))
    return marks + style.CAP, marks + style.CAP + radius


def chains(glyph: Glyph) -> list[list[int]]:
    """The ports that each contraction brings together: two, or one in each of more arrays."""
    found: dict[int, list[int]] = {}
    for i, j in sorted(glyph.caps):
        ports = found.pop(i, [i])
        found[j] = [*ports, j]
    return list(found.values())


def _radius(upper: float, lower: float) -> float:
    least, most = style.CAP_RADIUS
    return min(max(least, abs(lower - upper) / 2), most)


def strands(canvas: Canvas) -> None:
    """Draws the wires that meet or split."""
    if canvas.glyph.caps:
        _contract(canvas)
    for i, o in canvas.glyph.splits:
        _split(canvas, i, o)
    for n, (i, o) in enumerate(canvas.glyph.joins):
        if canvas.glyph.caps:
            _join_behind(canvas, n, i, o)
        else:
            _join(canvas, i, o)


def _contract(canvas: Canvas) -> None:
    glyph, rows = canvas.glyph, canvas.lowered
    begin, end = (canvas.x0 + x for x in cap_stretch(glyph, canvas.ins, canvas.wide))
    starts = [Point(canvas.x0 + canvas.wide, y) for y in canvas.ins]
    for i, *between, j in chains(glyph):
        upper, lower = canvas.ins[i], rows[j]
        rx, ry = _radius(upper, lower), (lower - upper) / 2
        center, apex = Point(begin, upper + ry), Point(begin + rx, upper + ry)
        top, bottom = _quarter(center, rx, -ry), _quarter(center, rx, ry)
        canvas.tails[i] = (line(starts[i], top.a), top)
        canvas.tails[j] = (ease(starts[j], bottom.a), bottom)
        for port in between:  # of a third array, straight into the middle of the cap
            canvas.tails[port] = (ease(starts[port], apex),)
        canvas.apex = canvas.apex or apex
        canvas.hits.append(Box(starts[i].x + style.CAP_HIT, upper, apex.x, lower))
    highest = min(canvas.ins[i] for i, *_ in chains(glyph))
    for i, o in glyph.through:
        a, b = starts[i], Point(canvas.x1, canvas.outs[o])
        if a.y < highest:  # what lies over a cap comes down behind it
            turn = Point(end + style.CAP_CLEAR, a.y)
            canvas.tails[i], canvas.heads[o] = (line(a, turn),), (ease(turn, b),)
        else:
            turn = Point(begin, b.y)
            canvas.tails[i], canvas.heads[o] = (ease(a, turn),), (line(turn, b),)
    for i, path in canvas.tails.items():
        canvas.tails[i] = (line(Point(canvas.x0, starts[i].y), starts[i]), *path)


def _quarter(center: Point, rx: float, ry: float) -> Curve:
    """A quarter of an ellipse, from over (or under) its centre to its right."""
    start, stop = Point(center.x, center.y + ry), Point(center.x + rx, center.y)
    b, c = Point(start.x + QUARTER * rx, start.y), Point(stop.x, stop.y + QUARTER * ry)
    return Curve(start, b, c, stop)


def _join_behind(canvas: Canvas, n: int, i: int, o: int) -> None:
    """Onto a wire behind a cap."""
    end = canvas.x0 + cap_stretch(canvas.glyph, canvas.ins, canvas.wide)[1]
    end += style.JOIN_STEP * n
    dot = Point(end + style.JOIN, canvas.outs[o])
    canvas.tails[i] = _drop(Point(canvas.x0, canvas.ins[i]), dot, end - style.JOIN_TURN)
    canvas.dot(dot)


def _drop(a: Point, b: Point, turn: float) -> Path:
    """Level at first, then round a corner and onto a wire from above or below."""
    way = b.y - a.y
    if not way:
        return (line(a, b),)
    r = min(abs(way), b.x - turn) * (1 if way > 0 else -1)
    corner = Curve(
        Point(turn, a.y),
        Point(turn + QUARTER * (b.x - turn), a.y),
        Point(b.x, a.y + (1 - QUARTER) * r),
        Point(b.x, a.y + r),
    )
    return (line(a, corner.a), corner, line(corner.d, b))


def _split(canvas: Canvas, i: int, o: int) -> None:
    """From a wire, at a dot; the wire may go on or not."""
    dot = Point(canvas.x0 + style.DOT_INSET, canvas.ins[i])
    end = Point(canvas.x1, canvas.outs[o])
    turn = Point(max(canvas.x1 - canvas.wide, dot.x), end.y) if canvas.side == "before" else end
    canvas.heads[o] = (ease(dot, turn), line(turn, end))
    if all(i != other for other, _ in canvas.glyph.through):
        canvas.tails[i] = (line(Point(canvas.x0, dot.y), dot),)
    canvas.dot(dot)


def _join(canvas: Canvas, i: int, o: int) -> None:
    """Onto a wire, at a dot."""
    dot = Point(canvas.x1 - style.DOT_INSET, canvas.outs[o])
    start = Point(canvas.x0, canvas.ins[i])
    turn = Point(min(start.x + canvas.wide, dot.x), start.y) if canvas.side == "behind" else start
    canvas.tails[i] = (line(start, turn), ease(turn, dot))
    canvas.dot(dot)
