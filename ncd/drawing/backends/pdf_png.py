"""PDF with embedded fonts, and PNG within a limit of pixels."""

from __future__ import annotations

import json
import logging
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from io import BytesIO
from math import floor, inf, sqrt
from typing import Any

from ncd.drawing.backends import png_chunks
from ncd.drawing.backends.painting import Stroke, is_flat, layers
from ncd.drawing.backends.svg import write
from ncd.drawing.elements import style
from ncd.drawing.elements.fonts import FACES, FOLDER, Face, font_files
from ncd.drawing.elements.primitives import Dot, DrawingData, PictureTile, Text, fast_replace
from ncd.errors import LimitError, ParseError, SizeError, short_repr
from ncd.language.arguments import positive

# --- Writes a drawing as PDF: vectors, with the used characters of our fonts embedded

SHADOW = ((6, 0.05), (4, 0.05), (2, 0.06))  # strokes: width in drawing units, opacity
# The metadata of a file; ncd/write/file_facts.py reads them.
XMP = (
    '<x:xmpmeta xmlns:x="adobe:ns:meta/"><rdf:RDF '
    'xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="" '
    'xmlns:ncd="urn:neural-circuit-explorer"><ncd:about>{}</ncd:about></rdf:Description></rdf:RDF></x:xmpmeta>'
)
DATE = re.compile(rb"/CreationDate \(D:19700101000000[^)]*\)")  # for no date: fpdf wants one
STYLES = {("normal", 400): "", ("normal", 700): "B", ("italic", 400): "I"}


def pdf(drawing: DrawingData, about: Mapping[str, Any] | None = None) -> bytes:
    """Returns the PDF of a drawing, on one page of its size, with facts in its metadata."""
    import fpdf

    logging.getLogger("fontTools.subset").setLevel(logging.WARNING)
    box = drawing.box
    page = fpdf.FPDF(unit="pt", format=(box.width * drawing.points, box.height * drawing.points))
    page.set_creation_date(_date() or datetime.fromtimestamp(0, UTC))
    page.set_title(drawing.title)
    page.set_creator("neural circuit explorer")
    page.set_subject(drawing.description)
    if about:
        page.set_xmp_metadata(XMP.format(escape(json.dumps(about))))
    page.set_auto_page_break(False)
    page.c_margin = 0
    page.add_page()
    for face in sorted({span.face for text in drawing.texts for span in text.label.spans}):
        page.add_font(face.family, _style(face), FOLDER / FACES[face])
    _Page(page, drawing, fpdf.drawing).paint()
    made = bytes(page.output())
    return made if _date() else DATE.sub(lambda found: b" " * len(found[0]), made)


def _date() -> datetime | None:
    """Returns the date that a build asks for; without one, equal drawings give equal bytes.

    Raises ParseError for one that no calendar holds.

    Source: reproducible-builds.org, SOURCE_DATE_EPOCH.
    """
    seconds = os.environ.get("SOURCE_DATE_EPOCH", "")
    try:
        return datetime.fromtimestamp(int(seconds), UTC) if seconds else None
    except (ValueError, OverflowError, OSError):  # no whole number, or after the year 9999
        fact = f"SOURCE_DATE_EPOCH is {short_repr(seconds)}, but it is the seconds since 1970"
        raise ParseError(fact, cure="SOURCE_DATE_EPOCH=1700000000") from None


def _style(face: Face) -> Any:
    return STYLES[face.style, face.weight]


class _Page:
    """Paints on one page, converting drawing units to points."""

    def __init__(self, page: Any, drawing: DrawingData, shapes: Any) -> None:
        self.page, self.drawing, self.shapes = page, drawing, shapes
        self.unit = drawing.points

    def paint(self) -> None:
        if self.drawing.dark:
            self.page.set_fill_color(self.colour("page"))
            self.page.rect(0, 0, self.page.w, self.page.h, style="F")
        for part in layers(self.drawing):
            match part:
                case Stroke():
                    self.stroke(part)
                case Dot():
                    self.dot(part)
                case Text():
                    self.text(part)
                case PictureTile():
                    self.tile(part)

    def stroke(self, part: Stroke) -> None:
        if part.has_shadow:
            for width, dark in SHADOW:
                self.path(part, "none", "shadow", width, dark)
        self.path(part, part.fill, part.line, part.width)

    def path(self, part: Stroke, fill: str, line: str, width: float, opacity: float = 1) -> None:
        shapes = self.shapes
        with self.page.drawing_context() as context:
            path = shapes.PaintedPath()
            path.style.fill_color = None if fill == "none" else self.colour(fill)
            path.style.stroke_color = self.colour(line) if width else None
            path.style.stroke_width = width * self.unit
            path.style.stroke_opacity = opacity
            path.style.stroke_join_style = "round"
            path.style.stroke_cap_style = "round" if part.round else "butt"
            path.style.auto_close = part.is_closed
            if part.is_dashed:
                path.style.stroke_dash_pattern = [dash * self.unit for dash in style.DASH]
            self.trace(path, part)
            context.add_item(path)

    def trace(self, path: Any, part: Stroke) -> None:
        last = None
        for curve in part.path:
            if curve.a != last:
                path.move_to(*self.place(*curve.a))
            if is_flat(curve):
                path.line_to(*self.place(*curve.d))
            else:
                path.curve_to(*(n for point in curve[1:] for n in self.place(*point)))
            last = curve.d
        if part.is_closed:
            path.close()

    def dot(self, dot: Dot) -> None:
        page, (x, y) = self.page, self.place(*dot.center)
        page.set_fill_color(self.colour(dot.paint))
        page.set_draw_color(self.colour("ink"))
        page.set_line_width(dot.stroke * self.unit)
        page.circle(x, y, dot.radius * self.unit, style="DF" if dot.stroke else "F")

    def text(self, text: Text) -> None:
        page = self.page
        page.set_text_color(self.colour(text.paint))
        for span in text.label.spans:
            page.set_font(span.face.family, _style(span.face), span.size * self.unit)
            x, y = self.place(text.position.x + span.dx, text.position.y + span.dy)
            page.text(x, y, span.text)
        page.set_fill_color(self.colour(text.paint))
        for bar in text.label.bars:
            top = bar.y - bar.thickness / 2
            x, y = self.place(text.position.x + bar.x0, text.position.y + top)
            page.rect(x, y, (bar.x1 - bar.x0) * self.unit, bar.thickness * self.unit, style="F")

    def tile(self, tile: PictureTile) -> None:
        box, page = tile.box, self.page
        x, y = self.place(box.x0, box.y0)
        page.image(BytesIO(tile.png), x, y, box.width * self.unit, box.height * self.unit)

    def place(self, x: float, y: float) -> tuple[float, float]:
        return (x - self.drawing.box.x0) * self.unit, (y - self.drawing.box.y0) * self.unit

    def colour(self, name: str) -> Any:
        if name == "shadow":
            return self.shapes.color_from_hex_string("#000000")
        drawing = self.drawing
        colour = style.paint_colour(name, drawing.dark, drawing.palette)
        return self.shapes.color_from_hex_string(colour)


# --- Writes a drawing as PNG, within a limit of pixels

LARGEST = 100e6  # pixels, four bytes each
MAX_SHADOW_PIXELS = (
    25e6  # pixels times fences; a soft shadow costs a third of a second for each million
)
POINTS_OF_INCH = 72
RENDER = """
import json, sys, resvg_py
sys.stdout.buffer.write(bytes(resvg_py.svg_to_bytes(**json.load(sys.stdin))))
"""


def png(drawing: DrawingData, scale: float) -> bytes:
    """Returns the PNG of a drawing on its theme's page, with ``scale`` pixels for each unit.

    Where soft shadows would take long, fences have thin borders instead.
    """
    pixels = _pixels(drawing, scale)
    shadows = pixels * sum(not fence.brackets for fence in drawing.fences) <= MAX_SHADOW_PIXELS
    made = _run_resvg(
        svg_string=write(fast_replace(drawing, paper_unit=0.0), fonts=False, shadows=shadows),
        skip_system_fonts=True,
        font_files=[str(path) for path in font_files()],
        zoom=scale,
        background=style.paint_colour("page", drawing.dark, drawing.palette),
    )
    made = png_chunks.with_density(made, scale * POINTS_OF_INCH / drawing.points)
    made = png_chunks.with_text(made, "Description", drawing.description)
    return png_chunks.with_text(made, "Title", drawing.title)


def _run_resvg(**asked: object) -> bytes:
    """Runs resvg in a process of its own; in this one it would block all other threads."""
    command, given = [sys.executable, "-c", RENDER], json.dumps(asked).encode()
    return subprocess.run(command, input=given, stdout=subprocess.PIPE, check=True).stdout


def _pixels(drawing: DrawingData, scale: float) -> float:
    if not positive(scale) or scale == inf:
        fact = f"a picture cannot have {short_repr(scale)} pixels a unit"
        raise SizeError(fact, cure="scale 2", where="png")
    units = drawing.box.width * drawing.box.height
    pixels = units * scale * scale
    if pixels > LARGEST:
        nearest = floor(10 * sqrt(LARGEST / units)) / 10
        raise LimitError(
            f"at {scale:g} pixels a unit the picture has {pixels / 1e6:,.0f} megapixels, "
            f"more than the limit of {LARGEST / 1e6:.0f}",
            cure=f"scale {nearest:g}" if nearest else "SVG",
            where="png",
        )
    return pixels
