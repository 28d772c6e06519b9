"""Shapes with coordinates and the ids of their parts; moved and combined."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from math import hypot
from typing import NamedTuple, TypeVar

from fontTools.misc.arrayTools import sectRect
from fontTools.misc.bezierTools import calcCubicBounds, cubicPointAtT

from ncd.drawing.elements.labels import Label
from ncd.drawing.elements.plan_columns import PlanItem
from ncd.language.arguments import Palette

# --- The primitives of a drawing as data: shapes with coordinates and the ids of their parts

PIXEL = 0.75  # points of a pixel, which is 1/96 inch
POINTS_OF_TEX = 72 / 72.27  # points, of 1/72 inch, in a point of TeX
_new_tuple = tuple.__new__  # makes named tuples in half the time of their constructors


class Point(NamedTuple):
    """A point in drawing units; y grows downwards."""

    x: float
    y: float


class Rectangle(NamedTuple):
    """A rectangle in drawing units."""

    x0: float
    y0: float
    x1: float
    y1: float

    @property
    def width(self) -> float:
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        return self.y1 - self.y0

    @property
    def edges(self) -> tuple[Rectangle, Rectangle]:
        """Its upper and its lower side."""
        return self._replace(y1=self.y0), self._replace(y0=self.y1)

    def grown(self, by: float) -> Rectangle:
        x0, y0, x1, y1 = self
        return _new_tuple(Rectangle, (x0 - by, y0 - by, x1 + by, y1 + by))

    def meets(self, other: Rectangle) -> bool:
        """Returns whether two boxes overlap in both directions."""
        shared, (x0, y0, x1, y1) = sectRect(self, other)
        return bool(shared) and min(x1 - x0, y1 - y0) > 0

    @staticmethod
    def union(boxes: Iterable[Rectangle]) -> Rectangle:
        left, top, right, bottom = zip(*boxes, strict=True)
        return _new_tuple(Rectangle, (min(left), min(top), max(right), max(bottom)))

    @staticmethod
    def from_points(points: Iterable[Point]) -> Rectangle:
        """Returns the bounding box of points."""
        xs, ys = zip(*points, strict=True)
        return _new_tuple(Rectangle, (min(xs), min(ys), max(xs), max(ys)))

    @staticmethod
    def from_center(center: Point, radius: float) -> Rectangle:
        return Rectangle(*center, *center).grown(radius)


class Curve(NamedTuple):
    """A cubic Bézier curve; a straight piece has its control points on the line."""

    a: Point
    b: Point
    c: Point
    d: Point

    def point_at(self, t: float) -> Point:
        return _new_tuple(Point, cubicPointAtT(*self, t))

    @property
    def is_horizontal(self) -> bool:
        """Whether it is horizontal."""
        return self.a.y == self.b.y == self.c.y == self.d.y

    @property
    def reversed(self) -> Curve:
        """The curve in the opposite direction."""
        return Curve(self.d, self.c, self.b, self.a)


Path = tuple[Curve, ...]

QUARTER = 0.5523  # how far along its tangents a quarter of an ellipse has its control points


def line(a: Point, b: Point) -> Curve:
    """Returns a straight piece."""
    (x0, y0), (x1, y1) = a, b
    x, y = (x1 - x0) / 3, (y1 - y0) / 3
    return _new_tuple(
        Curve, (a, _new_tuple(Point, (x0 + x, y0 + y)), _new_tuple(Point, (x1 - x, y1 - y)), b)
    )


def s_curve(a: Point, b: Point) -> Curve:
    """Returns a curve that leaves and arrives horizontally."""
    if a.y == b.y:
        return line(a, b)
    middle = (a.x + b.x) / 2
    return Curve(a, Point(middle, a.y), Point(middle, b.y), b)


def simplified_path(pieces: Iterable[Curve]) -> Path:
    """Returns a path without empty pieces, consecutive horizontal pieces joined.

    >>> a, b, c = Point(0, 1), Point(2, 1), Point(6, 1)
    >>> simplified_path([line(a, b), line(b, b), line(b, c)]) == (line(a, c),)
    True
    """
    found: list[Curve] = []
    level: list[Curve] = []  # consecutive horizontal pieces at the end
    for piece in pieces:
        a, b, c, d = piece
        if a == d:
            continue
        straight = a[1] == b[1] == c[1] == d[1]
        if level and not (straight and level[-1].d == a):
            found.append(_level_line(level))
            level = []
        (level if straight else found).append(piece)
    return (*found, _level_line(level)) if level else tuple(found)


def _level_line(level: list[Curve]) -> Curve:
    return level[0] if len(level) == 1 else line(level[0].a, level[-1].d)


def extent(path: Path) -> Rectangle:
    """Returns the bounding box of all points of a path's curves."""
    return Rectangle.from_points([point for curve in path for point in curve])


def polygon(points: list[Point]) -> Path:
    """Returns the outline through points."""
    return tuple([line(a, b) for a, b in zip(points, [*points[1:], points[0]], strict=True)])


def corners(x: float, half: float, top: float, bottom: float) -> list[Point]:
    """Returns the corners of an upright box around x."""
    left, right = x - half, x + half
    return [Point(left, top), Point(right, top), Point(right, bottom), Point(left, bottom)]


@dataclass(frozen=True)
class DrawnWire:
    """An axis of an array, drawn from the op that makes it to the op that takes it.

    ``open_ends`` says which of its ends have no mark: "begins", "ends", both or neither.
    """

    array: str
    axis: str
    path: Path
    double: bool
    description: str
    made_by: str = ""
    taken_by: str = ""
    open_ends: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Dash:
    """The dashed separator between two arrays."""

    path: Path


@dataclass(frozen=True)
class Outline:
    """A shape, its fill ("none", a role, or a colour of the theme) and its stroke width."""

    path: Path
    paint: str = "none"
    stroke: float = 0.0
    is_closed: bool = True


@dataclass(frozen=True)
class Dot:
    """A filled circle where a wire splits or wires join; with ``paint`` "page" it is a ring."""

    center: Point
    radius: float
    paint: str = "ink"
    stroke: float = 0.0


@dataclass(frozen=True)
class Text:
    """A label whose baseline starts at ``position``; ``axis`` and ``array`` if it names a wire.

    ``paint`` is "light" on the colour "touch".
    """

    label: Label
    position: Point
    axis: str = ""
    array: str = ""
    paint: str = "ink"

    @property
    def box(self) -> Rectangle:
        (x, y), label = self.position, self.label
        return _new_tuple(Rectangle, (x, y - label.ascent, x + label.width, y + label.descent))


@dataclass(frozen=True)
class DrawnGlyph:
    """The drawing of one op. ``hit_box`` is its clickable box, ``ink`` the box of its ink.

    The box of a collapsed block has its fence's id as ``node``; ``cells`` are the ids of the ops
    inside. ``unit`` is the unit of the plan.
    """

    node: str
    role: str
    description: str
    items: tuple[Outline | Dot | Text, ...]
    hit_box: Rectangle
    ink: tuple[Rectangle, ...] = ()
    cells: tuple[str, ...] = ()
    unit: PlanItem | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True)
class DrawnFence:
    """The coloured region of a block with its title, or the brackets of a repetition."""

    id: str
    role: str
    box: Rectangle
    title: tuple[Text, ...] = ()
    words: str = ""
    brackets: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Annotation:
    """Anything that is not a wire, op or fence: a row arrow, an =, a callout, a grid of cells.

    ``kind`` is "arrow", "band", "cells", "note", "path" or "sign"; ``target_id`` is the id of the
    array, op or fence that it belongs to; ``behind`` says whether it lies under the wires.
    """

    kind: str
    items: tuple[Outline | Dot | Text, ...]
    words: str = ""
    target_id: str = ""
    behind: bool = False

    @property
    def box(self) -> Rectangle:
        """The bounding box of its items."""
        return Rectangle.union(map(_box, self.items))


def _box(item: Outline | Dot | Text) -> Rectangle:
    match item:
        case Outline():
            bounds = (Rectangle(*calcCubicBounds(*curve)) for curve in item.path)
            return Rectangle.union(bounds).grown(item.stroke / 2)
        case Dot():
            return Rectangle.from_center(item.center, item.radius + item.stroke / 2)
    return item.box


@dataclass(frozen=True)
class PictureTile:
    """A picture in a thumbnail: its box there, and its PNG with one pixel for each number."""

    box: Rectangle
    png: bytes = field(repr=False)


@dataclass(frozen=True)
class Thumbnail:
    """A small picture of the values of an array, in drawing units.

    Args:
        width: Its width.
        height: Its height.
        tiles: Its pictures, such as one for each head.
        marks: Boxes that are outlined, such as the row of one word.
        description: What it shows, for screen readers and on hover.

    Source: E. Tufte, *The Visual Display of Quantitative Information* (1983): small multiples.

    >>> Thumbnail(66.0, 66.0).tiles
    ()
    """

    width: float
    height: float
    tiles: tuple[PictureTile, ...] = ()
    marks: tuple[Rectangle, ...] = ()
    description: str = ""


@dataclass(frozen=True)
class DrawnThumbnail:
    """The place of an array's thumbnail in a drawing, and the thumbnail."""

    array: str
    box: Rectangle
    thumbnail: Thumbnail

    @property
    def tiles(self) -> Iterator[PictureTile]:
        """Yields the tiles at their places in the drawing."""
        move = Translation(self.box.x0, self.box.y0)
        return (PictureTile(move.box(tile.box), tile.png) for tile in self.thumbnail.tiles)

    @property
    def marks(self) -> Iterator[Rectangle]:
        """Yields the outlined boxes at their places in the drawing."""
        return map(Translation(self.box.x0, self.box.y0).box, self.thumbnail.marks)


@dataclass(frozen=True)
class DrawingData:
    """A diagram as primitives: input of :mod:`ncd.drawing.backends` and :mod:`ncd.drawing.lint`.

    ``paper_unit`` is how many points of TeX a drawing unit has on paper; 0 in a drawing for a
    screen, where it is a pixel.
    """

    title: str
    description: str
    box: Rectangle
    fences: tuple[DrawnFence, ...]
    dashes: tuple[Dash, ...]
    wires: tuple[DrawnWire, ...]
    glyphs: tuple[DrawnGlyph, ...]
    labels: tuple[Text, ...]
    extras: tuple[Annotation, ...] = ()
    thumbnails: tuple[DrawnThumbnail, ...] = ()
    highlighted_id: str = ""
    dark: bool = False
    palette: Palette = "quiet"
    paper_unit: float = 0.0

    @property
    def points(self) -> float:
        """The points of a drawing unit, of 1/72 inch each, as PDF and browsers have them."""
        return self.paper_unit * POINTS_OF_TEX if self.paper_unit else PIXEL

    @property
    def texts(self) -> list[Text]:
        """Every text: labels of wires, titles, and texts in marks."""
        titles = [text for fence in self.fences for text in fence.title]
        parts: list[DrawnGlyph | Annotation] = [*self.glyphs, *self.extras]
        marks = [item for part in parts for item in part.items if isinstance(item, Text)]
        return [*self.labels, *titles, *marks]


# --- The outline of a broad line along a path


def ribbon(path: Path, half: float) -> Path:
    """Returns the closed outline at a distance of ``half`` on both sides of a path.

    >>> from ncd.drawing.elements.primitives import Rectangle
    >>> wide = ribbon((line(Point(0, 0), Point(9, 0)),), 2)
    >>> [(round(c.a.x), round(c.a.y)) for c in wide]
    [(0, -2), (9, -2), (9, 2), (0, 2)]
    """
    there = [_parallel_curve(curve, half) for curve in path]
    back = [_parallel_curve(curve, -half).reversed for curve in reversed(path)]
    found: list[Curve] = []
    for curve in (*there, *back):
        if found and found[-1].d != curve.a:
            found.append(line(found[-1].d, curve.a))
        found.append(curve)
    return (*found, line(found[-1].d, found[0].a))


def _parallel_curve(curve: Curve, way: float) -> Curve:
    """Returns the parallel curve at a distance to the left."""
    points = []
    for n, p in enumerate(curve):
        before, after = curve[max(n - 1, 0)], curve[min(n + 1, 3)]
        x, y = after.x - before.x, after.y - before.y
        length = hypot(x, y) or 1.0
        points.append(Point(p.x + y / length * way, p.y - x / length * way))
    return Curve(*points)


# --- Moves and combines finished drawings

P = TypeVar("P", bound=DrawingData)
T = TypeVar("T")
Item = Outline | Dot | Text


def fast_replace(part: T, **new: object) -> T:
    """Returns a copy with other fields, as ``replace`` does, in a third of the time."""
    found = object.__new__(type(part))
    found.__dict__.update(part.__dict__, **new)
    return found


def merged_scene(drawings: Sequence[P]) -> P:
    """Returns the parts of several drawings in one; other fields are the first drawing's."""
    return replace(
        drawings[0],
        box=Rectangle.union(drawing.box for drawing in drawings),
        fences=tuple(fence for drawing in drawings for fence in drawing.fences),
        dashes=tuple(dash for drawing in drawings for dash in drawing.dashes),
        wires=tuple(wire for drawing in drawings for wire in drawing.wires),
        glyphs=tuple(glyph for drawing in drawings for glyph in drawing.glyphs),
        labels=tuple(label for drawing in drawings for label in drawing.labels),
        extras=tuple(extra for drawing in drawings for extra in drawing.extras),
        thumbnails=tuple(each for drawing in drawings for each in drawing.thumbnails),
    )


def move_drawing(drawing: P, dx: float, dy: float) -> P:
    """Returns the drawing moved by dx and dy.

    >>> from ncd import draw
    >>> from ncd import Id
    >>> drawing = draw(Id("y:2 m:3"))
    >>> move_drawing(drawing, 10, 20).box.x0 - drawing.box.x0
    10.0
    """
    move = Translation(dx, dy)
    return replace(
        drawing,
        box=move.box(drawing.box),
        fences=tuple(map(move.fence, drawing.fences)),
        dashes=tuple(Dash(move.path(dash.path)) for dash in drawing.dashes),
        wires=tuple(map(move.wire, drawing.wires)),
        glyphs=tuple(map(move.glyph, drawing.glyphs)),
        labels=tuple(map(move.text, drawing.labels)),
        extras=tuple(map(move.extra, drawing.extras)),
        thumbnails=tuple(map(move.thumbnail, drawing.thumbnails)),
    )


class Translation:
    """A translation of primitives."""

    def __init__(self, dx: float, dy: float) -> None:
        self.dx, self.dy = dx, dy

    def point(self, point: Point) -> Point:
        x, y = point
        return Point(x + self.dx, y + self.dy)

    def box(self, box: Rectangle) -> Rectangle:
        (x0, y0, x1, y1), dx, dy = box, self.dx, self.dy
        return Rectangle(x0 + dx, y0 + dy, x1 + dx, y1 + dy)

    def path(self, path: Path) -> Path:
        x, y, new = self.dx, self.dy, tuple.__new__  # faster than the constructors of named tuples
        found = []
        for (ax, ay), (bx, by), (cx, cy), (dx, dy) in path:
            a, b = new(Point, (ax + x, ay + y)), new(Point, (bx + x, by + y))
            c, d = new(Point, (cx + x, cy + y)), new(Point, (dx + x, dy + y))
            found.append(new(Curve, (a, b, c, d)))
        return tuple(found)

    def text(self, text: Text) -> Text:
        return fast_replace(text, position=self.point(text.position))

    def item(self, item: Item) -> Item:
        if isinstance(item, Outline):
            return fast_replace(item, path=self.path(item.path))
        if isinstance(item, Dot):
            return fast_replace(item, center=self.point(item.center))
        return self.text(item)

    def wire(self, wire: DrawnWire) -> DrawnWire:
        return fast_replace(wire, path=self.path(wire.path))

    def glyph(self, glyph: DrawnGlyph, **new: object) -> DrawnGlyph:
        """Returns the glyph moved, with other fields changed as well."""
        return fast_replace(
            glyph,
            items=tuple([self.item(item) for item in glyph.items]),
            hit_box=self.box(glyph.hit_box),
            ink=tuple([self.box(box) for box in glyph.ink]),
            **new,
        )

    def fence(self, fence: DrawnFence) -> DrawnFence:
        return replace(
            fence,
            box=self.box(fence.box),
            title=tuple(map(self.text, fence.title)),
            brackets=tuple(map(self.path, fence.brackets)),
        )

    def extra(self, extra: Annotation) -> Annotation:
        return replace(extra, items=tuple(map(self.item, extra.items)))

    def thumbnail(self, drawn: DrawnThumbnail) -> DrawnThumbnail:
        return replace(drawn, box=self.box(drawn.box))
