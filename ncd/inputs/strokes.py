"""Drawings as text short enough for a link, and as pictures.

A point is four hexadecimal digits: x from 00 to ff, then y. Dots separate strokes:
``4020c020.80208ff0``.
"""

from __future__ import annotations

import math
import re
from itertools import takewhile

from PIL import Image, ImageDraw

SIDE = 256  # grid points across and down
MOST = 4000  # characters of a drawing
PEN = 0.13  # thickness of a line, as a share of the side
MARGIN = 0.04  # around a drawing that fills the picture
FINE = 8  # oversampling factor
STROKE = re.compile(r"(?:[0-9a-f]{4})+")

Points = list[tuple[float, float]]


def valid(text: object) -> str:
    """Returns the longest valid beginning of a text.

    >>> valid("4020c020.80208ff0"), valid("4020<script>"), valid(None), len(valid("4020" * 9000))
    ('4020c020.80208ff0', '', '', 4000)
    """
    strokes = text[:MOST].split(".") if isinstance(text, str) else []
    return ".".join(takewhile(STROKE.fullmatch, strokes))


def parse(text: str) -> list[Points]:
    """Returns the strokes of a drawing, with coordinates from 0 to 1.

    >>> parse("00ff.3300")
    [[(0.0, 1.0)], [(0.2, 0.0)]]
    """
    last = SIDE - 1
    return [
        [
            (int(stroke[i : i + 2], 16) / last, int(stroke[i + 2 : i + 4], 16) / last)
            for i in range(0, len(stroke), 4)
        ]
        for stroke in filter(None, valid(text).split("."))
    ]


def as_text(strokes: list[Points]) -> str:
    """Returns strokes as text.

    >>> as_text(parse("4020c020.80208ff0"))
    '4020c020.80208ff0'
    """
    last = SIDE - 1
    return ".".join(
        "".join(f"{round(x * last):02x}{round(y * last):02x}" for x, y in stroke)
        for stroke in strokes
    )


def centred(strokes: list[Points]) -> list[Points]:
    """Returns the strokes centred and scaled to fill the picture."""
    points = [point for stroke in strokes for point in stroke]
    if not points:
        return []
    left, right = min(x for x, _ in points), max(x for x, _ in points)
    top, bottom = min(y for _, y in points), max(y for _, y in points)
    scale = (1 - PEN - 2 * MARGIN) / max(right - left, bottom - top, PEN)
    across, down = (left + right) / 2, (top + bottom) / 2
    return [
        [(0.5 + scale * (x - across), 0.5 + scale * (y - down)) for x, y in stroke]
        for stroke in strokes
    ]


def picture(strokes: list[Points], height: int, width: int) -> Image.Image:
    """Returns the strokes as a picture, white on black."""
    wide, high = FINE * width, FINE * height
    image = Image.new("L", (wide, high))
    pen, paint = PEN * min(wide, high), ImageDraw.Draw(image)
    for stroke in strokes:
        points = [(x * wide, y * high) for x, y in stroke]
        paint.line(points, fill=255, width=math.ceil(pen), joint="curve")
        for x, y in points:
            paint.ellipse((x - pen / 2, y - pen / 2, x + pen / 2, y + pen / 2), fill=255)
    return image.resize((width, height), Image.Resampling.BOX)
