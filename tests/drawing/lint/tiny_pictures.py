"""Drawings of a few parts with round coordinates, for the bounds of the lint rules."""

from __future__ import annotations

from itertools import pairwise

from ncd.drawing.elements.labels import Label
from ncd.drawing.elements.primitives import (
    Annotation,
    Dash,
    DrawingData,
    DrawnFence,
    DrawnGlyph,
    DrawnWire,
    Outline,
    Path,
    Point,
    Rectangle,
    Text,
    corners,
    line,
    polygon,
)
from ncd.drawing.lint.flat_drawing import DrawingArrays

PAGE = Rectangle(0, 0, 200, 100)


def picture(page: Rectangle = PAGE, **parts: object) -> DrawingData:
    every = dict.fromkeys(("fences", "dashes", "wires", "glyphs", "labels", "extras"), ())
    return DrawingData("", "", page, **every | parts)


def faults(rule, page: Rectangle = PAGE, **parts: object) -> list[str]:
    return list(rule(DrawingArrays(picture(page, **parts))))


def text(box: tuple[float, float, float, float], words: str = "q", axis="", array="") -> Text:
    """A text whose box is this one."""
    x0, y0, x1, y1 = box
    return Text(Label((), (), x1 - x0, y1 - y0, 0.0, words), Point(x0, y1), axis, array)


def run(*points: tuple[float, float]) -> Path:
    """A path of straight pieces through points."""
    return tuple(line(Point(*a), Point(*b)) for a, b in pairwise(points))


def wire(*points: tuple[float, float], name: str = "v x", made="", taken="", **more) -> DrawnWire:
    array, axis = name.split()
    path = more.pop("path", run(*points))
    return DrawnWire(array, axis, path, more.pop("double", False), "", made, taken, **more)


def outline(box: tuple[float, float, float, float], paint: str = "note") -> Outline:
    x0, y0, x1, y1 = box
    return Outline(polygon(corners((x0 + x1) / 2, (x1 - x0) / 2, y0, y1)), paint)


def glyph(*ink: tuple[float, float, float, float], node: str = "n1", **more) -> DrawnGlyph:
    boxes = tuple(Rectangle(*box) for box in ink)
    hit = more.pop("hit", None) or Rectangle.union(boxes)
    return DrawnGlyph(node, "linear", node.upper(), more.pop("items", ()), hit, boxes, **more)


def fence(box: tuple[float, float, float, float], words: str = "F", *title: Text, **more):
    return DrawnFence("f1", "linear", Rectangle(*box), title, words, **more)


def extra(*boxes: tuple[float, float, float, float], kind="sign", words="E", **more) -> Annotation:
    return Annotation(kind, tuple(outline(box) for box in boxes), words, **more)


def dash(*points: tuple[float, float]) -> Dash:
    return Dash(run(*points))
