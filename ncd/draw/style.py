"""The one table of colours and sizes; a role has the same colour in every view.

Fills are the published figures' (read off in their units); the dark ones are partners of the same
hue on which light ink has a contrast of at least 4.5 : 1. Colour is never the only sign.
"""

from __future__ import annotations

from dataclasses import dataclass

# role: fill on light pages, fill on dark pages
ROLES: dict[str, tuple[str, str]] = {
    "activate": ("#fce0e1", "#5a3338"),
    "concat": ("#ffd797", "#654614"),
    "convolution": ("#e5f2f9", "#27404e"),
    "copy": ("#f5d423", "#5f5208"),
    "einsum": ("#c5bedf", "#453c66"),
    "folded": ("#b8e986", "#3a5418"),
    "linear": ("#e8eeeb", "#3a4842"),
    "mask": ("#e3e3e6", "#45464d"),
    "module": ("#ffe2bb", "#4c3a20"),
    "neutral": ("#f3f3f4", "#2c2e35"),
    "repeat": ("#f3f3f4", "#2c2e35"),
    "reshape": ("#fce0e1", "#5a3338"),
    "residual": ("#dbdfef", "#383f5c"),
    "scale": ("#fdf9c0", "#575017"),
    "shortcut": ("#f1f4c1", "#43471c"),
    "softmax": ("#cce7cf", "#2c4f33"),
    "weighted": ("#d4bedf", "#523a5e"),
    "window": ("#a9e3ff", "#1f5470"),
}


def fill(role: str, dark: bool = False) -> str:
    """The colour of a role; unknown roles are neutral.

    >>> fill("softmax"), fill("softmax", dark=True)
    ('#cce7cf', '#2c4f33')
    """
    return ROLES.get(role, ROLES["neutral"])[dark]


@dataclass(frozen=True)
class Theme:
    """What is not a role: ink, page, halo, the error mark and the wires' shadow."""

    ink: str
    page: str
    error: str
    shadow: float


LIGHT = Theme(ink="#16181d", page="#ffffff", error="#c3002f", shadow=0.35)
DARK = Theme(ink="#eceef2", page="#0e1117", error="#ff6b81", shadow=0.8)


def theme(dark: bool) -> Theme:
    """The theme of light or dark pages."""
    return DARK if dark else LIGHT


# Sizes in drawing units (a screen pixel at scale 1), after the published figures.
AXIS_GAP = 21.0  # between two wires of one array
ARRAY_GAP = 36.0  # between two arrays, a dashed line in the middle
NAME = 16.0  # an axis name
LETTER = 25.0  # the bold L of a learned map
BIG = 27.0  # the name of an array
TITLE = 14.0  # a fence's title
WIRE = 1.25
OUTLINE = 1.5
GLYPH = 2.25  # the heavy outline of a convolution box
BRACKET = 3.0
DASH = (7.5, 6.0)
DOT = 4.0
DOUBLE = 3.6  # between the two lines of a spatial wire
LABEL_LIFT = 4.5  # of a name's baseline over its wire
PAD = 8.0  # of a fence around what it holds
MARGIN = 10.0  # of the drawing
