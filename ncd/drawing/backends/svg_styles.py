"""The style rules of drawings as SVG, and the soft shadow of coloured shapes."""

from __future__ import annotations

from functools import lru_cache

from ncd.drawing.backends.path_data import number
from ncd.drawing.base import style
from ncd.drawing.base.fonts import MATH, ROMAN, SANS, Face

PLAIN = Face(ROMAN, "italic")  # the default face, as most names are in italics
FACES = {
    Face(ROMAN): "r",
    Face(ROMAN, weight=700): "b",
    Face(MATH): "m",
    Face(SANS): "s",
    Face(SANS, weight=700): "t",
}
SHADOW = ("ncd-shadow", "ncd-shadow-dark")


@lru_cache(maxsize=256)
def rules(double: bool, used: frozenset[Face]) -> str:
    """Returns the style rules for some faces, and for double wires if there are any."""
    dash = " ".join(map(number, style.DASH))
    rules = {
        ".wire path,.circuit .stroke,.circuit .shape,.circuit .dash": "stroke:currentColor",
        ".wire path,.circuit .stroke,.circuit .dash": "fill:none",
        ".wire path": f"stroke-width:{number(style.WIRE)};stroke-linecap:round",
        ".op .hit": "fill:transparent",
        ".stroke,.circuit .shape": "stroke-linejoin:round",
        ".dash": f"stroke-width:{number(style.DASH_WIDTH)};stroke-dasharray:{dash}",
        ".still": "pointer-events:none",
    }
    if double:
        outer, inner = style.DOUBLE + style.WIRE, style.DOUBLE - style.WIRE
        rules[".double path"] = f"stroke-width:{number(outer)};stroke-linecap:butt"
        rules[".double .gap"] = f"stroke-width:{number(inner)}"
    for face, name in FACES.items():
        if face in used:
            family = "" if face.family == PLAIN.family else f";font-family:{face.family}"
            weight = "" if face.weight == PLAIN.weight else f";font-weight:{face.weight}"
            rules[f".{name}"] = f"font-style:{face.style}{weight}{family}"
    return "".join(f".circuit {where}{{{what}}}" for where, what in rules.items())


def shadow(dark: bool) -> str:
    """Returns the filter for the soft shadow of coloured shapes."""
    deviation, opacity = number(style.SHADOW), number(style.theme(dark).shadow)
    return (
        f'<filter id="{SHADOW[dark]}" x="-20%" y="-20%" width="140%" height="140%">'
        f'<feDropShadow dx="0" dy="0" stdDeviation="{deviation}" flood-opacity="{opacity}"/>'
        f"</filter>"
    )
