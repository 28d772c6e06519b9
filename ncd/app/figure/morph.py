"""Morphs between two drawings of equal maps, line by line.

Wires that meet end to end (in a cap, in a cup, or over an op that they pass) form one strand,
identified by what it connects: an end of the drawing, or a letter. Strands with equal ends in
both drawings are one wire that moves.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import hypot
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.elements.primitives import DrawnGlyph, Point, Text

POINTS = 80  # points of a strand
IN, OUT = "in", "out"
Key = tuple[str, str, str]  # label, start and end


@dataclass(frozen=True)
class Strand:
    """A polyline, and what is at its ends."""

    name: str
    start: str
    stop: str
    points: tuple[Point, ...]
    label: float = 0.5  # position of the label along the line

    @property
    def key(self) -> Key:
        return self.name, self.start, self.stop

    @property
    def back(self) -> Strand:
        return Strand(self.name, self.stop, self.start, self.points[::-1], 1 - self.label)


def morph(one: Drawing, two: Drawing) -> dict[str, Any]:
    """Returns both drawings as data for the browser's animation.

    >>> from ncd import draw
    >>> from ncd.ops import Function
    >>> found = morph(draw(Function("F", "a:2 -> b:3")), draw(Function("F", "a:2 -> b:3")))
    >>> [strand["name"] for strand in found["strands"]], [x["text"] for x in found["letters"]]
    (['a', 'b'], ['F'])
    """
    left = min(one.box.x0, two.box.x0)
    right = max(one.box.x1, two.box.x1)
    ways = [{s.key: s for s in strands(drawing)} for drawing in (one, two)]
    letters = [_letters(drawing) for drawing in (one, two)]
    return {
        "box": [left, min(one.box.y0, two.box.y0), right, max(one.box.y1, two.box.y1)],
        "strands": [
            {
                "name": strand.name,
                "ways": [_even(_reaching(way[key], left, right)) for way in ways],
                "labels": [way[key].label for way in ways],
            }
            for key, strand in ways[0].items()
            if key in ways[1]
        ],
        "letters": [
            {"text": text, "raised": [own[text][1] for own in letters],
             "places": [own[text][0] for own in letters]}
            for text in letters[0]
            if text in letters[1]
        ],
        "dashes": [[_ends(dash.path) for dash in drawing.dashes] for drawing in (one, two)],
    }  # fmt: skip


def strands(drawing: Drawing) -> list[Strand]:
    """Returns the wires of a drawing, joined where they meet end to end."""
    letters = {g.node: text[0] for g in drawing.glyphs if (text := _text(g))}
    names = {(t.array, t.axis): (t.label.words, t.box) for t in drawing.labels}
    pieces: list[Strand] = []
    for wire in drawing.wires:
        points = [curve.point_at(n / 12) for curve in wire.path for n in range(13)]
        if points:
            start = letters.get(wire.made_by, IN)
            stop = letters.get(wire.taken_by, OUT)
            name, box = names.get((wire.array, wire.axis), ("", None))
            at = 0.5 if box is None else _part(points, Point((box.x0 + box.x1) / 2, box.y1))
            pieces.append(Strand(name, start, stop, tuple(points), at))
    joined = True
    while joined:
        pieces, joined = _join_pair(pieces)
    return [piece if _rank(piece.start) <= _rank(piece.stop) else piece.back for piece in pieces]


def _join_pair(pieces: list[Strand]) -> tuple[list[Strand], bool]:
    """Joins one pair of strands that meet; returns the strands and whether a pair was found."""
    ends: dict[tuple[int, int], list[Strand]] = defaultdict(list)
    for piece in pieces:
        for end in (piece.points[0], piece.points[-1]):
            ends[round(end.x), round(end.y)].append(piece)
    for place, own in ends.items():
        if len(own) == 2 and own[0] is not own[1]:
            one, two = own
            if _place(one.points[0]) == place:
                one = one.back
            if _place(two.points[0]) != place:
                two = two.back
            rest = [piece for piece in pieces if piece not in own]
            return [*rest, _join_strands(one, two)], True
    return pieces, False


def _join_strands(first: Strand, then: Strand) -> Strand:
    """Joins two strands, the second beginning where the first ends."""
    a, b = (float(_distances(strand.points)[-1]) for strand in (first, then))
    named, offset, own = (first, 0.0, a) if first.name else (then, a, b)
    label = (offset + named.label * own) / ((a + b) or 1.0)
    points = (*first.points, *then.points[1:])
    return Strand(named.name, first.start, then.stop, points, label)


def _place(point: Point) -> tuple[int, int]:
    return round(point.x), round(point.y)


def _rank(end: str) -> tuple[int, str]:
    return {IN: 0, OUT: 2}.get(end, 1), end


def _distances(points: Sequence[Point]) -> NDArray[np.float64]:
    """Returns how far each point of a polyline is from its start, along the line."""
    steps = (hypot(b.x - a.x, b.y - a.y) for a, b in pairwise(points))
    return np.array([*accumulate(steps, initial=0.0)])


def _part(points: list[Point], at: Point) -> float:
    """Returns the position on a polyline nearest to a point, as a share of its length."""
    nearest = min(range(len(points)), key=lambda n: hypot(points[n].x - at.x, points[n].y - at.y))
    distances = _distances(points)
    return float(distances[nearest] / (distances[-1] or 1.0))


def _reaching(strand: Strand, left: float, right: float) -> tuple[Point, ...]:
    """Returns a strand's points, extended to the drawing's sides where it is open."""
    points = strand.points
    if strand.start == IN:
        points = (Point(left, points[0].y), *points)
    return (*points, Point(right, points[-1].y)) if strand.stop == OUT else points


def _even(points: tuple[Point, ...]) -> list[list[float]]:
    """Returns ``POINTS`` points at equal distances along a polyline."""
    distances = _distances(points)
    at = np.linspace(0.0, distances[-1], POINTS)
    axes = ([point.x for point in points], [point.y for point in points])
    even = np.stack([np.interp(at, distances, places) for places in axes], 1)
    found: list[list[float]] = even.round(1).tolist()
    return found


def _text(glyph: DrawnGlyph) -> tuple[str, str, list[float]] | None:
    """Returns the letter of an op, its superscript and its position."""
    text = next((item for item in glyph.items if isinstance(item, Text)), None)
    if text is None:
        return None
    first, *rest = text.label.spans
    return (
        first.text,
        "".join(s.text for s in rest),
        [round(text.position.x, 1), round(text.position.y, 1)],
    )


def _letters(drawing: Drawing) -> dict[str, tuple[list[float], str]]:
    found = [text for glyph in drawing.glyphs if (text := _text(glyph))]
    return {letter: (place, raised) for letter, raised, place in found}


def _ends(path: Any) -> list[float]:
    """Returns the start and end of a horizontal line."""
    return [round(n, 1) for n in (*path[0].a, *path[-1].d)]
