"""Draws how wires meet, split and bend inside an op.

An arrow leaves each nest of caps, through all of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from ncd.drawing.base import style
from ncd.drawing.base.primitives import QUARTER, Box, Curve, Point, line
from ncd.drawing.routing.canvas import Canvas
from ncd.drawing.routing.contractions import Cap, Contraction
from ncd.drawing.routing.wire_crossings import cross_wires, crossing_width, drop


def bend_width(bend: float) -> float:
    """Returns the width that a wire needs to move up or down by ``bend``."""
    return (
        0.0 if abs(bend) < style.STILL else min(style.BENDS, style.BEND + style.SLOPE * abs(bend))
    )


# --- contractions --------------------------------------------------------------------------------


def draw_wires(canvas: Canvas) -> None:
    """Draws the wires that continue, meet or split."""
    if canvas.contraction:
        _contract(canvas, canvas.contraction)
    else:
        _go_on(canvas)
        if canvas.glyph.splits:
            _split(canvas)
        if canvas.glyph.joins:
            _join(canvas)


def stems(canvas: Canvas, taken: bool) -> None:
    """Draws an arrow from each nest of caps; a factor may have taken the first one."""
    for start, tip in canvas.stems[taken:]:
        canvas.stroke(start, Point(tip.x - style.ARROW, tip.y))
        canvas.arrow_head(tip)


def _contract(canvas: Canvas, met: Contraction) -> None:
    glyph, rows, last = canvas.glyph, canvas.ins, met.last
    free, stop = canvas.start + met.free, canvas.x1 - met.behind
    for cap in met.caps:
        _cap(canvas, cap)
    canvas.stems = _stems(canvas.start, met.caps)
    source = {o: i for i, o in glyph.through}
    for i, o in glyph.joins:
        if i in last:
            back = style.DOT_INSET + style.JOIN_STEP * (len(last) - 1 - last.index(i))
            dot = Point(canvas.x1 - back, canvas.outs[o])
        else:
            dot = Point(canvas.start + met.falls[i], rows[source[o]])
        canvas.tails[i] = drop(Point(canvas.start, rows[i]), dot, style.JOIN_RADIUS)
        canvas.dot(dot)
    wires = [(rows[i], canvas.outs[o]) for i, o in glyph.through]
    for (i, o), path in zip(glyph.through, cross_wires(wires, free, stop), strict=True):
        canvas.tails[i] = (line(Point(canvas.start, rows[i]), Point(free, rows[i])),)
        level = line(Point(stop, canvas.outs[o]), Point(canvas.x1, canvas.outs[o]))
        canvas.heads[o] = (*path, level) if last else path


def _cap(canvas: Canvas, cap: Cap) -> None:
    """Draws two arms that meet at the apex; wires between them run up to it."""
    radius, apex = min(style.CAP_RADIUS[1], (cap.lower - cap.upper) / 2), canvas.start + cap.apex
    meet = Point(apex, cap.middle)
    for i in cap.ports:
        start, y = Point(canvas.start, canvas.ins[i]), canvas.ins[i]
        if y in (cap.upper, cap.lower):
            way = radius if y == cap.upper else -radius
            arc = _quarter(Point(apex - radius, y + way), radius, -way)
            canvas.tails[i] = tuple(
                [c for c in (line(start, arc.a), arc, line(arc.d, meet)) if c.a != c.d]
            )
        else:
            canvas.tails[i] = (line(start, Point(apex, y)),)
            canvas.dot(Point(apex, y))
    left = canvas.start + style.CAP_HIT
    canvas.hits.append(Box(left, cap.upper, apex, cap.lower))


def _stems(x: float, caps: Sequence[Cap]) -> list[tuple[Point, Point]]:
    """Returns the apex at which each arrow starts, and its end."""
    found: list[tuple[Point, Point]] = []
    served: list[Cap] = []
    for cap in caps:
        if cap not in served:
            nest = [other for other in caps if other.around(cap.middle)]
            served += nest
            tip = max(other.apex for other in nest) + style.CAP_STEM
            found.append((Point(x + cap.apex, cap.middle), Point(x + tip, cap.middle)))
    return found


def _quarter(center: Point, rx: float, ry: float) -> Curve:
    """Returns a quarter of an ellipse, from above or below its centre to its right."""
    start, stop = Point(center.x, center.y + ry), Point(center.x + rx, center.y)
    b, c = Point(start.x + QUARTER * rx, start.y), Point(stop.x, stop.y + QUARTER * ry)
    return Curve(start, b, c, stop)


# --- wires that go on ----------------------------------------------------------------------------

Pair = tuple[int, int]


def dots(
    pairs: Sequence[Pair], side: int, at: Sequence[float], to: Sequence[float]
) -> dict[Pair, float]:
    """Returns the distance from the op's edge of each pair's dot, on the wire at its ``side``.

    Of several dots on one wire, those of wires that go further are nearer to the edge.
    """
    if not pairs:
        return {}
    bends = {pair: abs(to[pair[1 - side]] - at[pair[side]]) for pair in pairs}
    seen: Counter[int] = Counter()
    ranks: list[list[Pair]] = []
    for pair in sorted(pairs, key=lambda pair: -bends[pair]):
        ranks += [[]] if seen[pair[side]] == len(ranks) else []
        ranks[seen[pair[side]]].append(pair)
        seen[pair[side]] += 1
    found: dict[Pair, float] = {}
    far = style.DOT_INSET
    for rank, behind in zip(ranks, (*ranks[1:], ()), strict=True):
        found |= dict.fromkeys(rank, far)
        clear, rows = [style.JOIN_STEP], [at[pair[side]] for pair in behind]
        for pair in rank:
            y, end = at[pair[side]], to[pair[1 - side]]
            passed = [abs(row - y) for row in rows if min(y, end) < row < max(y, end)]
            if passed:
                clear.append(_reached(bends[pair], max(passed) + style.AXIS_GAP / 2))
        far += max(clear)
    return found


def _reached(bend: float, part: float) -> float:
    """Returns how far along a bending wire a share of the bend is done."""
    low, high = 0.0, 1.0
    for _ in range(12):
        t = (low + high) / 2
        low, high = (t, high) if bend * (3 - 2 * t) * t * t < part else (low, t)
    return bend_width(bend) * low * (1.5 - 1.5 * low + low * low)


def room(pairs: Sequence[Pair], side: int, at: Sequence[float], to: Sequence[float]) -> float:
    """Returns the width that these wires need from the edge where their dots are."""
    far = dots(pairs, side, at, to)
    return max([x + bend_width(to[p[1 - side]] - at[p[side]]) for p, x in far.items()], default=0.0)


def inset(far: Mapping[Pair, float]) -> float:
    """Returns where wires with dots at these distances may bend."""
    return max(far.values(), default=0.0)


def _go_on(canvas: Canvas) -> None:
    """Draws the passing wires: level at their dots, and where they pass the marks."""
    glyph, ins, outs = canvas.glyph, canvas.ins, canvas.outs
    wires = [(ins[i], outs[o]) for i, o in glyph.through]
    if all(a == b for a, b in wires):
        canvas.level = canvas.x0
        for (i, o), (y, _) in zip(glyph.through, wires, strict=True):
            level = line(Point(canvas.x0, y), Point(canvas.x1, y))
            canvas.tails[i], canvas.heads[o] = (level,), ()
        return
    early = [split for split in glyph.splits if split[0] not in canvas.late]
    x0 = canvas.x0 + inset(dots(early, 0, ins, outs))
    x1 = canvas.x1 - canvas.later - inset(dots(glyph.joins, 1, outs, ins))
    match canvas.side:
        case "behind":
            x0 = max(x0, min(canvas.x0 + canvas.wide, canvas.x1))
        case "before":
            x1 = min(x1, max(canvas.x1 - canvas.wide, canvas.x0))
    if glyph.joins:  # joining wires cross these only where they are level
        x1 = min(x1, x0 + crossing_width(wires)) if crossing_width(wires) else x1
        canvas.level = x1 if crossing_width(wires) else canvas.x0
    for (i, o), path in zip(glyph.through, cross_wires(wires, x0, x1), strict=True):
        start = line(Point(canvas.x0, ins[i]), Point(x0, ins[i]))
        stop = line(Point(x1, outs[o]), Point(canvas.x1, outs[o]))
        canvas.tails[i], canvas.heads[o] = (start, *path, stop), ()


def _split(canvas: Canvas) -> None:
    """Draws copies that leave a wire at dots; the wire itself may continue or not."""
    glyph, goes = canvas.glyph, dict(canvas.glyph.through)
    last = [split for split in glyph.splits if split[0] in canvas.late]
    early = [split for split in glyph.splits if split[0] not in canvas.late]
    rows = {**dict(enumerate(canvas.ins)), **{i: canvas.outs[goes[i]] for i, _ in last}}
    edge = canvas.x1 - canvas.later
    for pairs, x0, x1 in ((early, canvas.x0, edge), (last, edge, canvas.x1)):
        at = [rows[i] for i in range(len(canvas.ins))]
        far = dots(pairs, 0, at, canvas.outs)
        end = canvas.x1 - canvas.wide if canvas.side == "before" else x1
        for i, o in pairs:
            dot, to = Point(x0 + far[i, o], at[i]), canvas.outs[o]
            turn = max(end, dot.x)
            if len(set(far.values())) > 1:  # it makes way for the next one
                turn = min(turn, dot.x + bend_width(to - dot.y))
            level = line(Point(turn, to), Point(canvas.x1, to))
            canvas.heads[o] = (away(dot, Point(turn, to)), level)
            if i not in goes:
                canvas.tails[i] = (line(Point(canvas.x0, dot.y), dot),)
            canvas.dot(dot)


def _join(canvas: Canvas) -> None:
    """Draws wires that join others at dots."""
    far = dots(canvas.glyph.joins, 1, canvas.outs, canvas.ins)
    for i, o in canvas.glyph.joins:
        dot, y = Point(canvas.x1 - far[i, o], canvas.outs[o]), canvas.ins[i]
        turn = canvas.x0 + canvas.wide if canvas.side == "behind" else canvas.x0
        turn = min(max(turn, canvas.level), dot.x - style.STUB)
        if len(set(far.values())) > 1:
            turn = max(turn, dot.x - bend_width(dot.y - y))
        level = line(Point(canvas.x0, y), Point(turn, y))
        canvas.tails[i] = (level, away(dot, level.d).back)
        canvas.dot(dot)


def away(dot: Point, end: Point) -> Curve:
    """Returns a curve from a dot that leaves its wire as soon as possible."""
    way = end.x - dot.x
    b, c = Point(dot.x + style.LEAVE * way, dot.y), Point(dot.x + way / 2, end.y)
    return line(dot, end) if dot.y == end.y else Curve(dot, b, c, end)
