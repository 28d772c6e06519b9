"""A drawing as arrays of numbers: wires and separators as short segments, and boxes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ncd.drawing.elements import style
from ncd.drawing.elements.primitives import (
    Annotation,
    Dot,
    DrawingData,
    DrawnGlyph,
    DrawnThumbnail,
    Outline,
    Path,
    Point,
    Rectangle,
    Text,
    polygon,
)
from ncd.language.cached_property import lazy_property

Numbers = NDArray[np.float64]
Indices = NDArray[np.intp]
Pairs = tuple[Indices, Indices]

SLACK = 0.75  # units by which boxes may overlap
LONGEST = 48.0  # the greatest length of a horizontal segment
CALLOUT = 4.0  # between the text and the edge of a callout
PIECES = 12  # segments of a bending curve
_T = np.linspace(0.0, 1.0, PIECES + 1)
_BERNSTEIN = np.stack([(1 - _T) ** 3, 3 * _T * (1 - _T) ** 2, 3 * _T**2 * (1 - _T), _T**3], 1)


class Segments:
    """Paths as segments: their ends ``a`` and ``b``, and ``path_index``, the index of the path."""

    def __init__(self, paths: Sequence[Path]) -> None:
        curves = [curve for path in paths for curve in path]
        owner = np.repeat(np.arange(len(paths)), [len(path) for path in paths])
        points = np.array(curves, dtype=float).reshape(-1, 4, 2)
        level = np.ptp(points[:, :, 1], axis=1) == 0
        bent = np.einsum("tk,nkc->ntc", _BERNSTEIN, points[~level])
        ends, ends_of = _cut(points[level, 0], points[level, 3], owner[level])
        self.a = np.concatenate([bent[:, :-1].reshape(-1, 2), ends[:, 0]])
        self.b = np.concatenate([bent[:, 1:].reshape(-1, 2), ends[:, 1]])
        self.path_index = np.concatenate([np.repeat(owner[~level], PIECES), ends_of])

    @lazy_property
    def boxes(self) -> Numbers:
        return np.concatenate([np.minimum(self.a, self.b), np.maximum(self.a, self.b)], 1)


def _cut(a: Numbers, b: Numbers, of: Indices) -> tuple[Numbers, Indices]:
    """Splits horizontal segments so that none is longer than LONGEST."""
    parts = np.maximum(1, np.ceil(np.abs(b[:, 0] - a[:, 0]) / LONGEST)).astype(int)
    whole = np.repeat(np.arange(len(a)), parts)
    nth = np.arange(len(whole)) - np.repeat(np.cumsum(parts) - parts, parts)
    step = ((b - a) / parts[:, None])[whole]
    start = a[whole] + step * nth[:, None]
    return np.stack([start, start + step], 1), of[whole]


class DrawingArrays:
    """The numbers that the rules read, each computed once."""

    def __init__(self, drawing: DrawingData) -> None:
        self.drawing = drawing
        self.glyphs: dict[str, list[DrawnGlyph]] = {}  # by op: two sides of an equation share ops
        for glyph in drawing.glyphs:
            self.glyphs.setdefault(glyph.node, []).append(glyph)

    # Wires ---------------------------------------------------------------------------------------

    @lazy_property
    def wires(self) -> Segments:
        return Segments([wire.path for wire in self.drawing.wires])

    @lazy_property
    def half(self) -> Numbers:
        """Half the width of each wire."""
        double = np.array([wire.double for wire in self.drawing.wires], dtype=bool)
        return (style.WIRE + style.DOUBLE * double) / 2

    @lazy_property
    def ends(self) -> Numbers:
        """The start and the end of each wire."""
        none = ((np.nan, np.nan),) * 2
        ends = [(w.path[0].a, w.path[-1].d) if w.path else none for w in self.drawing.wires]
        return np.array(ends, dtype=float).reshape(-1, 2, 2)

    @lazy_property
    def line(self) -> Indices:
        """For each wire, the first of the wires that form one line through the ops between them."""
        wires, found = self.drawing.wires, np.arange(len(self.drawing.wires))
        last: dict[tuple[str, tuple[float, ...]], int] = {}
        for n in sorted(range(len(wires)), key=lambda n: float(np.nan_to_num(self.ends[n, 0, 0]))):
            begin, end = (tuple(at) for at in self.ends[n].round(1).tolist())
            found[n] = last.get((wires[n].made_by, begin), n)
            last.setdefault((wires[n].taken_by, end), int(found[n]))
        return found

    @lazy_property
    def loose_ends(self) -> NDArray[np.bool_]:
        """Whether each wire begins, and ends, without a wire that continues it there."""
        return self._end_counts[1] == 0

    @lazy_property
    def unmatched_ends(self) -> NDArray[np.bool_]:
        """The same, or where wires join or split: as many as end there may cross."""
        own, others = self._end_counts
        return own != others

    @lazy_property
    def _end_counts(self) -> tuple[Indices, Indices]:
        """The numbers of wires that begin and end where each wire does."""
        wires, ends = self.drawing.wires, self.ends.round(1).tolist()
        begin = [(w.made_by, *at[0]) for w, at in zip(wires, ends, strict=True)]
        end = [(w.taken_by, *at[1]) for w, at in zip(wires, ends, strict=True)]
        begun, ended = Counter(begin), Counter(end)
        own = [(begun[a], ended[b]) for a, b in zip(begin, end, strict=True)]
        other = [(ended[a], begun[b]) for a, b in zip(begin, end, strict=True)]
        return np.array(own).reshape(-1, 2), np.array(other).reshape(-1, 2)

    @lazy_property
    def nearby_segments(self) -> Pairs:
        """Segments of two lines that come near each other."""
        room = self.half[self.wires.path_index] + 0.5
        boxes = self.wires.boxes + np.stack([-room, -room, room, room], 1)
        i, j = meeting(boxes, boxes)
        a, b = self.wires.path_index[i], self.wires.path_index[j]
        keep = (a < b) & (self.line[a] != self.line[b])
        return i[keep], j[keep]

    @lazy_property
    def dashes(self) -> Segments:
        return Segments([dash.path for dash in self.drawing.dashes])

    # Boxes ---------------------------------------------------------------------------------------

    @lazy_property
    def texts(self) -> list[Text]:
        return self.drawing.texts

    @lazy_property
    def text_boxes(self) -> Numbers:
        return as_boxes(text.box for text in self.texts)

    @lazy_property
    def ink(self) -> tuple[Numbers, Indices]:
        """The ink boxes of all glyphs, and the index of each box's glyph."""
        glyphs = self.drawing.glyphs
        of = np.repeat(np.arange(len(glyphs)), [len(glyph.ink) for glyph in glyphs])
        return as_boxes(box for glyph in glyphs for box in glyph.ink), of

    @lazy_property
    def annotations(self) -> list[Annotation]:
        """The extras, and the thumbnails as their boxes."""
        return [*self.drawing.extras, *map(_as_annotation, self.drawing.thumbnails)]

    @lazy_property
    def extras(self) -> tuple[Numbers, Indices]:
        """The boxes of annotations in front of the wires, each with its annotation's index."""
        found: list[Rectangle] = []
        of: list[int] = []
        for n, extra in enumerate(self.annotations):
            boxes = (
                []
                if extra.behind
                else _callout(extra)
                if extra.kind == "note"
                else _annotation_boxes(extra)
            )
            found += boxes
            of += [n] * len(boxes)
        return as_boxes(found), np.array(of, dtype=np.intp)


def _as_annotation(drawn: DrawnThumbnail) -> Annotation:
    x0, y0, x1, y1 = drawn.box
    outline = Outline(polygon([Point(x0, y0), Point(x1, y0), Point(x1, y1), Point(x0, y1)]))
    return Annotation("thumbnail", (outline,), f"of {drawn.array}")


def _annotation_boxes(extra: Annotation) -> list[Rectangle]:
    found: list[Rectangle] = []
    for item in extra.items:
        if isinstance(item, Text):
            found.append(item.box)
        elif isinstance(item, Dot):
            found.append(Rectangle.from_center(item.center, item.radius))
        elif all(c.a.x == c.d.x or c.is_horizontal for c in item.path):  # an upright box
            found += [Rectangle.from_points(p for c in item.path for p in c)] if item.path else []
        else:
            found += _segment_boxes([item.path])
    return found


def _callout(extra: Annotation) -> list[Rectangle]:
    """Returns the boxes of a callout's text and of its outline, whose pointer sticks out."""
    words = [item.box for item in extra.items if isinstance(item, Text)]
    found = [Rectangle.union(words).grown(CALLOUT)] if words else []
    return found + _segment_boxes([item.path for item in extra.items if isinstance(item, Outline)])


def _segment_boxes(paths: Sequence[Path]) -> list[Rectangle]:
    return [Rectangle(*box).grown(1.0) for box in Segments(paths).boxes.tolist()]


def as_boxes(boxes: Iterable[Rectangle]) -> Numbers:
    return np.array(list(boxes), dtype=float).reshape(-1, 4)


def meeting(a: Numbers, b: Numbers, slack: float = 0.0) -> Pairs:
    """Returns the pairs of boxes, one of each list, that overlap by more than ``slack``.

    A sweep along x compares only boxes that begin near each other.
    """
    order = np.argsort(b[:, 0], kind="stable")
    starts = b[order, 0]
    widest = (b[:, 2] - b[:, 0]).max(initial=0.0)
    first = np.searchsorted(starts, a[:, 0] - widest + slack, "left")
    last = np.searchsorted(starts, a[:, 2] - slack, "right")
    count = np.maximum(last - first, 0)
    i = np.repeat(np.arange(len(a)), count)
    j = order[np.arange(len(i)) + np.repeat(first - (np.cumsum(count) - count), count)]
    shared = np.minimum(a[i, 2:], b[j, 2:]) - np.maximum(a[i, :2], b[j, :2])
    keep = (shared > slack).all(1)
    return i[keep], j[keep]


def piercing(pieces: Segments, boxes: Numbers, slack: float = SLACK) -> Pairs:
    """Returns the segments that run inside boxes by more than ``slack``, each with its box."""
    inner = boxes + np.array([slack, slack, -slack, -slack])
    i, j = meeting(pieces.boxes, inner, -1e-9)
    if not len(i):
        return i, j
    a, way = pieces.a[i], pieces.b[i] - pieces.a[i]
    low, high = np.zeros(len(i)), np.ones(len(i))
    inside = np.ones(len(i), dtype=bool)
    for c in (0, 1):  # the stretch of the piece that is within the box, along x and along y
        still = np.abs(way[:, c]) < 1e-9
        speed = np.where(still, 1.0, way[:, c])
        one = (inner[j, c] - a[:, c]) / speed
        two = (inner[j, c + 2] - a[:, c]) / speed
        low = np.where(still, low, np.maximum(low, np.minimum(one, two)))
        high = np.where(still, high, np.minimum(high, np.maximum(one, two)))
        inside &= ~still | ((a[:, c] > inner[j, c]) & (a[:, c] < inner[j, c + 2]))
    keep = inside & (low < high)
    return i[keep], j[keep]


def distinct(*columns: Indices) -> list[tuple[int, ...]]:
    """Returns the distinct rows of these columns."""
    return list(dict.fromkeys(zip(*(column.tolist() for column in columns), strict=True)))
