"""A drawing as data: primitives at their coordinates, each knowing what it is of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from ncd.draw.text import Label


class Point(NamedTuple):
    """A place in drawing units; y grows downwards."""

    x: float
    y: float


class Box(NamedTuple):
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

    def grown(self, by: float) -> Box:
        return Box(self.x0 - by, self.y0 - by, self.x1 + by, self.y1 + by)

    def meets(self, other: Box, slack: float = 0.0) -> bool:
        """Whether the two share more than ``slack`` in both directions."""
        return (
            min(self.x1, other.x1) - max(self.x0, other.x0) > slack
            and min(self.y1, other.y1) - max(self.y0, other.y0) > slack
        )

    @staticmethod
    def around(boxes: list[Box]) -> Box:
        return Box(
            min(b.x0 for b in boxes),
            min(b.y0 for b in boxes),
            max(b.x1 for b in boxes),
            max(b.y1 for b in boxes),
        )


class Curve(NamedTuple):
    """A cubic Bézier; a straight piece has its control points on the line."""

    a: Point
    b: Point
    c: Point
    d: Point

    def at(self, t: float) -> Point:
        u = 1 - t
        k = (u * u * u, 3 * u * u * t, 3 * u * t * t, t * t * t)
        return Point(
            sum(w * p.x for w, p in zip(k, self, strict=True)),
            sum(w * p.y for w, p in zip(k, self, strict=True)),
        )

    @property
    def straight(self) -> bool:
        return self.a.y == self.b.y == self.c.y == self.d.y


Path = tuple[Curve, ...]


def line(a: Point, b: Point) -> Curve:
    """A straight piece."""
    third = Point((b.x - a.x) / 3, (b.y - a.y) / 3)
    return Curve(a, Point(a.x + third.x, a.y + third.y), Point(b.x - third.x, b.y - third.y), b)


def ease(a: Point, b: Point) -> Curve:
    """A piece that leaves and enters level."""
    if a.y == b.y:
        return line(a, b)
    middle = (a.x + b.x) / 2
    return Curve(a, Point(middle, a.y), Point(middle, b.y), b)


def halves(curve: Curve) -> tuple[Curve, Curve]:
    """The curve cut in the middle (de Casteljau)."""

    def mid(p: Point, q: Point) -> Point:
        return Point((p.x + q.x) / 2, (p.y + q.y) / 2)

    a, b, c, d = curve
    ab, bc, cd = mid(a, b), mid(b, c), mid(c, d)
    abc, bcd = mid(ab, bc), mid(bc, cd)
    m = mid(abc, bcd)
    return Curve(a, ab, abc, m), Curve(m, bcd, cd, d)


@dataclass(frozen=True)
class Wire:
    """An axis of an array, from the op that makes it to the op that takes it."""

    array: str
    axis: str
    path: Path
    double: bool
    words: str
    made_by: str = ""
    taken_by: str = ""


@dataclass(frozen=True)
class Dash:
    """The dashed line between two arrays."""

    path: Path


@dataclass(frozen=True)
class Shape:
    """An outline; ``paint``, its fill, is "ink", "page", "none" or a role, ``stroke`` a width."""

    path: Path
    paint: str = "none"
    stroke: float = 0.0
    closed: bool = True


@dataclass(frozen=True)
class Dot:
    """A filled circle, where a wire splits or wires join; ``paint`` "page" makes it a ring."""

    center: Point
    radius: float
    paint: str = "ink"
    stroke: float = 0.0


@dataclass(frozen=True)
class Text:
    """A label, its baseline starting at ``at``; ``axis`` and ``array`` if it names a wire."""

    label: Label
    at: Point
    axis: str = ""
    array: str = ""

    @property
    def box(self) -> Box:
        x, y = self.at
        return Box(x, y - self.label.ascent, x + self.label.width, y + self.label.descent)


@dataclass(frozen=True)
class Glyph:
    """What is drawn of one op. ``hit`` is where it can be clicked, ``ink`` what it covers."""

    node: str
    role: str
    words: str
    items: tuple[Shape | Dot | Text, ...]
    hit: Box
    ink: tuple[Box, ...] = ()


@dataclass(frozen=True)
class Fence:
    """A coloured region with its title, behind what it holds; or the brackets of a repetition."""

    id: str
    role: str
    box: Box
    title: tuple[Text, ...] = ()
    words: str = ""
    brackets: tuple[Path, ...] = ()


@dataclass(frozen=True)
class Drawing:
    """A diagram: what :mod:`ncd.draw.svg` writes and :mod:`ncd.draw.lint` checks."""

    title: str
    description: str
    box: Box
    fences: tuple[Fence, ...]
    dashes: tuple[Dash, ...]
    wires: tuple[Wire, ...]
    glyphs: tuple[Glyph, ...]
    labels: tuple[Text, ...]
    marked: str = ""
    dark: bool = False

    def svg(self, fonts: bool = True) -> str:
        """The drawing as SVG text; with ``fonts`` it looks the same when it is opened alone."""
        from ncd.draw.svg import write

        return write(self, fonts)

    def png(self, scale: float = 2.0) -> bytes:
        """The drawing as PNG bytes, ``scale`` pixels a drawing unit."""
        from ncd.draw.svg import png

        return png(self, scale)
