"""Writes a drawing as PNG, within a limit of pixels."""

from __future__ import annotations

import json
import subprocess
import sys
from math import floor, inf, sqrt

from ncd import png_chunks
from ncd.drawing.backends.svg import write
from ncd.drawing.base import style
from ncd.drawing.base.fonts import font_files
from ncd.drawing.base.primitives import Picture
from ncd.lang.errors import LimitError, SizeError, shown
from ncd.lang.terms.arguments import positive

LARGEST = 100e6  # pixels, four bytes each
SHADED = 25e6  # pixels times fences; a soft shadow costs a third of a second for each million
UNITS = 96  # drawing units in an inch, as CSS has it
RENDER = """
import json, sys, resvg_py
sys.stdout.buffer.write(bytes(resvg_py.svg_to_bytes(**json.load(sys.stdin))))
"""


def png(drawing: Picture, scale: float) -> bytes:
    """Returns the PNG of a drawing on its theme's page, with ``scale`` pixels for each unit.

    Where soft shadows would take long, fences have thin borders instead.
    """
    pixels = _pixels(drawing, scale)
    shadows = pixels * sum(not fence.brackets for fence in drawing.fences) <= SHADED
    made = _rendered(
        svg_string=write(drawing, fonts=False, shadows=shadows),
        skip_system_fonts=True,
        font_files=[str(path) for path in font_files()],
        zoom=scale,
        background=style.theme(drawing.dark).page,
    )
    made = png_chunks.with_density(made, scale * UNITS)
    made = png_chunks.with_text(made, "Description", drawing.description)
    return png_chunks.with_text(made, "Title", drawing.title)


def _rendered(**asked: object) -> bytes:
    """Runs resvg in a process of its own; in this one it would block all other threads."""
    command, given = [sys.executable, "-c", RENDER], json.dumps(asked).encode()
    return subprocess.run(command, input=given, stdout=subprocess.PIPE, check=True).stdout


def _pixels(drawing: Picture, scale: float) -> float:
    if not positive(scale) or scale == inf:
        fact = f"a picture cannot have {shown(scale)} pixels a unit"
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
