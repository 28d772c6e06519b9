"""Lint rules for wires: continuous, on nothing foreign, and apart from each other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from ncd.drawing.base.primitives import Dot, DrawnGlyph, DrawnWire, Point
from ncd.drawing.lint.flat_drawing import Flat, Indices, Numbers, distinct, piercing
from ncd.lang.plain_text import listed

NEAR_MARK = 9.0  # units between the end of a wire and its mark
ALONG, ONTO = 6.0, 40.0  # units that wires may run along each other; near a dot
STEEP = 2.5  # the slope from which a bend is a hook
SHORT, LONG = 8.0, 40.0  # bends that are lower, or longer, are no hooks
STEM = 20.0  # units behind a cap in which no other wire of its op continues


def whole(flat: Flat) -> Iterator[str]:
    """Checks that every wire is continuous, from the op that makes it to the op that takes it."""
    meet = _Meet(flat)
    for wire in flat.drawing.wires:
        name = f"wire {wire.axis} of {wire.array}"
        if not wire.path:
            yield f"{name} is not drawn"
            continue
        if any(apart(a.d, b.a) for a, b in pairwise(wire.path)):
            yield f"{name} has a gap"
        if any(c.d.x < c.a.x - 0.01 for c in wire.path):
            yield f"{name} runs backwards"
        for what in meet.loose(wire):
            yield f"{name} {what}"


class _Meet:
    """The points where wires begin and end at each op."""

    def __init__(self, flat: Flat) -> None:
        self.glyphs = flat.glyphs
        self.starts: dict[str, list[Point]] = defaultdict(list)
        self.ends: dict[str, list[Point]] = defaultdict(list)
        for wire in flat.drawing.wires:
            if wire.path:
                self.starts[wire.made_by].append(wire.path[0].a)
                self.ends[wire.taken_by].append(wire.path[-1].d)

    def loose(self, wire: DrawnWire) -> Iterator[str]:
        """Yields ends of a wire that are not at its op, nor where another wire continues it.

        An end that the op's glyph declares open is allowed.
        """
        for node, at, what, others in (
            (wire.made_by, wire.path[0].a, "begins", self.ends),
            (wire.taken_by, wire.path[-1].d, "ends", self.starts),
        ):
            if node not in self.glyphs or what in wire.open:
                continue
            meets = any(not apart(at, other) for other in others[node])
            touches = _inked(self.glyphs[node], at, NEAR_MARK)
            capped = sum(not apart(at, other) for other in self.ends[node]) > 1
            if not (meets or touches or capped):
                yield f"{what} in the open, at {at.x:.0f}, {at.y:.0f}"


def sharp(flat: Flat) -> Iterator[str]:
    """Checks that no wire changes its height within too little x, as in a hook."""
    for wire in flat.drawing.wires:
        for a, b, c, d in wire.path:
            level, way = a.y == b.y and c.y == d.y, d.x - a.x
            if level and way < LONG and abs(d.y - a.y) > max(SHORT, STEEP * way):
                yield f"wire {wire.axis} of {wire.array} makes a hook, at {a.x:.0f}, {a.y:.0f}"


def on_glyphs(flat: Flat) -> Iterator[str]:
    """Checks that no wire lies on a mark of an op that neither takes nor makes it."""
    ink, of = flat.ink
    i, j = piercing(flat.wires, ink)
    for w, g in distinct(flat.wires.of[i], of[j]):
        wire, glyph = flat.drawing.wires[w], flat.drawing.glyphs[g]
        if glyph.node not in (wire.made_by, wire.taken_by):
            yield (
                f"wire {wire.axis} of {wire.array} lies on the glyph of {glyph.node}"
                f" ({glyph.words})"
            )


def as_one(flat: Flat) -> Iterator[str]:
    """Checks that no two wires run along each other, except just before a dot."""
    pieces, (i, j) = flat.wires, flat.beside
    far = flat.half[pieces.of[i]] + flat.half[pieces.of[j]] + 0.5
    length = _shared(pieces.a[i], pieces.b[i], pieces.a[j], pieces.b[j], far)
    keep = length > 0
    total: dict[tuple[int, int], float] = defaultdict(float)
    first: dict[tuple[int, int], Point] = {}
    rows = zip(pieces.of[i][keep].tolist(), pieces.of[j][keep].tolist(),
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


def _meet_near(flat: Flat, one: DrawnWire, two: DrawnWire, at: Point) -> bool:
    """Returns whether two wires of an op meet near a point, at a dot or as one end."""
    if any(_distance(p, q) < 1.0 and _distance(p, at) < ONTO
           for p in (one.path[0].a, one.path[-1].d)
           for q in (two.path[0].a, two.path[-1].d)):  # fmt: skip
        return True
    shared = {one.made_by, one.taken_by} & {two.made_by, two.taken_by} - {""}
    return any(_dotted(flat, node, at, ONTO) for node in shared)


def _shared(a: Numbers, b: Numbers, c: Numbers, d: Numbers, far: Numbers) -> Numbers:
    """Returns how far segments from c to d run along those from a to b within a distance."""
    way = b - a
    long = np.maximum(np.hypot(way[:, 0], way[:, 1]), 1e-9)
    unit = way / long[:, None]
    ends = [_seen(point - a, unit) for point in (c, d)]
    (s, p), (t, q) = ends
    run = np.where(np.abs(t - s) < 1e-9, 1e-9, t - s)
    low, high = np.maximum(np.minimum(s, t), 0.0), np.minimum(np.maximum(s, t), long)
    off = [np.abs(p + (q - p) * (at - s) / run) for at in (low, high)]
    close = (np.maximum(*off) < far) & (high > low)
    return np.where(close, high - low, 0.0)


def _seen(points: Numbers, unit: Numbers) -> tuple[Numbers, Numbers]:
    """Returns the positions of points along a direction, and their distance from it."""
    along = points[:, 0] * unit[:, 0] + points[:, 1] * unit[:, 1]
    return along, points[:, 1] * unit[:, 0] - points[:, 0] * unit[:, 1]


def ends_on(flat: Flat) -> Iterator[str]:
    """Checks that a wire ends on another wire only of its op, and only at a dot or mark."""
    wires = flat.drawing.wires
    for w, v, at, node, what in _touches(flat):
        one, two = wires[w], wires[v]
        name = f"wire {one.axis} of {one.array} {what} on wire {two.axis} of {two.array}"
        ends = (two.path[0].a, two.path[-1].d)
        if node and node in (two.made_by, two.taken_by):
            if all(_distance(at, end) > 1.0 for end in ends) and not _marked(flat, node, at):
                yield f"{name}, without a dot"
        elif one.array != two.array or one.axis != two.axis:
            yield name


def _touches(flat: Flat) -> Iterator[tuple[int, int, Point, str, str]]:
    """Yields open ends of wires that lie on other wires."""
    n, side = np.nonzero(flat.loose & ~np.isnan(flat.ends[:, :, 0]))
    points = flat.ends[n, side]
    for e, v in distinct(*_on(flat, points, n)):
        wire = flat.drawing.wires[n[e]]
        node, what = (wire.taken_by, "ends") if side[e] else (wire.made_by, "begins")
        yield int(n[e]), v, Point(*points[e].tolist()), node, what


def _on(flat: Flat, points: Numbers, of: Indices) -> tuple[Indices, Indices]:
    """Returns points that lie on a wire that does not end there."""
    boxes = np.concatenate([points, points], 1)
    grown = boxes + np.array([-3.0, -3.0, 3.0, 3.0])
    i, j = piercing(flat.wires, grown, 0.0)
    keep = flat.wires.of[i] != of[j]
    i, j = i[keep], j[keep]
    a, way = flat.wires.a[i], flat.wires.b[i] - flat.wires.a[i]
    t = ((points[j] - a) * way).sum(1) / np.maximum((way**2).sum(1), 1e-9)
    near = a + way * np.clip(t, 0.0, 1.0)[:, None]
    off = np.hypot(*(points[j] - near).T)
    close = off < flat.half[flat.wires.of[i]] + flat.half[of[j]]
    return j[close], flat.wires.of[i[close]]


def _marked(flat: Flat, node: str, at: Point) -> bool:
    """Returns whether the op has a dot or another mark at a point."""
    return _dotted(flat, node, at) or _inked(flat.glyphs.get(node, []), at, 3.0)


def _dotted(flat: Flat, node: str, at: Point, near: float = 1.5) -> bool:
    items = (item for glyph in flat.glyphs.get(node, []) for item in glyph.items)
    return any(isinstance(i, Dot) and _distance(i.center, at) < near for i in items)


def _inked(glyphs: list[DrawnGlyph], at: Point, near: float) -> bool:
    return any(_within(at, box.grown(near)) for glyph in glyphs for box in glyph.ink)


def _inner(flat: Flat, node: str) -> bool:
    """Returns whether a cap takes two wires of one array, as no einsum does."""
    units = [glyph.unit for glyph in flat.glyphs[node] if glyph.unit]
    return any({*cap} <= {*own} for u in units for cap in u.glyph.caps for own in u.arrays[0])


def caps(flat: Flat) -> Iterator[str]:
    """Checks that no other wire of an op lies on the tip of its cap or continues behind it."""
    tips = _tips(flat)
    for node, at, own in tips:
        wires = [flat.drawing.wires[n] for n in own if flat.loose[n, 1]]
        if len({wire.array for wire in wires}) < len(wires) and not _inner(flat, node):
            names = listed(wire.axis for wire in wires)
            yield f"wires {names} end in one point at {node}, {at.x:.0f}, {at.y:.0f}"
    if not tips:
        return
    points = np.array([at for _, at, _ in tips])
    boxes = np.concatenate([points, points], 1) + np.array([-1.0, -1.5, STEM, 1.5])
    i, j = piercing(flat.wires, boxes, 0.0)
    for w, t in distinct(flat.wires.of[i], j):
        node, at, own = tips[t]
        wire = flat.drawing.wires[w]
        starts = not apart(wire.path[0].a, at)  # wires that join there continue as one
        if w not in own and not starts and _goes_on(flat, w, at):
            yield (
                f"wire {wire.axis} of {wire.array} goes on where the cap of {node} ends,"
                f" at {at.x:.0f}, {at.y:.0f}"
            )


def _tips(flat: Flat) -> list[tuple[str, Point, list[int]]]:
    """Returns the tips of caps: the op, the point, and the indexes of the wires that end there."""
    ends: dict[tuple[str, Point], list[int]] = defaultdict(list)
    for n, wire in enumerate(flat.drawing.wires):
        if wire.path and wire.taken_by in flat.glyphs:
            at = wire.path[-1].d
            ends[wire.taken_by, Point(round(at.x, 1), round(at.y, 1))].append(n)
    return [
        (node, at, own)
        for (node, at), own in ends.items()
        if len(own) > 1 and not _dotted(flat, node, at)
    ]


def _goes_on(flat: Flat, w: int, at: Point) -> bool:
    """Returns whether a wire passes through a point, or continues horizontally behind it."""
    own = flat.wires.of == w
    a, b = flat.wires.a[own], flat.wires.b[own]
    near = np.maximum(np.abs(a[:, 1] - at.y), np.abs(b[:, 1] - at.y)) < 2.0
    level = np.abs(b[:, 1] - a[:, 1]) < 0.2 * (b[:, 0] - a[:, 0])
    here = (b[:, 0] > at.x - 1.0) & (a[:, 0] < at.x + STEM)
    return bool((near & level & here).any())


def _within(point: Point, box: tuple[float, float, float, float]) -> bool:
    x0, y0, x1, y1 = box
    return x0 <= point.x <= x1 and y0 <= point.y <= y1


def _distance(a: Point, b: Point) -> float:
    return float(np.hypot(a.x - b.x, a.y - b.y))


def apart(a: Point, b: Point) -> bool:
    return abs(a.x - b.x) > 0.05 or abs(a.y - b.y) > 0.05
