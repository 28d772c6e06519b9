"""The wires inside an op: they meet, split, bend and cross, cut where something is in the way.

A contraction is a cap: two wires that meet, or more that meet in a spine. Caps of one op are nested
or apart. A wire that joins a continuing one goes to a dot on it, before the others change rows or
after that, whichever gives fewer crossings.

Orders without a triple of wires that all cross each other need one sweep. Otherwise neighbours
change places in rounds (odd-even transposition sort): each pair that must cross does so once.

An op gets a range of x. Its glyph says where each input wire ends and each output wire begins;
other wires run through, level at both ends.

An arrow leaves each nest of caps, through all of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from math import ceil
from typing import Literal

from fontTools.misc.bezierTools import splitCubicAtT

from ncd.drawing.elements import style
from ncd.drawing.elements.labels import Label
from ncd.drawing.elements.primitives import (
    QUARTER,
    Curve,
    Dot,
    Outline,
    Path,
    Point,
    Rectangle,
    Text,
    line,
    polygon,
    s_curve,
)
from ncd.language.op import Glyph, Ports

# --- The points where the wires of a contraction meet


def fall_width(bend: float) -> float:
    """Returns the width that a wire needs to go down behind a contraction."""
    return min(style.FALLS, style.FALL + style.STEEP * bend)


@lru_cache(maxsize=4096)
def chains(glyph: Glyph) -> tuple[Ports, ...]:
    """Returns the ports of each contraction: two of one array, or one of each of several arrays."""
    found: dict[int, Ports] = {}
    for i, j in sorted(glyph.caps):
        found[j] = (*found.pop(i, (i,)), j)
    return tuple(found.values())


@dataclass(frozen=True)
class Cap:
    """A cap: its ports from top to bottom, its first and last row, and the x of its apex."""

    ports: tuple[int, ...]
    upper: float
    lower: float
    apex: float

    @property
    def middle(self) -> float:
        return (self.upper + self.lower) / 2

    def encloses(self, y: float) -> bool:
        return self.upper < y < self.lower


@dataclass(frozen=True)
class Contraction:
    """The meetings inside an op: caps, the innermost first, and the x at which each wire joins.

    ``end`` is the x of the last apex, ``bend_start`` the x from which continuing wires may bend;
    both from where the wires arrive. ``joining_wires`` are the wires that join after it.
    """

    caps: tuple[Cap, ...]
    falls: Mapping[int, float]
    end: float
    bend_start: float
    joining_wires: Sequence[int]

    @property
    def behind(self) -> float:
        """The width for the wires that join last."""
        if not self.joining_wires:
            return 0.0
        return style.JOIN_RADIUS + style.JOIN_STEP * (len(self.joining_wires) - 1) + style.DOT_INSET


def contracts(glyph: Glyph) -> bool:
    """Returns whether wires of an op meet before others bend: in caps, or at dots of no sum."""
    return bool(glyph.caps or (glyph.joins and not any(mark.outs for mark in glyph.marks)))


def contraction(glyph: Glyph, rows: Sequence[float], outs: Sequence[float]) -> Contraction:
    """Returns where wires meet that arrive in ``rows`` and continue in ``outs``."""
    last = _joins_last(glyph, rows, outs) if glyph.joins else ()
    strung = sorted(chains(glyph), key=lambda ports: _span(rows, ports))
    joining = [i for i in _joining(glyph, rows) if i not in last]
    inner = [i for i in joining if any(_is_between(rows, i, ports) for ports in strung)]
    begin = style.CAP_LEAD + style.JOIN_STEP * max(0, len(inner) - 1)
    falls = {
        i: begin + style.JOIN_IN + style.JOIN_STEP * (n + 1 - len(inner))
        for n, i in enumerate(inner)
    }
    found: list[tuple[int, Cap]] = []
    for ports in strung:
        upper, lower = min([rows[i] for i in ports]), max([rows[i] for i in ports])
        met = [n for n, cap in found if cap.upper < lower and upper < cap.lower]
        level = max(met, default=-1) + 1
        apex = begin + style.CAP_RADIUS[1] + style.CAP_NEST * level
        found.append((level, Cap(ports, upper, lower, apex)))
    end = max([cap.apex for _, cap in found], default=0.0)
    first = end + (style.CAP_STEM + style.JOIN if strung else style.JOIN_TURN)
    outer = [i for i in joining if i not in inner]
    falls |= {i: first + style.JOIN_STEP * n for n, i in enumerate(outer)}
    free = max(end + style.CAP_CLEAR, max(falls.values(), default=0.0) + style.DOT_INSET)
    return Contraction(tuple([cap for _, cap in found]), falls, end, free, last)


def _joining(glyph: Glyph, rows: Sequence[float]) -> list[int]:
    """Returns the wires that join others: falling ones from the lowest up, then rising ones."""
    source = {o: i for i, o in glyph.through}
    falls = {i: rows[i] < rows[source[o]] for i, o in glyph.joins}
    return sorted(falls, key=lambda i: (not falls[i], -rows[i] if falls[i] else rows[i]))


def _joins_last(glyph: Glyph, ins: Sequence[float], outs: Sequence[float]) -> list[int]:
    """Returns the wires that cross fewer others if they join after these are in their rows."""
    strung, found = chains(glyph), []
    ways = [(ins[i], outs[o]) for i, o in glyph.through]
    came = {o: ins[i] for i, o in glyph.through}
    for i, o in glyph.joins:
        y, early, late = ins[i], came[o], outs[o]
        first = sum([min(y, early) < a < max(y, early) for a, _ in ways])
        then = sum([(a < y) != (b < y) or min(y, late) < b < max(y, late) for a, b in ways])
        away = abs(late - y) > style.AXIS_GAP / 2
        if then < first and away and not any(_is_between(ins, i, ports) for ports in strung):
            found.append(i)
    return [i for i in _joining(glyph, ins) if i in found]


def _span(rows: Sequence[float], ports: Sequence[int]) -> float:
    return max([rows[i] for i in ports]) - min([rows[i] for i in ports])


def _is_between(rows: Sequence[float], port: int, ports: Sequence[int]) -> bool:
    return min([rows[i] for i in ports]) < rows[port] < max([rows[i] for i in ports])


# --- Cuts lines where something stands in their way

CELL = 128.0  # the width of the columns that index obstacles
STEP = 4.0  # the distance of the points at which a bending line is checked
PARTS = 8  # boxes that cover a bending wire

_Sides = tuple[float, float, float, float]


_Thing = tuple[_Sides, Curve | None]  # a box, or the box around a wire that bends


def _parts(thing: _Thing) -> Iterator[_Sides]:
    """Yields the boxes around the parts of an obstacle."""
    sides, bends = thing
    if bends is None:
        yield sides
        return
    points = [bends.point_at(n / PARTS) for n in range(PARTS + 1)]
    for (x0, a), (x1, b) in pairwise(points):
        yield _with_dash_room(x0, min(a, b), x1, max(a, b))


class ObstacleGrid:
    """The obstacles of a page: boxes and wires, except those within some ``spans`` of x.

    >>> from ncd.drawing.elements.primitives import line
    >>> ground = ObstacleGrid([Rectangle(40, 0, 60, 20)], [])
    >>> [round(p[-1].d.x) for p in ground.clear((line(Point(0, 9), Point(100, 9)),))]
    [36, 100]
    """

    def __init__(
        self,
        boxes: Iterable[Rectangle],
        wires: Iterable[Path],
        spans: Sequence[tuple[float, float]] = (),
    ) -> None:
        self.cells: dict[int, list[_Thing]] = defaultdict(list)
        lefts = [left for left, _ in spans]
        for box in boxes:
            if not (lefts and _is_in_span(box.x0, box.x1, lefts, spans)):
                self.add(_with_dash_room(*box), None)
        for path in wires:
            for curve in path:
                (x0, a), (_, b), (_, c), (x1, d) = curve
                if lefts and _is_in_span(x0, x1, lefts, spans):
                    continue
                if a == b == c == d:
                    self.add(_with_dash_room(x0, a, x1, a), None)
                else:
                    self.add(_with_dash_room(x0, min(a, b, c, d), x1, max(a, b, c, d)), curve)

    def add(self, sides: _Sides, bends: Curve | None) -> None:
        thing = sides, bends
        for n in range(int(sides[0] // CELL), int(sides[2] // CELL) + 1):
            self.cells[n].append(thing)

    def obstacles_near(self, curve: Curve) -> Iterator[_Sides]:
        """Yields the obstacles that may touch a curve."""
        left, right = curve.a.x, curve.d.x
        top, bottom = min(curve.a.y, curve.d.y), max(curve.a.y, curve.d.y)
        for n in range(int(left // CELL), int(right // CELL) + 1):
            for thing in self.cells.get(n, ()):
                x0, y0, x1, y1 = thing[0]
                if x0 < right and left < x1 and y0 < bottom and top < y1:
                    yield from _parts(thing)

    def clear(self, path: Path) -> Iterator[Path]:
        """Yields the longest piece of a line without obstacles, and others that are no stubs."""
        pieces: list[list[Curve]] = []
        for curve in path:
            for start, stop in _stretches(curve, [*self.obstacles_near(curve)]):
                part = _part(curve, start, stop)
                if not pieces or pieces[-1][-1].d != part.a:
                    pieces.append([])
                pieces[-1].append(part)
        longest = max(map(_length, pieces), default=0.0)
        least = min(style.DASH_STUB, max(style.DASH_LEAST, longest))
        yield from (tuple(piece) for piece in pieces if _length(piece) >= least)


def _is_in_span(
    x0: float, x1: float, lefts: Sequence[float], spans: Sequence[tuple[float, float]]
) -> bool:
    """Returns whether a range lies in one of the spans, which begin at ``lefts``."""
    n = bisect_right(lefts, x0) - 1
    return n >= 0 and x1 <= spans[n][1]


def _with_dash_room(x0: float, y0: float, x1: float, y1: float) -> _Sides:
    by = style.DASH_FREE
    return x0 - by, y0 - by, x1 + by, y1 + by


def _stretches(curve: Curve, near: list[_Sides]) -> Iterator[tuple[float, float]]:
    """Yields the free ranges of a curve, as shares of its length."""
    if not near:
        yield 0.0, 1.0
    elif curve.is_horizontal:
        yield from _level_free_ranges(curve, near)
    else:
        yield from _bend_free_ranges(curve, near)


def _level_free_ranges(curve: Curve, near: list[_Sides]) -> Iterator[tuple[float, float]]:
    (left, y), right = curve.a, curve.d.x
    taken = sorted((x0, x1) for x0, y0, x1, y1 in near if y0 < y < y1)
    free = left
    for x0, x1 in (*taken, (right, right)):
        if min(x0, right) > free:  # a part of a wire that bends may lie behind the curve
            yield (free - left) / (right - left), (min(x0, right) - left) / (right - left)
        free = max(free, x1)


def _bend_free_ranges(curve: Curve, near: list[_Sides]) -> Iterator[tuple[float, float]]:
    count = ceil(max(curve.d.x - curve.a.x, abs(curve.d.y - curve.a.y)) / STEP)
    start = last = -1
    for n in range(count + 1):
        x, y = curve.point_at(n / count)
        if any(x0 < x < x1 and y0 < y < y1 for x0, y0, x1, y1 in near):
            if -1 < start < last:
                yield start / count, last / count
            start = -1
        else:
            start, last = (n, n) if start < 0 else (start, n)
    if -1 < start < last:
        yield start / count, 1.0


def _part(curve: Curve, start: float, stop: float) -> Curve:
    cuts = [t for t in (start, stop) if 0 < t < 1]
    if not cuts:
        return curve
    part = splitCubicAtT(*curve, *cuts)[1 if start else 0]
    a, b, c, d = (Point(*point) for point in part)
    return Curve(a if start else curve.a, b, c, curve.d if stop == 1 else d)


def _length(piece: Sequence[Curve]) -> float:
    return piece[-1].d.x - piece[0].a.x


# --- Routes wires that change their order so that they cross in pairs, never three in one point

Wires = tuple[tuple[float, float], ...]  # the y at which each begins and ends


def crossing_width(wires: Sequence[tuple[float, float]]) -> float:
    """Returns the width that wires need to change their rows."""
    bend = max([abs(b - a) for a, b in wires], default=0.0)
    if bend < style.LEVEL_TOLERANCE:
        return 0.0
    order = sorted(wires)
    cross = any(one[1] > two[1] for one, two in pairwise(order))
    sweep = style.BEND + (style.CROSS if cross else style.SLOPE) * bend
    return max(min(style.BENDS, sweep), sum(_widths(tuple(wires))))


def cross_wires(wires: Sequence[tuple[float, float]], x0: float, x1: float) -> list[Path]:
    """Returns a path for each wire from x0 to x1, level at both ends."""
    widths = _widths(tuple(wires))
    if not widths:
        return [(s_curve(Point(x0, a), Point(x1, b)),) for a, b in wires]
    scale, xs = (x1 - x0) / sum(widths), [x0]
    for wide in widths:
        xs.append(xs[-1] + scale * wide)
    slots = _rounds(tuple(wires))
    return [_smooth([Point(xs[r], y) for r, y in wire]) for wire in slots]


@lru_cache(maxsize=1024)
def _widths(wires: Wires) -> tuple[float, ...]:
    """Returns the width of each round, so that every crossing has a visible angle."""
    states, (least, most) = _states(wires), style.CROSSING
    rows = _levels(wires, len(states)) if states else []
    found = []
    for r, (now, then) in enumerate(pairwise(states)):
        moves = [rows[r][k + 1] - rows[r][k] for k in range(len(now) - 1) if now[k] == then[k + 1]]
        found.append(min(max(least, style.CROSSING_ANGLE * max(moves, default=0.0)), most))
    return tuple(found)


@lru_cache(maxsize=1024)
def _rounds(wires: Wires) -> tuple[tuple[tuple[int, float], ...], ...]:
    """Returns between which rounds each wire turns, and in which row."""
    states = _states(wires)
    rows, last = _levels(wires, len(states)), len(states) - 1
    found: list[tuple[tuple[int, float], ...]] = []
    for n in range(len(wires)):
        at = [state.index(n) for state in states]
        turns = [r for r in range(1, last) if not at[r - 1] == at[r] == at[r + 1]]
        found.append(tuple((r, rows[r][at[r]]) for r in (0, *turns, last)))
    return tuple(found)


def _levels(wires: Wires, count: int) -> list[list[float]]:
    """Returns the rows between the rounds: those of the side on which wires are closer."""
    starts, stops = sorted(a for a, _ in wires), sorted(b for _, b in wires)
    closer = min(starts, stops, key=lambda rows: rows[-1] - rows[0])
    return [starts, *[closer] * (count - 2), stops]


@lru_cache(maxsize=1024)
def _states(wires: Wires) -> tuple[tuple[int, ...], ...]:
    """Returns the orders of the wires between the rounds; nothing if one sweep is enough."""
    order = sorted(range(len(wires)), key=lambda n: wires[n])
    goal = sorted(order, key=lambda n: wires[n][1])
    if not _has_triple_crossing([goal.index(n) for n in order]):
        return ()
    return min((_sorting_rounds(order, goal, odd) for odd in (0, 1)), key=len)


def _has_triple_crossing(places: Sequence[int]) -> bool:
    """Returns whether three wires all cross each other."""
    longest: list[int] = []
    for n, place in enumerate(places):
        longest.append(1 + max((longest[m] for m in range(n) if places[m] > place), default=0))
    return max(longest, default=0) > 2


def _sorting_rounds(
    order: Sequence[int], goal: Sequence[int], odd: int
) -> tuple[tuple[int, ...], ...]:
    """Returns the orders between rounds in which alternate pairs of neighbours change places."""
    states = [tuple(order)]
    while states[-1] != tuple(goal):
        now = list(states[-1])
        for k in range(odd, len(now) - 1, 2):
            if goal.index(now[k]) > goal.index(now[k + 1]):
                now[k], now[k + 1] = now[k + 1], now[k]
        odd = 1 - odd
        states.append(tuple(now))
    return tuple(state for n, state in enumerate(states) if n == 0 or state != states[n - 1])


def _smooth(points: Sequence[Point]) -> Path:
    """Returns a curve through points that stays between the rows of consecutive points."""
    slopes = [(b.y - a.y) / (b.x - a.x) for a, b in pairwise(points)]
    turns = [0.0, *(_slope(m, n) for m, n in pairwise(slopes)), 0.0]
    path = []
    for (a, b), (m, n) in zip(pairwise(points), pairwise(turns), strict=True):
        if a.y == b.y:
            path.append(line(a, b))
            continue
        reach = (b.x - a.x) / 2
        left = reach if not m else reach / 1.5
        right = reach if not n else reach / 1.5
        path.append(
            Curve(a, Point(a.x + left, a.y + m * left), Point(b.x - right, b.y - n * right), b)
        )
    return tuple(path)


def _slope(before: float, after: float) -> float:
    """Returns the gentler of two slopes of one direction; 0 where a wire turns."""
    return min(before, after, key=abs) if before * after > 0 else 0.0


def drop(a: Point, b: Point, radius: float) -> Path:
    """Returns a level path that turns a corner onto a wire from above or below."""
    way = b.y - a.y
    if not way:
        return (line(a, b),)
    rx, ry = radius, min(abs(way), radius) * (1 if way > 0 else -1)
    corner = Curve(
        Point(b.x - rx, a.y),
        Point(b.x - rx + QUARTER * rx, a.y),
        Point(b.x, a.y + (1 - QUARTER) * ry),
        Point(b.x, a.y + ry),
    )
    return (line(a, corner.a), corner, line(corner.d, b))


# --- The canvas on which one op is drawn

Side = Literal["", "before", "behind"]


@dataclass
class GlyphCanvas:
    """A glyph under construction: its range of x, the rows of its wires, and the drawn items.

    ``ins`` and ``outs`` are the rows of its wires at its marks; ``lead`` and ``trail`` are the
    paths of wires before and after the marks. ``row`` is its row if it has no wires, ``foreign``
    the rows of wires that pass over its marks. ``mark_width`` is the width of its widest mark;
    passing wires bend on ``side`` of it. ``incoming_cap_apex`` is the cap whose arrow ends here,
    ``stems`` are the arrows that leave its own caps, ``contraction`` is where its wires meet, and
    ``start`` the x from which they are in their rows. Copies of ``late`` wires leave in the last
    ``later`` of its width; wires join others from ``level`` on.
    """

    role: str
    glyph: Glyph
    x0: float
    x1: float
    ins: list[float]
    outs: list[float]
    row: float
    foreign: list[float]
    mark_width: float = 0.0
    side: Side = ""
    incoming_cap_apex: Point | None = None
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
    ink: list[Rectangle] = field(default_factory=list)
    hits: list[Rectangle] = field(default_factory=list)

    @property
    def middle(self) -> float:
        """The x of its marks: in the middle, or beside the bends of passing wires."""
        match self.side:
            case "behind":
                return self.x0 + self.mark_width / 2
            case "before":
                return self.x1 - self.mark_width / 2
        return (self.x0 + self.x1) / 2

    @property
    def top(self) -> float:
        """The row of its first wire, or its own."""
        return min([*self.ins, *self.outs], default=self.row)

    def tail(self, port: int, x: float, y: float | None = None) -> None:
        """Ends an input wire at (x, y)."""
        y0 = self.ins[port]
        self.tails[port] = (s_curve(Point(self.x0, y0), Point(x, y0 if y is None else y)),)

    def head(self, port: int, x: float, y: float | None = None) -> None:
        """Begins an output wire at (x, y)."""
        y1 = self.outs[port]
        self.heads[port] = (s_curve(Point(x, y1 if y is None else y), Point(self.x1, y1)),)

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
    ) -> Rectangle:
        """Draws a label with its middle at x and its baseline at y."""
        text = Text(label, Point(x - label.width / 2 if center else x, y), paint=paint)
        box = text.box
        self.items.append(text)
        self.ink.append(box)
        return box

    def shape(self, points: list[Point], paint: str, stroke: float = style.OUTLINE) -> None:
        """Draws a polygon."""
        self.items.append(Outline(polygon(points), paint, stroke))
        self.ink.append(Rectangle.from_points(points))

    def dot(self, at: Point) -> None:
        self.items.append(Dot(at, style.DOT))
        self.ink.append(Rectangle.from_center(at, style.DOT))

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


# --- Draws how wires meet, split and bend inside an op


def bend_width(bend: float) -> float:
    """Returns the width that a wire needs to move up or down by ``bend``."""
    return (
        0.0
        if abs(bend) < style.LEVEL_TOLERANCE
        else min(style.BENDS, style.BEND + style.SLOPE * abs(bend))
    )


# --- contractions --------------------------------------------------------------------------------


def draw_wires(canvas: GlyphCanvas) -> None:
    """Draws the wires that continue, meet or split."""
    if canvas.contraction:
        _contract(canvas, canvas.contraction)
    else:
        _go_on(canvas)
        if canvas.glyph.splits:
            _split(canvas)
        if canvas.glyph.joins:
            _join(canvas)


def stems(canvas: GlyphCanvas, taken: bool) -> None:
    """Draws an arrow from each nest of caps; a factor may have taken the first one."""
    for start, tip in canvas.stems[taken:]:
        canvas.stroke(start, Point(tip.x - style.ARROW, tip.y))
        canvas.arrow_head(tip)


def _contract(canvas: GlyphCanvas, met: Contraction) -> None:
    glyph, rows, last = canvas.glyph, canvas.ins, met.joining_wires
    free, stop = canvas.start + met.bend_start, canvas.x1 - met.behind
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


def _cap(canvas: GlyphCanvas, cap: Cap) -> None:
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
    canvas.hits.append(Rectangle(left, cap.upper, apex, cap.lower))


def _stems(x: float, caps: Sequence[Cap]) -> list[tuple[Point, Point]]:
    """Returns the apex at which each arrow starts, and its end."""
    found: list[tuple[Point, Point]] = []
    served: list[Cap] = []
    for cap in caps:
        if cap not in served:
            nest = [other for other in caps if other.encloses(cap.middle)]
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
                clear.append(_bend_distance(bends[pair], max(passed) + style.AXIS_GAP / 2))
        far += max(clear)
    return found


def _bend_distance(bend: float, part: float) -> float:
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


def _go_on(canvas: GlyphCanvas) -> None:
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
            x0 = max(x0, min(canvas.x0 + canvas.mark_width, canvas.x1))
        case "before":
            x1 = min(x1, max(canvas.x1 - canvas.mark_width, canvas.x0))
    if glyph.joins:  # joining wires cross these only where they are level
        x1 = min(x1, x0 + crossing_width(wires)) if crossing_width(wires) else x1
        canvas.level = x1 if crossing_width(wires) else canvas.x0
    for (i, o), path in zip(glyph.through, cross_wires(wires, x0, x1), strict=True):
        start = line(Point(canvas.x0, ins[i]), Point(x0, ins[i]))
        stop = line(Point(x1, outs[o]), Point(canvas.x1, outs[o]))
        canvas.tails[i], canvas.heads[o] = (start, *path, stop), ()


def _split(canvas: GlyphCanvas) -> None:
    """Draws copies that leave a wire at dots; the wire itself may continue or not."""
    glyph, goes = canvas.glyph, dict(canvas.glyph.through)
    last = [split for split in glyph.splits if split[0] in canvas.late]
    early = [split for split in glyph.splits if split[0] not in canvas.late]
    rows = {**dict(enumerate(canvas.ins)), **{i: canvas.outs[goes[i]] for i, _ in last}}
    edge = canvas.x1 - canvas.later
    for pairs, x0, x1 in ((early, canvas.x0, edge), (last, edge, canvas.x1)):
        at = [rows[i] for i in range(len(canvas.ins))]
        far = dots(pairs, 0, at, canvas.outs)
        end = canvas.x1 - canvas.mark_width if canvas.side == "before" else x1
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


def _join(canvas: GlyphCanvas) -> None:
    """Draws wires that join others at dots."""
    far = dots(canvas.glyph.joins, 1, canvas.outs, canvas.ins)
    for i, o in canvas.glyph.joins:
        dot, y = Point(canvas.x1 - far[i, o], canvas.outs[o]), canvas.ins[i]
        turn = canvas.x0 + canvas.mark_width if canvas.side == "behind" else canvas.x0
        turn = min(max(turn, canvas.level), dot.x - style.STUB)
        if len(set(far.values())) > 1:
            turn = max(turn, dot.x - bend_width(dot.y - y))
        level = line(Point(canvas.x0, y), Point(turn, y))
        canvas.tails[i] = (level, away(dot, level.d).reversed)
        canvas.dot(dot)


def away(dot: Point, end: Point) -> Curve:
    """Returns a curve from a dot that leaves its wire as soon as possible."""
    way = end.x - dot.x
    b, c = Point(dot.x + style.LEAVE * way, dot.y), Point(dot.x + way / 2, end.y)
    return line(dot, end) if dot.y == end.y else Curve(dot, b, c, end)
