"""Rules for wires and separators: continuous, apart, on nothing foreign, no needless crossing.

An op's stretch is a disc with the ends of its wires around it: inputs at the left, outputs at the
right. Wires that meet at a dot, in a cap or at a mark form a star. Two stars cross as often as the
order of their ends requires, wherever their centres are.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from itertools import combinations, pairwise

import numpy as np

from ncd.drawing.elements.plan_columns import PlanItem
from ncd.drawing.elements.primitives import Dot, DrawnGlyph, DrawnWire, Point, Rectangle
from ncd.drawing.lint.flat_drawing import (
    DrawingArrays,
    Indices,
    Numbers,
    as_boxes,
    distinct,
    meeting,
    piercing,
)
from ncd.drawing.marks.marks import in_marks
from ncd.words import list_words

# --- The least crossings that an op needs to route its wires

_End = tuple[str, int]
_Star = list[tuple[int, str]]


def min_unit_crossings(unit: PlanItem) -> int:
    """Returns how often wires of an op must cross in the best drawing.

    >>> from ncd.drawing.plan.build_plan import plan
    >>> from ncd import Axes, Einsum, elaborate
    >>> term = Axes(a=2, b=3, c=4)(Einsum("a b c -> c b a"))
    >>> min_unit_crossings(plan(elaborate(term)).steps[0][0])
    3
    """
    around = _circle_indexes(unit)
    stars = [sorted((around[end], end[0]) for end in star) for star in _stars(unit)]
    return sum(_star_crossing_count(a, b) for a, b in combinations(stars, 2))


def _circle_indexes(unit: PlanItem) -> dict[_End, int]:
    """Returns the index of each wire's end on the circle around the op."""
    ins = {port: n for n, port in enumerate(unit.ins)}
    outs = {port: n for n, port in enumerate(unit.outs)}
    left = [("in", ins[port]) for port in unit.in_places if port in ins]
    right = [("out", outs[port]) for port in unit.out_places if port in outs]
    return {end: n for n, end in enumerate([*left, *reversed(right)])}


def _stars(unit: PlanItem) -> list[list[_End]]:
    """Returns the groups of wire ends that meet."""
    glyph = unit.glyph
    star: dict[_End, set[_End]] = {}
    pairs = [(("in", i), ("out", o)) for i, o in (*glyph.through, *glyph.joins, *glyph.splits)]
    pairs += [(("in", i), ("in", j)) for i, j in glyph.caps]
    ended, begun = in_marks(glyph)
    for mark in glyph.marks:
        ends = [("in", i) for i in mark.ins if i in ended]
        ends += [("out", o) for o in mark.outs if o in begun]
        pairs += pairwise(ends)
    for a, b in pairs:
        joined = star.get(a, {a}) | star.get(b, {b})
        star |= dict.fromkeys(joined, joined)
    return [list(ends) for ends in {id(ends): ends for ends in star.values()}.values()]


def _star_crossing_count(one: _Star, two: _Star) -> int:
    """Returns how often two stars must cross."""
    sectors = [sum(place < leg for place, _ in two) % len(two) for leg, _ in one]
    return min(
        sum(_passed_leg_count(two, middle, s) for s in sectors) for middle in range(len(two))
    )


def _passed_leg_count(star: _Star, a: int, b: int) -> int:
    """Returns how many legs lie between two sectors of a star, on the allowed way round."""
    low, high = sorted((a, b))
    ways = (star[low:high], star[high:] + star[:low])
    plain = [way for way in ways if len({side for _, side in way}) < 2]
    return min(len(way) for way in plain or ways)


# --- Lint rules for wires: continuous, on nothing foreign, and apart from each other

NEAR_MARK = 9.0  # units between the end of a wire and its mark
ALONG, ONTO = 6.0, 40.0  # units that wires may run along each other; near a dot
STEEP = 2.5  # the slope from which a bend is a hook
SHORT, LONG = 8.0, 40.0  # bends that are lower, or longer, are no hooks
STEM = 20.0  # units behind a cap in which no other wire of its op continues


def check_continuity(flat: DrawingArrays) -> Iterator[str]:
    """Checks that every wire is continuous, from the op that makes it to the op that takes it."""
    meet = _Meet(flat)
    for wire in flat.drawing.wires:
        name = f"wire {wire.axis} of {wire.array}"
        if not wire.path:
            yield f"{name} is not drawn"
            continue
        if any(check_spacing(a.d, b.a) for a, b in pairwise(wire.path)):
            yield f"{name} has a gap"
        if any(c.d.x < c.a.x - 0.01 for c in wire.path):
            yield f"{name} runs backwards"
        for what in meet.describe_loose_ends(wire):
            yield f"{name} {what}"


class _Meet:
    """The points where wires begin and end at each op."""

    def __init__(self, flat: DrawingArrays) -> None:
        self.glyphs = flat.glyphs
        self.starts: dict[str, list[Point]] = defaultdict(list)
        self.ends: dict[str, list[Point]] = defaultdict(list)
        for wire in flat.drawing.wires:
            if wire.path:
                self.starts[wire.made_by].append(wire.path[0].a)
                self.ends[wire.taken_by].append(wire.path[-1].d)

    def describe_loose_ends(self, wire: DrawnWire) -> Iterator[str]:
        """Yields ends of a wire that are not at its op, nor where another wire continues it.

        An end that the op's glyph declares open is allowed.
        """
        for node, at, what, others in (
            (wire.made_by, wire.path[0].a, "begins", self.ends),
            (wire.taken_by, wire.path[-1].d, "ends", self.starts),
        ):
            if node not in self.glyphs or what in wire.open_ends:
                continue
            meets = any(not check_spacing(at, other) for other in others[node])
            touches = _is_on_ink(self.glyphs[node], at, NEAR_MARK)
            capped = sum(not check_spacing(at, other) for other in self.ends[node]) > 1
            if not (meets or touches or capped):
                yield f"{what} in the open, at {at.x:.0f}, {at.y:.0f}"


def check_slopes(flat: DrawingArrays) -> Iterator[str]:
    """Checks that no wire changes its height within too little x, as in a hook."""
    for wire in flat.drawing.wires:
        for a, b, c, d in wire.path:
            level, way = a.y == b.y and c.y == d.y, d.x - a.x
            if level and way < LONG and abs(d.y - a.y) > max(SHORT, STEEP * way):
                yield f"wire {wire.axis} of {wire.array} makes a hook, at {a.x:.0f}, {a.y:.0f}"


def on_glyphs(flat: DrawingArrays) -> Iterator[str]:
    """Checks that no wire lies on a mark of an op that neither takes nor makes it."""
    ink, of = flat.ink
    i, j = piercing(flat.wires, ink)
    for w, g in distinct(flat.wires.path_index[i], of[j]):
        wire, glyph = flat.drawing.wires[w], flat.drawing.glyphs[g]
        if glyph.node not in (wire.made_by, wire.taken_by):
            yield (
                f"wire {wire.axis} of {wire.array} lies on the glyph of {glyph.node}"
                f" ({glyph.description})"
            )


def check_overlaps(flat: DrawingArrays) -> Iterator[str]:
    """Checks that no two wires run along each other, except just before a dot."""
    pieces, (i, j) = flat.wires, flat.nearby_segments
    far = flat.half[pieces.path_index[i]] + flat.half[pieces.path_index[j]] + 0.5
    length = _shared_length(pieces.a[i], pieces.b[i], pieces.a[j], pieces.b[j], far)
    keep = length > 0
    total: dict[tuple[int, int], float] = defaultdict(float)
    first: dict[tuple[int, int], Point] = {}
    rows = zip(pieces.path_index[i][keep].tolist(), pieces.path_index[j][keep].tolist(),
               length[keep].tolist(), pieces.a[i[keep]].tolist(), strict=True)  # fmt: skip
    for a, b, part, at in rows:
        total[a, b] += part
        first.setdefault((a, b), Point(*at))
    for (a, b), part in total.items():
        one, two, at = flat.drawing.wires[a], flat.drawing.wires[b], first[a, b]
        if part > (ONTO if _meet_near(flat, one, two, at) else ALONG):
            yield (
                f"wires {one.axis} of {one.array} and {two.axis} of {two.array}"
                f" run as one for {part:.0f}, at {at.x:.0f}"
            )


def _meet_near(flat: DrawingArrays, one: DrawnWire, two: DrawnWire, at: Point) -> bool:
    """Returns whether two wires of an op meet near a point, at a dot or as one end."""
    if any(_distance(p, q) < 1.0 and _distance(p, at) < ONTO
           for p in (one.path[0].a, one.path[-1].d)
           for q in (two.path[0].a, two.path[-1].d)):  # fmt: skip
        return True
    shared = {one.made_by, one.taken_by} & {two.made_by, two.taken_by} - {""}
    return any(_has_dot(flat, node, at, ONTO) for node in shared)


def _shared_length(a: Numbers, b: Numbers, c: Numbers, d: Numbers, far: Numbers) -> Numbers:
    """Returns how far segments from c to d run along those from a to b within a distance."""
    way = b - a
    long = np.maximum(np.hypot(way[:, 0], way[:, 1]), 1e-9)
    unit = way / long[:, None]
    ends = [_direction_coordinates(point - a, unit) for point in (c, d)]
    (s, p), (t, q) = ends
    run = np.where(np.abs(t - s) < 1e-9, 1e-9, t - s)
    low, high = np.maximum(np.minimum(s, t), 0.0), np.minimum(np.maximum(s, t), long)
    off = [np.abs(p + (q - p) * (at - s) / run) for at in (low, high)]
    close = (np.maximum(*off) < far) & (high > low)
    return np.where(close, high - low, 0.0)


def _direction_coordinates(points: Numbers, unit: Numbers) -> tuple[Numbers, Numbers]:
    """Returns the positions of points along a direction, and their distance from it."""
    along = points[:, 0] * unit[:, 0] + points[:, 1] * unit[:, 1]
    return along, points[:, 1] * unit[:, 0] - points[:, 0] * unit[:, 1]


def ends_on(flat: DrawingArrays) -> Iterator[str]:
    """Checks that a wire ends on another wire only of its op, and only at a dot or mark."""
    wires = flat.drawing.wires
    for w, v, at, node, what in _touches(flat):
        one, two = wires[w], wires[v]
        name = f"wire {one.axis} of {one.array} {what} on wire {two.axis} of {two.array}"
        ends = (two.path[0].a, two.path[-1].d)
        if node and node in (two.made_by, two.taken_by):
            if all(_distance(at, end) > 1.0 for end in ends) and not _has_mark(flat, node, at):
                yield f"{name}, without a dot"
        elif one.array != two.array or one.axis != two.axis:
            yield name


def _touches(flat: DrawingArrays) -> Iterator[tuple[int, int, Point, str, str]]:
    """Yields open ends of wires that lie on other wires."""
    n, side = np.nonzero(flat.loose_ends & ~np.isnan(flat.ends[:, :, 0]))
    points = flat.ends[n, side]
    for e, v in distinct(*_points_on_wires(flat, points, n)):
        wire = flat.drawing.wires[n[e]]
        node, what = (wire.taken_by, "ends") if side[e] else (wire.made_by, "begins")
        yield int(n[e]), v, Point(*points[e].tolist()), node, what


def _points_on_wires(flat: DrawingArrays, points: Numbers, of: Indices) -> tuple[Indices, Indices]:
    """Returns points that lie on a wire that does not end there."""
    boxes = np.concatenate([points, points], 1)
    grown = boxes + np.array([-3.0, -3.0, 3.0, 3.0])
    i, j = piercing(flat.wires, grown, 0.0)
    keep = flat.wires.path_index[i] != of[j]
    i, j = i[keep], j[keep]
    a, way = flat.wires.a[i], flat.wires.b[i] - flat.wires.a[i]
    t = ((points[j] - a) * way).sum(1) / np.maximum((way**2).sum(1), 1e-9)
    near = a + way * np.clip(t, 0.0, 1.0)[:, None]
    off = np.hypot(*(points[j] - near).T)
    close = off < flat.half[flat.wires.path_index[i]] + flat.half[of[j]]
    return j[close], flat.wires.path_index[i[close]]


def _has_mark(flat: DrawingArrays, node: str, at: Point) -> bool:
    """Returns whether the op has a dot or another mark at a point."""
    return _has_dot(flat, node, at) or _is_on_ink(flat.glyphs.get(node, []), at, 3.0)


def _has_dot(flat: DrawingArrays, node: str, at: Point, near: float = 1.5) -> bool:
    items = (item for glyph in flat.glyphs.get(node, []) for item in glyph.items)
    return any(isinstance(i, Dot) and _distance(i.center, at) < near for i in items)


def _is_on_ink(glyphs: list[DrawnGlyph], at: Point, near: float) -> bool:
    return any(_is_in_box(at, box.grown(near)) for glyph in glyphs for box in glyph.ink)


def _inner(flat: DrawingArrays, node: str) -> bool:
    """Returns whether a cap takes two wires of one array, as no einsum does."""
    units = [glyph.unit for glyph in flat.glyphs[node] if glyph.unit]
    return any({*cap} <= {*own} for u in units for cap in u.glyph.caps for own in u.arrays[0])


def caps(flat: DrawingArrays) -> Iterator[str]:
    """Checks that no other wire of an op lies on the tip of its cap or continues behind it."""
    tips = _tips(flat)
    for node, at, own in tips:
        wires = [flat.drawing.wires[n] for n in own if flat.loose_ends[n, 1]]
        if len({wire.array for wire in wires}) < len(wires) and not _inner(flat, node):
            names = list_words(wire.axis for wire in wires)
            yield f"wires {names} end in one point at {node}, {at.x:.0f}, {at.y:.0f}"
    if not tips:
        return
    points = np.array([at for _, at, _ in tips])
    boxes = np.concatenate([points, points], 1) + np.array([-1.0, -1.5, STEM, 1.5])
    i, j = piercing(flat.wires, boxes, 0.0)
    for w, t in distinct(flat.wires.path_index[i], j):
        node, at, own = tips[t]
        wire = flat.drawing.wires[w]
        starts = not check_spacing(wire.path[0].a, at)  # wires that join there continue as one
        if w not in own and not starts and _goes_on(flat, w, at):
            yield (
                f"wire {wire.axis} of {wire.array} goes on where the cap of {node} ends,"
                f" at {at.x:.0f}, {at.y:.0f}"
            )


def _tips(flat: DrawingArrays) -> list[tuple[str, Point, list[int]]]:
    """Returns the tips of caps: the op, the point, and the indexes of the wires that end there."""
    ends: dict[tuple[str, Point], list[int]] = defaultdict(list)
    for n, wire in enumerate(flat.drawing.wires):
        if wire.path and wire.taken_by in flat.glyphs:
            at = wire.path[-1].d
            ends[wire.taken_by, Point(round(at.x, 1), round(at.y, 1))].append(n)
    return [
        (node, at, own)
        for (node, at), own in ends.items()
        if len(own) > 1 and not _has_dot(flat, node, at)
    ]


def _goes_on(flat: DrawingArrays, w: int, at: Point) -> bool:
    """Returns whether a wire passes through a point, or continues horizontally behind it."""
    own = flat.wires.path_index == w
    a, b = flat.wires.a[own], flat.wires.b[own]
    near = np.maximum(np.abs(a[:, 1] - at.y), np.abs(b[:, 1] - at.y)) < 2.0
    level = np.abs(b[:, 1] - a[:, 1]) < 0.2 * (b[:, 0] - a[:, 0])
    here = (b[:, 0] > at.x - 1.0) & (a[:, 0] < at.x + STEM)
    return bool((near & level & here).any())


def _is_in_box(point: Point, box: tuple[float, float, float, float]) -> bool:
    x0, y0, x1, y1 = box
    return x0 <= point.x <= x1 and y0 <= point.y <= y1


def _distance(a: Point, b: Point) -> float:
    return float(np.hypot(a.x - b.x, a.y - b.y))


def check_spacing(a: Point, b: Point) -> bool:
    return abs(a.x - b.x) > 0.05 or abs(a.y - b.y) > 0.05


# --- Lint rules for crossings: none between wires of different ops, and no more than an op needs

END = 0.4  # units from a wire's end within which wires meet instead of crossing
TRIPLE = 1.5  # units within which two crossings look like one
CROSSING_TOLERANCE = 1.0  # units within which two crossings of the same wires count once


_Crossing = tuple[int, int, tuple[float, float]]


def crossings(flat: DrawingArrays) -> Iterator[str]:
    drawing, every = flat.drawing, _crossings(flat)
    yield from _triple_points(flat, every)
    apart: dict[tuple[int, int], float] = {}
    drawn: list[tuple[list[str], float]] = []
    for a, b, (x, _) in every:
        one, two = drawing.wires[a], drawing.wires[b]
        shared = {one.made_by, one.taken_by} & {two.made_by, two.taken_by} - {""}
        if shared:
            drawn.append((sorted(shared), x))
        else:
            apart.setdefault((a, b), x)
    for (a, b), x in apart.items():
        one, two = drawing.wires[a], drawing.wires[b]
        where = f"{one.axis} of {one.array} and {two.axis} of {two.array}"
        yield f"wires {where} cross, at {x:.0f}"
    yield from _needless_crossings(flat, drawn)


def _needless_crossings(flat: DrawingArrays, drawn: list[tuple[list[str], float]]) -> Iterator[str]:
    """Assigns crossings to ops; one that could belong to two ops goes to the one that needs it."""
    near = [sorted(shared, key=lambda node: abs(_place(flat, node, x) - x)) for shared, x in drawn]
    nodes = sorted({node for shared in near for node in shared})
    needs = {node: _min_crossings(flat.glyphs.get(node, []), len(drawn)) for node in nodes}
    held: dict[str, list[int]] = {node: [] for node in nodes}
    over = [n for n in range(len(near)) if not _claim_crossing(n, near, needs, held, set())]
    count = Counter(near[n][0] for n in over)
    for node in sorted(count):
        words, drawn_ones = flat.glyphs[node][0].description, len(held[node]) + count[node]
        yield (
            f"the wires of {node} ({words}) cross {drawn_ones} times, where {needs[node]} would do"
        )


def _claim_crossing(
    n: int,
    near: list[list[str]],
    needs: Mapping[str, int],
    held: dict[str, list[int]],
    asked: set[str],
) -> bool:
    """Returns whether an op can claim a crossing, possibly passing another one to another op."""
    for node in near[n]:
        if node in asked:
            continue
        asked.add(node)
        if len(held[node]) < needs[node]:
            held[node].append(n)
            return True
        for other in held[node]:
            if _claim_crossing(other, near, needs, held, asked):
                held[node][held[node].index(other)] = n
                return True
    return False


def _min_crossings(glyphs: list[DrawnGlyph], most: int) -> int:
    """Returns the least crossings that an op needs, or ``most`` if its unit is unknown."""
    units = [glyph.unit for glyph in glyphs if glyph.unit]
    return sum(map(min_unit_crossings, units)) if units else most


def _triple_points(flat: DrawingArrays, crossings: list[_Crossing]) -> Iterator[str]:
    """Finds points where three wires cross, as none can be followed there."""
    at = np.array([point for *_, point in crossings]).reshape(-1, 2)
    boxes = np.concatenate([at - TRIPLE / 2, at + TRIPLE / 2], 1)
    i, j = meeting(boxes, boxes)
    lines = flat.line.tolist()
    told: set[int] = set()
    for a, b in zip(i.tolist(), j.tolist(), strict=True):
        (one, two, (x, y)), (three, four, _) = crossings[a], crossings[b]
        if len({lines[n] for n in (one, two, three, four)}) > 2 and not {a, b} & told:
            told |= set(j[i == a].tolist())
            yield f"three wires or more cross in one point, at {x:.0f}, {y:.0f}"


def _place(flat: DrawingArrays, node: str, x: float) -> float:
    """Returns the approximate x of an op; the nearer one if it is drawn twice."""
    boxes = [glyph.hit_box for glyph in flat.glyphs.get(node, [])]
    if boxes:
        return min(((box.x0 + box.x1) / 2 for box in boxes), key=lambda at: abs(at - x))
    ends = [w.path[-1].d.x for w in flat.drawing.wires if w.taken_by == node and w.path]
    starts = [w.path[0].a.x for w in flat.drawing.wires if w.made_by == node and w.path]
    return float(np.mean([*ends, *starts]))


def _crossings(flat: DrawingArrays) -> list[_Crossing]:
    """Returns the pairs of wires that cross, and where."""
    pieces, (i, j) = flat.wires, flat.nearby_segments
    met, at = segment_crossings(pieces.a[i], pieces.b[i], pieces.a[j], pieces.b[j])
    a, b, at = pieces.path_index[i][met], pieces.path_index[j][met], at[met]
    inner = np.ones(len(a), dtype=bool)
    for of in (a, b):
        for side in (0, 1):  # wires that meet in an op do not cross
            inner &= (np.hypot(*(flat.ends[of, side] - at).T) > END) | ~flat.unmatched_ends[
                of, side
            ]
    found: list[_Crossing] = []
    seen: dict[tuple[int, ...], list[tuple[float, float]]] = {}
    lines = flat.line.tolist()
    rows = zip(a[inner].tolist(), b[inner].tolist(), at[inner].tolist(), strict=True)
    for one, two, (x, y) in rows:
        before = seen.setdefault(tuple(sorted((lines[one], lines[two]))), [])
        if all(abs(x - p) + abs(y - q) > CROSSING_TOLERANCE for p, q in before):
            before.append((x, y))
            found.append((one, two, (x, y)))
    return found


def segment_crossings(a: Numbers, b: Numbers, c: Numbers, d: Numbers) -> tuple[Indices, Numbers]:
    """Returns which segments from a to b cross segments from c to d, and where."""
    one, two, off = b - a, d - c, c - a
    turn = one[:, 0] * two[:, 1] - one[:, 1] * two[:, 0]
    scale = np.abs(one).sum(1) * np.abs(two).sum(1)
    slanted = np.abs(turn) > 1e-6 * scale
    turn = np.where(slanted, turn, 1.0)
    t = (off[:, 0] * two[:, 1] - off[:, 1] * two[:, 0]) / turn
    u = (off[:, 0] * one[:, 1] - off[:, 1] * one[:, 0]) / turn
    met = slanted & (t >= 0) & (t <= 1) & (u >= 0) & (u <= 1)
    return np.flatnonzero(met), a + one * t[:, None]


# --- Lint rules for separators: they run through nothing and cross no wire

BORDER = 2.0  # units from a border within which a separator looks like a part of it
SPRING = 16.0  # units from a separator's end within which it may touch a wire


def dashes(flat: DrawingArrays) -> Iterator[str]:
    drawing = flat.drawing
    _, j = piercing(flat.dashes, flat.text_boxes)
    for (t,) in distinct(j):
        yield f"a dashed line runs through label {flat.texts[t].label.words!r}"
    ink, of = flat.ink
    _, j = piercing(flat.dashes, ink)
    for (g,) in distinct(of[j]):
        glyph = drawing.glyphs[g]
        yield f"a dashed line runs through the glyph of {glyph.node} ({glyph.description})"
    boxes, of = flat.extras
    _, j = piercing(flat.dashes, boxes)
    for (e,) in distinct(of[j]):
        extra = flat.annotations[e]
        yield f"a dashed line runs through the {extra.kind} {extra.words!r}"
    yield from _on_borders(flat)
    yield from _on_wires(flat)


def _on_borders(flat: DrawingArrays) -> Iterator[str]:
    """Finds separators along a fence's upper or lower border, where they look like a part of it."""
    fences = [fence for fence in flat.drawing.fences if not fence.brackets]
    edges = as_boxes(
        Rectangle(x0, y - BORDER, x1, y + BORDER)
        for x0, y0, x1, y1 in (fence.box for fence in fences)
        for y in (y0, y1)
    )
    pieces = flat.dashes.boxes[flat.dashes.a[:, 1] == flat.dashes.b[:, 1]]
    i, j = meeting(_grow_boxes(pieces, 0.01), edges)
    along = np.minimum(pieces[i, 2], edges[j, 2]) - np.maximum(pieces[i, 0], edges[j, 0])
    for (n,) in distinct(j[along > 2 * BORDER] // 2):
        yield f"a dashed line runs along the border of {fences[n].words or fences[n].id!r}"


def _on_wires(flat: DrawingArrays) -> Iterator[str]:
    """Finds separators that touch a wire other than at their own ends."""
    lines, wires = flat.dashes, flat.wires
    i, j = meeting(_grow_boxes(lines.boxes, 0.5), _grow_boxes(wires.boxes, 0.5))
    met, at = segment_crossings(lines.a[i], lines.b[i], wires.a[j], wires.b[j])
    dash, w, at = lines.path_index[i[met]], wires.path_index[j[met]], at[met]
    nowhere = ((np.nan, np.nan),) * 2
    tips = [(one.path[0].a, one.path[-1].d) if one.path else nowhere
            for one in flat.drawing.dashes]  # fmt: skip
    ends = np.array(tips, dtype=float).reshape(-1, 2, 2)[dash]
    inner = (np.hypot(*(ends - at[:, None]).transpose(2, 0, 1)) > SPRING).all(1)
    places = dict(zip(w[inner].tolist()[::-1], at[inner, 0].tolist()[::-1], strict=True))
    for n, x in sorted(places.items()):
        wire = flat.drawing.wires[n]
        yield f"a dashed line crosses wire {wire.axis} of {wire.array}, at {x:.0f}"


def _grow_boxes(boxes: Numbers, by: float) -> Numbers:
    return boxes + np.array([-by, -by, by, by])
