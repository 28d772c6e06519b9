"""Metrics and CSS of the fonts in `assets/fonts`, read once for each face.

Metrics are in em, with y upwards.
"""

from __future__ import annotations

import unicodedata
from base64 import b64encode
from collections.abc import Iterable, Mapping
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import NamedTuple, Protocol

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

from ncd.installation import package_path

FOLDER = package_path("assets", "fonts")
ROMAN, MATH, SANS = "NCD Roman", "NCD Math", "NCD Sans"


class Face(NamedTuple):
    """A font: a family in one style and weight, named as in CSS."""

    family: str
    style: str = "normal"
    weight: int = 400


FACES: Mapping[Face, str] = {
    Face(ROMAN): "ncd-roman.ttf",
    Face(ROMAN, "italic"): "ncd-roman-italic.ttf",
    Face(ROMAN, weight=700): "ncd-roman-bold.ttf",
    Face(MATH): "ncd-math.ttf",
    Face(SANS): "ncd-sans.ttf",
    Face(SANS, weight=700): "ncd-sans-bold.ttf",
}


class _Glyph(NamedTuple):
    name: str
    advance: float
    box: tuple[float, float, float, float] | None  # x0, y0, x1, y1 of the ink, y upwards


class _Metrics(NamedTuple):
    glyphs: Mapping[str, _Glyph]
    kerning: Mapping[tuple[str, str], float]


@lru_cache
def _metrics(face: Face) -> _Metrics:
    # Two threads may both read a font at first: they get equal values, and share no open file.
    font = TTFont(FOLDER / FACES[face])
    em, outlines, widths = font["head"].unitsPerEm, font["glyf"], font["hmtx"]
    glyphs = {}
    for code, name in font.getBestCmap().items():
        shape = outlines[name]
        box = (shape.xMin, shape.yMin, shape.xMax, shape.yMax) if shape.numberOfContours else None
        scaled = box and (box[0] / em, box[1] / em, box[2] / em, box[3] / em)
        glyphs[chr(code)] = _Glyph(name, widths[name][0] / em, scaled)
    pairs = font["kern"].kernTables[0].kernTable if "kern" in font else {}
    return _Metrics(glyphs, {pair: value / em for pair, value in pairs.items()})


def _glyph(face: Face, char: str) -> _Glyph:
    return _metrics(face).glyphs.get(char) or _guess(char)


def has_glyph(face: Face, char: str) -> bool:
    """Returns whether a face contains a character."""
    return char in _metrics(face).glyphs


def _guess(char: str) -> _Glyph:
    """Returns a plausible size for a character that a fallback font will draw."""
    if unicodedata.category(char)[0] in "MC":
        return _Glyph("", 0.0, None)
    wide = unicodedata.east_asian_width(char) in "WF" or ord(char) >= 0x1F000
    width = 1.0 if wide else 0.6
    return _Glyph("", width, (0.0, -0.2, width, 0.8))


class Ink(NamedTuple):
    """The end of a run, and the box of its ink, if it has any; y downwards."""

    advance: float
    box: tuple[float, float, float, float] | None


@lru_cache(maxsize=4096)
def measure(face: Face, text: str) -> Ink:
    kerning, x, boxes, before = _metrics(face).kerning, 0.0, [], ""
    for glyph in (_glyph(face, char) for char in text):
        x += kerning.get((before, glyph.name), 0.0)
        if glyph.box:
            x0, y0, x1, y1 = glyph.box
            boxes.append((x + x0, -y1, x + x1, -y0))
        x, before = x + glyph.advance, glyph.name
    return Ink(x, union(boxes))


def union(boxes: Iterable[tuple[float, ...]]) -> tuple[float, float, float, float] | None:
    sides = tuple(zip(*boxes, strict=True))
    return (min(sides[0]), min(sides[1]), max(sides[2]), max(sides[3])) if sides else None


# --- CSS ---


class TextRun(Protocol):
    """Text in one face."""

    @property
    def face(self) -> Face: ...

    @property
    def text(self) -> str: ...


def font_faces(spans: Iterable[TextRun]) -> str:
    """Returns CSS that embeds the used characters of each face.

    >>> from ncd.drawing.elements.labels import math
    >>> font_faces(math("k").spans)[:57]
    '@font-face{font-family:"NCD Roman";font-style:italic;font'
    """
    letters: dict[Face, set[str]] = {face: set() for face in FACES}
    for span in spans:
        letters[span.face].update(span.text)
    return "".join(_css(face, frozenset(chars)) for face, chars in letters.items() if chars)


@lru_cache
def all_faces_css() -> str:
    """Returns CSS that embeds every face completely, for pages with many drawings.

    >>> all_faces_css().count("@font-face")
    6
    """
    return "".join(_css(face, None) for face in FACES)


def font_files() -> tuple[Path, ...]:
    """Returns the font files, for renderers without embedded fonts, such as resvg.

    >>> font_files()[0].name
    'ncd-roman.ttf'
    """
    return tuple(FOLDER / name for name in FACES.values())


@lru_cache(maxsize=512)
def _css(face: Face, chars: frozenset[str] | None) -> str:
    font = TTFont(FOLDER / FACES[face], recalcTimestamp=False)
    if chars is not None:
        subsetter = Subsetter(Options(notdef_outline=True, recalc_timestamp=False, name_IDs=[]))
        subsetter.populate(text="".join(chars))
        subsetter.subset(font)
    font.flavor, file = "woff2", BytesIO()
    font.save(file)
    return (
        f'@font-face{{font-family:"{face.family}";font-style:{face.style};font-weight:{face.weight};'
        f'src:url(data:font/woff2;base64,{b64encode(file.getvalue()).decode()}) format("woff2")}}'
    )
