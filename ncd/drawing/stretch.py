"""The stretch of an op: how much x it wants, and its canvas.

From left to right: wires change places so that those of a mark or a cap are neighbours, the marks
and caps stand, and wires change back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from ncd.drawing import style
from ncd.drawing.canvas import Canvas, Side
from ncd.drawing.data import Path, Point, line
from ncd.drawing.gather import left, reached
from ncd.drawing.knots import fall_width, joins_last, knot, knotted, last_room
from ncd.drawing.marks import foreign, in_marks, mark_bend, mark_width, side
from ncd.drawing.plan import Unit
from ncd.drawing.strands import bend_width, dots, inset, room
from ncd.drawing.weave import weave, weave_width


def width(unit: Unit, ins: Sequence[float], outs: Sequence[float]) -> float:
    """How much x an op wants whose wires come in, and go out, in these rows."""
    unit = _levelled(unit, ins, outs)
    at, to = reached(unit, ins), left(unit, outs)
    before, behind = weave_width(_come(unit, ins, at)), weave_width(_pairs(to, outs))
    return before + _inner(unit, at, to) + behind


def _pairs(a: Sequence[float], b: Sequence[float]) -> list[tuple[float, float]]:
    return list(zip(a, b, strict=True))


def _come(unit: Unit, ins: Sequence[float], at: Sequence[float]) -> list[tuple[float, float]]:
    """From where to where the wires change places, of those that don't end before that."""
    ended = in_marks(unit.glyph)[0] if knotted(unit.glyph) else set()
    return [pair for i, pair in enumerate(_pairs(ins, at)) if i not in ended]


def _inner(unit: Unit, ins: Sequence[float], outs: Sequence[float]) -> float:
    glyph, wide = unit.glyph, mark_width(unit.glyph)
    wires = [(ins[i], outs[o]) for i, o in glyph.through]
    if knotted(glyph):
        last = joins_last(glyph, ins, outs)
        met = knot(glyph, ins, wide, last)
        bend = max((abs(b - a) for a, b in wires), default=0.0)
        fall = max(fall_width(bend) - style.CAP_CLEAR, weave_width(wires)) if bend else 0.0
        return max(met.end + style.CAP_WAY, met.free + fall + last_room(last))
    early = [split for split in glyph.splits if split[0] not in late(unit)]
    before, behind = inset(dots(early, 0, ins, outs)), inset(dots(glyph.joins, 1, outs, ins))
    rooms = [before + weave_width(wires) + behind]
    bend = mark_bend(glyph, ins, outs)
    rooms += [bend_width(bend) + style.BAR[2]] if bend else []
    rooms += [room(early, 0, ins, outs) + behind, before + room(glyph.joins, 1, outs, ins)]
    rooms[-1] += weave_width(wires) if glyph.joins else 0.0
    most = max(rooms) + _later(unit, outs)
    return wide + most if side(glyph) else max(wide, most)


def _levelled(unit: Unit, ins: Sequence[float], outs: Sequence[float]) -> Unit:
    """With the copy that is level going on, where the one that does would bend."""
    glyph = unit.glyph
    if not glyph.splits or glyph.marks:
        return unit
    goes = {i: o for i, o in glyph.through if abs(outs[o] - ins[i]) > style.STILL}
    level = {i: o for i, o in glyph.splits if i in goes and abs(outs[o] - ins[i]) < style.STILL}
    if not level:
        return unit
    through = tuple((i, level.get(i, o)) for i, o in glyph.through)
    splits = tuple((i, goes[i] if level.get(i) == o else o) for i, o in glyph.splits)
    return replace(unit, glyph=replace(glyph, through=through, splits=splits))


def late(unit: Unit) -> frozenset[int]:
    """The wires whose copies leave them last, as fewer cross then: those of others cross first."""
    glyph = unit.glyph
    if not glyph.splits or glyph.marks:
        return frozenset()
    above = {unit.ins.index(port): n for n, port in enumerate(unit.in_places) if port in unit.ins}
    below = {unit.outs.index(p): n for n, p in enumerate(unit.out_places) if p in unit.outs}
    pairs = (*glyph.through, *glyph.splits)
    ways = [(unit.ins[i][0], above[i], below[o]) for i, o in pairs]
    goes = {i: below[o] for i, o in glyph.through}
    first: Counter[str] = Counter()
    then: Counter[str] = Counter()
    for i, o in glyph.splits:
        if i in goes:
            id, at, to = unit.ins[i][0], above[i], below[o]
            low, high = sorted((goes[i], to))
            others = [way[1:] for way in ways if way[0] != id]
            first[id] += sum((a < at) != (b < to) for a, b in others)
            then[id] += sum(low < b < high for _, b in others)
    order = [below[o] for _, o in sorted((above[i], o) for i, o in glyph.through)]
    tangled = order != sorted(order) or any(then.values())
    ids = {id for id, n in then.items() if n < first[id] or (tangled and not n)}
    return frozenset(i for i, _ in glyph.splits if unit.ins[i][0] in ids)


def _later(unit: Unit, outs: Sequence[float]) -> float:
    """The room for the copies that leave last."""
    goes = dict(unit.glyph.through)
    last = [split for split in unit.glyph.splits if split[0] in late(unit)]
    at = [outs[goes[i]] if i in goes else 0.0 for i in range(len(unit.ins))]
    return room(last, 0, at, outs)


def free(unit: Unit, ins: Sequence[float]) -> float:
    """How far from the left of a contraction arrays beside it may bend."""
    at = reached(unit, ins)
    before = weave_width(_come(unit, ins, at))
    return before + knot(unit.glyph, at, mark_width(unit.glyph)).end + style.CAP_CLEAR


def canvas(
    unit: Unit,
    role: str,
    x: tuple[float, float],
    ins: Sequence[float],
    outs: Sequence[float],
    row: float,
    apex: Point | None,
) -> Canvas:
    """The canvas of an op between two x, whose wires come in and go out in these rows."""
    unit = _levelled(unit, ins, outs)
    glyph, at, to = unit.glyph, reached(unit, ins), left(unit, outs)
    come, go = _come(unit, ins, at), _pairs(to, outs)
    wide, knots = mark_width(glyph), knotted(glyph)
    begin = x[0] + wide if knots else x[0]  # where wires change places: marks stand before caps
    start, x1 = begin + weave_width(come), x[1] - weave_width(go)
    woven = iter(weave(come, begin, start) if start > begin else [])
    ended = in_marks(glyph)[0] if knots else set()
    lead: list[Path] = [() if i in ended else next(woven, ()) for i in range(len(ins))]
    if knots:
        level = [line(Point(x[0], y), Point(begin, y)) for y in ins]
        lead = [() if i in ended else (level[i], *path) for i, path in enumerate(lead)]
    bends: Side = side(glyph)
    if not (unit.inputs and unit.outputs):  # wires beside it bend on this side of it
        bends = "behind" if unit.inputs else "before"
    return Canvas(
        role=role,
        glyph=glyph,
        x0=x[0] if knots else start,
        start=start,
        x1=x1,
        ins=at,
        outs=to,
        row=row,
        foreign=foreign(glyph, at, to),
        wide=wide,
        side=bends,
        apex=apex,
        lead=lead,
        late=late(unit),
        later=_later(unit, to),
        trail=weave(go, x1, x[1]) if x1 < x[1] else [],
    )
