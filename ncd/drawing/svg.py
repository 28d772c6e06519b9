"""A drawing as SVG. This file knows only primitives; what they are of, it copies from them.

Every element carries ``data-node``, ``data-axis`` or ``data-array`` and a ``<title>`` in words.
Wires and ops can be reached with Tab in reading order.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from collections.abc import Iterator
from math import hypot

from ncd.drawing import style
from ncd.drawing.data import (
    Dot,
    DrawnFence,
    DrawnGlyph,
    DrawnWire,
    Outline,
    Path,
    Picture,
    Point,
    Text,
    line,
)
from ncd.drawing.fonts import font_faces
from ncd.drawing.paths import commands, number
from ncd.drawing.text import Span

Element = ET.Element


def write(drawing: Picture, fonts: bool, shadows: bool = True) -> str:
    """The SVG text of a drawing; without ``shadows`` fences have thin borders instead."""
    return ET.tostring(_Writer(drawing, shadows).document(fonts), encoding="unicode")


class _Writer:
    """Writes one drawing; colours come from the style table alone."""

    def __init__(self, drawing: Picture, shadows: bool) -> None:
        self.drawing, self.shadows = drawing, shadows
        self.theme = style.theme(drawing.dark)
        self.ends = {wire.path[-1].d for wire in drawing.wires if wire.path}

    def document(self, fonts: bool) -> Element:
        root = self.root(fonts)
        if self.shadows:
            self.shadow(root)
        for fence in self.drawing.fences:
            self.fence(root, fence)
        look = {"class": "dash", "fill": "none", "stroke": self.theme.ink}
        look["stroke-width"] = number(style.DASH_WIDTH)
        look["stroke-dasharray"] = " ".join(map(number, style.DASH))
        for dash in self.drawing.dashes:
            ET.SubElement(root, "path", {"d": commands(dash.path), **look})
        for item in self.reading_order():
            if isinstance(item, DrawnWire):
                self.wire(root, item)
            else:
                self.glyph(root, item)
        self.dots(root)
        for label in self.drawing.labels:
            self.text(root, label)
        return root

    def root(self, fonts: bool) -> Element:
        drawing, box = self.drawing, self.drawing.box
        size = {"width": number(box.width), "height": number(box.height)}
        attributes = {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": " ".join(map(number, (box.x0, box.y0, box.width, box.height))),
            "role": "group",
            "aria-label": printable(drawing.title),
            "class": "ncd",
            "color": self.theme.ink,
        }
        root = Element("svg", attributes | size)
        ET.SubElement(root, "title").text = printable(drawing.title)
        ET.SubElement(root, "desc").text = printable(drawing.description)
        if fonts:
            ET.SubElement(root, "style").text = font_faces(self.spans())
        return root

    def dots(self, root: Element) -> None:
        """The dots lie over the wires that meet in them; a click falls through to the op."""
        group = ET.SubElement(root, "g", {"class": "dots", "pointer-events": "none"})
        for glyph in self.drawing.glyphs:
            for item in glyph.items:
                if isinstance(item, Dot) and item.paint == "ink":
                    self.dot(group, item)

    def reading_order(self) -> list[DrawnWire | DrawnGlyph]:
        """From left to right, then from top to bottom: the order of Tab."""

        def key(item: DrawnWire | DrawnGlyph) -> tuple[float, float]:
            if isinstance(item, DrawnWire):
                start = item.path[0].a if item.path else self.drawing.box[:2]
                return (start[0], start[1])
            return (item.hit.x0 + 0.5, item.hit.y0)

        return sorted([*self.drawing.wires, *self.drawing.glyphs], key=key)

    def spans(self) -> Iterator[Span]:
        for text in self.drawing.texts:
            yield from text.label.spans

    def shadow(self, root: Element) -> None:
        defs = ET.SubElement(root, "defs")
        around = {"id": "ncd-shadow", "x": "-20%", "y": "-20%", "width": "140%", "height": "140%"}
        soft = ET.SubElement(defs, "filter", around)
        ET.SubElement(
            soft,
            "feDropShadow",
            {
                "dx": "0",
                "dy": "0",
                "stdDeviation": number(style.SHADOW),
                "flood-color": "#000000",
                "flood-opacity": number(self.theme.shadow),
            },
        )

    def fence(self, root: Element, fence: DrawnFence) -> None:
        group = ET.SubElement(root, "g", {"data-fence": fence.id, "data-role": fence.role})
        ET.SubElement(group, "title").text = printable(fence.words)
        for path in fence.brackets:
            look = {"fill": "none", "stroke": self.theme.ink}
            look |= {"stroke-width": number(style.BRACKET), "stroke-linecap": "round"}
            ET.SubElement(group, "path", {"d": commands(path), **look})
        if not fence.brackets:
            x0, y0, x1, y1 = fence.box
            frame = {"x": number(x0), "y": number(y0)}
            frame |= {"width": number(x1 - x0), "height": number(y1 - y0)}
            frame |= {"fill": style.fill(fence.role, self.drawing.dark)}
            if self.shadows:
                frame |= {"filter": "url(#ncd-shadow)"}
            else:
                frame |= {"stroke": self.theme.ink, "stroke-opacity": number(self.theme.shadow)}
            ET.SubElement(group, "rect", frame)
        for text in fence.title:
            self.text(group, text)

    def wire(self, root: Element, wire: DrawnWire) -> None:
        group = ET.SubElement(
            root,
            "g",
            {
                "class": "wire double" if wire.double else "wire",
                "data-array": wire.array,
                "data-axis": wire.axis,
                **self.button(wire.words),
            },
        )
        ET.SubElement(group, "title").text = printable(wire.words)
        d = commands(wire.path)
        common = {"d": d, "fill": "none"}
        hit = {"class": "hit", "stroke": "transparent", "stroke-width": number(style.HIT)}
        ET.SubElement(group, "path", {**common, **hit})
        ink = {**common, "class": "ink", "stroke": self.theme.ink}
        if not wire.double:
            ET.SubElement(group, "path", {**ink, "stroke-width": number(style.WIRE)})
            return
        outer = style.DOUBLE + style.WIRE
        ET.SubElement(group, "path", {**ink, "stroke-width": number(outer)})
        inner = {"d": commands(self.gap(wire)), "fill": "none"}
        inner |= {"class": "gap", "stroke": self.theme.page}
        ET.SubElement(group, "path", {**inner, "stroke-width": number(style.DOUBLE - style.WIRE)})

    def gap(self, wire: DrawnWire) -> Path:
        """The path between the two lines of a double wire.

        Where the wire goes on from another it starts a little earlier, or the seam would show.
        """
        first = wire.path[0]
        if first.a not in self.ends:
            return wire.path
        x, y = first.b.x - first.a.x, first.b.y - first.a.y
        back = style.SEAM / max(hypot(x, y), 1e-6)
        before = Point(first.a.x - back * x, first.a.y - back * y)
        return (line(before, first.a), *wire.path)

    def glyph(self, root: Element, glyph: DrawnGlyph) -> None:
        marked = glyph.node == self.drawing.marked
        words = f"{glyph.words}; this does not fit" if marked else glyph.words
        group = ET.SubElement(
            root,
            "g",
            {
                "class": "op marked" if marked else "op",
                "data-node": glyph.node,
                "data-role": glyph.role,
                **self.button(words),
            },
        )
        ET.SubElement(group, "title").text = printable(words)
        x0, y0, x1, y1 = glyph.hit
        frame = {"x": number(x0), "y": number(y0), "width": number(x1 - x0)}
        frame |= {"height": number(y1 - y0), "rx": number(style.CORNER)}
        frame |= {"class": "hit", "fill": "transparent"}
        if marked:
            frame |= {"stroke": self.theme.error, "stroke-width": number(style.ERROR)}
            frame["stroke-dasharray"] = " ".join(map(number, style.ERROR_DASH))
        ET.SubElement(group, "rect", frame)
        for item in glyph.items:
            match item:
                case Outline():
                    self.shape(group, item)
                case Dot() if item.paint != "ink":
                    self.dot(group, item)
                case Text():
                    self.text(group, item)

    def button(self, words: str) -> dict[str, str]:
        return {"tabindex": "0", "role": "button", "aria-label": printable(words)}

    def paint(self, name: str) -> str:
        known = {"ink": self.theme.ink, "page": self.theme.page, "none": "none"}
        return known.get(name) or style.fill(name, self.drawing.dark)

    def shape(self, root: Element, shape: Outline) -> None:
        attributes = {"d": commands(shape.path, shape.closed)}
        attributes["fill"] = self.paint(shape.paint)
        if shape.stroke:
            attributes |= {
                "stroke": self.theme.ink,
                "stroke-width": number(shape.stroke),
                "stroke-linejoin": "round",
            }
        ET.SubElement(root, "path", attributes)

    def dot(self, root: Element, dot: Dot) -> None:
        attributes = {
            "cx": number(dot.center.x),
            "cy": number(dot.center.y),
            "r": number(dot.radius),
            "fill": self.paint(dot.paint),
        }
        if dot.stroke:
            attributes |= {"stroke": self.theme.ink, "stroke-width": number(dot.stroke)}
        ET.SubElement(root, "circle", attributes)

    def text(self, root: Element, text: Text) -> None:
        data = {"class": "label"}
        if text.axis:
            data |= {"data-axis": text.axis, "data-array": text.array}
        group = ET.SubElement(root, "g", data)
        ET.SubElement(group, "title").text = printable(text.label.words)
        colour = self.theme.ink
        for span in text.label.spans:
            ET.SubElement(
                group,
                "text",
                {
                    "x": number(text.at.x + span.dx),
                    "y": number(text.at.y + span.dy),
                    "font-family": span.family,
                    "font-size": number(span.size),
                    "font-style": span.style,
                    "font-weight": str(span.weight),
                    "fill": colour,
                },
            ).text = printable(span.text)
        for bar in text.label.bars:
            ET.SubElement(
                group,
                "path",
                {
                    "d": f"M{number(text.at.x + bar.x0)} {number(text.at.y + bar.y)}"
                    f"H{number(text.at.x + bar.x1)}",
                    "stroke": colour,
                    "stroke-width": number(bar.thickness),
                },
            )


def printable(text: str) -> str:
    """The text without the control characters that XML cannot hold."""
    return "".join(char for char in text if char.isprintable() or char in "\n\t")
