"""Lint rules for crossings: none between wires of different ops, and no more than an op needs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from ncd.drawing.base.primitives import DrawnGlyph
from ncd.drawing.lint.flat_drawing import Flat, Indices, Numbers, meeting
from ncd.drawing.lint.least_crossings import least

END = 0.4  # units from a wire's end within which wires meet instead of crossing
TRIPLE = 1.5  # units within which two crossings look like one
SAME = 1.0  # units within which two crossings of the same wires count once


_Crossing = tuple[int, int, tuple[float, float]]


def crossings(flat: Flat) -> Iterator[str]:
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
    yield from _counted(flat, drawn)


def _counted(flat: Flat, drawn: list[tuple[list[str], float]]) -> Iterator[str]:
    """Assigns crossings to ops; one that could belong to two ops goes to the one that needs it."""
    near = [sorted(shared, key=lambda node: abs(_place(flat, node, x) - x)) for shared, x in drawn]
    nodes = sorted({node for shared in near for node in shared})
    needs = {node: _need(flat.glyphs.get(node, []), len(drawn)) for node in nodes}
    held: dict[str, list[int]] = {node: [] for node in nodes}
    over = [n for n in range(len(near)) if not _held(n, near, needs, held, set())]
    count = Counter(near[n][0] for n in over)
    for node in sorted(count):
        words, drawn_ones = flat.glyphs[node][0].words, len(held[node]) + count[node]
        yield (
            f"the wires of {node} ({words}) cross {drawn_ones} times, where {needs[node]} would do"
        )


def _held(
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
            if _held(other, near, needs, held, asked):
                held[node][held[node].index(other)] = n
                return True
    return False


def _need(glyphs: list[DrawnGlyph], most: int) -> int:
    """Returns the least crossings that an op needs, or ``most`` if its unit is unknown."""
    units = [glyph.unit for glyph in glyphs if glyph.unit]
    return sum(map(least, units)) if units else most


def _triple_points(flat: Flat, crossings: list[_Crossing]) -> Iterator[str]:
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


def _place(flat: Flat, node: str, x: float) -> float:
    """Returns the approximate x of an op; the nearer one if it is drawn twice."""
    boxes = [glyph.hit for glyph in flat.glyphs.get(node, [])]
    if boxes:
        return min(((box.x0 + box.x1) / 2 for box in boxes), key=lambda at: abs(at - x))
    ends = [w.path[-1].d.x for w in flat.drawing.wires if w.taken_by == node and w.path]
    starts = [w.path[0].a.x for w in flat.drawing.wires if w.made_by == node and w.path]
    return float(np.mean([*ends, *starts]))


def _crossings(flat: Flat) -> list[_Crossing]:
    """Returns the pairs of wires that cross, and where."""
    pieces, (i, j) = flat.wires, flat.beside
    met, at = crossed(pieces.a[i], pieces.b[i], pieces.a[j], pieces.b[j])
    a, b, at = pieces.of[i][met], pieces.of[j][met], at[met]
    inner = np.ones(len(a), dtype=bool)
    for of in (a, b):
        for side in (0, 1):  # wires that meet in an op do not cross
            inner &= (np.hypot(*(flat.ends[of, side] - at).T) > END) | ~flat.joined[of, side]
    found: list[_Crossing] = []
    seen: dict[tuple[int, ...], list[tuple[float, float]]] = {}
    lines = flat.line.tolist()
    rows = zip(a[inner].tolist(), b[inner].tolist(), at[inner].tolist(), strict=True)
    for one, two, (x, y) in rows:
        before = seen.setdefault(tuple(sorted((lines[one], lines[two]))), [])
        if all(abs(x - p) + abs(y - q) > SAME for p, q in before):
            before.append((x, y))
            found.append((one, two, (x, y)))
    return found


def crossed(a: Numbers, b: Numbers, c: Numbers, d: Numbers) -> tuple[Indices, Numbers]:
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
