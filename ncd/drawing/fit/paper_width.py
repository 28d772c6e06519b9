"""Drawings for paper, where labels keep their size: nothing is shrunk to a width in TeX units."""

from __future__ import annotations

import re
from collections.abc import Callable

from ncd.drawing.backends.drawing import Drawing
from ncd.drawing.backends.tikz import UNIT
from ncd.lang.errors import SizeError, shown

# Points of TeX in each of its units (Knuth 1984, "The TeXbook", chapter 10).
UNITS = {
    "pt": 1.0,
    "bp": 72.27 / 72,
    "pc": 12.0,
    "in": 72.27,
    "cm": 72.27 / 2.54,
    "mm": 7.227 / 2.54,
}
WRITTEN = re.compile(rf"(\d{{1,5}}(?:\.\d{{1,9}})?)\s*({'|'.join(UNITS)})")
TRIES = 5  # drawings at most, each narrower than the one before it
STEP = 0.95  # the largest share of the last width that the next try has


def drawing_units(width: str) -> float:
    """Returns a width in TeX units, such as ``12cm``, in drawing units.

    Raises SizeError for any other text.

    >>> round(drawing_units("12cm")), drawing_units("100 pt")
    (683, 200.0)
    """
    found = WRITTEN.fullmatch(width.strip())
    size = float(found[1]) * UNITS[found[2]] if found else 0.0
    if not size:
        units = ", ".join(UNITS)
        raise SizeError(
            f"{shown(width)} is no width in TeX units ({units})", cure='width="12cm"', where="draw"
        )
    return size / UNIT


def fitted(drawn: Callable[[float], Drawing], most: float) -> Drawing:
    """Returns the first of narrower and narrower drawings that takes at most this width.

    Drawings for a screen may be wider than asked for, as they are shrunk while their text can be
    read. If none fits, it is the narrowest.
    """
    tried: list[Drawing] = []
    room = most
    for _ in range(TRIES):
        tried.append(drawn(room))
        wide = tried[-1].box.width
        if wide <= most:
            return tried[-1]
        room *= min(STEP, most / wide)
    return min(tried, key=lambda drawing: drawing.box.width)
