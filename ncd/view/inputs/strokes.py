"""Drawings: strokes of a pen as a short text that a link can hold, and the picture they make.

A point is four hexadecimal digits, its place across and down from 00 to ff; strokes are parted by
dots: ``4020c020.80208ff0``.
"""

from __future__ import annotations

import math
import re
from itertools import takewhile

from PIL import Image, ImageDraw

SIDE = 256  # places across and down
MOST = 4000  # letters of a drawing
PEN = 0.13  # thickness of a line, of the picture's side
MARGIN = 0.04  # around a drawing that fills the picture
FINE = 8  # so many times finer it is drawn than it is shown
STROKE = re.compile(r"(?:[0-9a-f]{4})+")

Points = list[tuple[float, float]]


def sound(text: object) -> str:
    """As much of a text as is a drawing.

    >>> sound("4020c020.80208ff0"), sound("4020<script>"), sound(None), len(sound("4020" * 9000))
    ('4020c020.80208ff0', '', '', 4000)
    """
    strokes = text[:MOST].split(".") if isinstance(text, str) else []
    return ".".join(takewhile(STROKE.fullmatch, strokes))


def read(text: str) -> list[Points]:
    """The strokes of a drawing, each point from 0 to 1 across and down.

    >>> read("00ff.3300")
    [[(0.0, 1.0)], [(0.2, 0.0)]]
    """
    last = SIDE - 1
    return [
        [
            (int(stroke[i : i + 2], 16) / last, int(stroke[i + 2 : i + 4], 16) / last)
            for i in range(0, len(stroke), 4)
        ]
        for stroke in filter(None, sound(text).split("."))
    ]


def written(strokes: list[Points]) -> str:
    """The text of strokes.

    >>> written(read("4020c020.80208ff0"))
    '4020c020.80208ff0'
    """
    last = SIDE - 1
    return ".".join(
        "".join(f"{round(x * last):02x}{round(y * last):02x}" for x, y in stroke)
        for stroke in strokes
    )


def fitted(strokes: list[Points]) -> list[Points]:
    """The strokes in the middle, as large as the picture lets them be."""
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


def drawn(strokes: list[Points], height: int, width: int) -> Image.Image:
    """The strokes, white on black."""
    wide, high = FINE * width, FINE * height
    image = Image.new("L", (wide, high))
    pen, paint = PEN * min(wide, high), ImageDraw.Draw(image)
    for stroke in strokes:
        points = [(x * wide, y * high) for x, y in stroke]
        paint.line(points, fill=255, width=math.ceil(pen), joint="curve")
        for x, y in points:
            paint.ellipse((x - pen / 2, y - pen / 2, x + pen / 2, y + pen / 2), fill=255)
    return image.resize((width, height), Image.Resampling.BOX)
