"""The Bits panel: a number, a sum or a product in each format, bit by bit."""

from __future__ import annotations

from math import isfinite

from ncd.app.panels.learning.number_ranges import FORMAT
from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.controls import TextControl
from ncd.run.calculation import (
    PATTERN,
    Calculation,
    calculation_text,
    number_text,
    read_calculation,
)
from ncd.run.float_formats import FORMATS, FloatFormat
from ncd.site import markup

CALCULATION = TextControl("calculation", PATTERN, longest=40, default="0.1")
EXAMPLES = ("0.1", "2048 + 1", "256 + 1", "65504 * 2", "1e38", "1e-8", "1e-8 * 32768")
CELL, TALL = 10, 18  # of a bit, in pixels
PARTS = ("sign", "exponent", "mantissa")
ROLES = ("neutral", "softmax", "linear")  # whose colours they have


def show_bits(scene: Scene) -> None:
    """Shows what a calculation gives in each format, with its bits."""
    asked = read_calculation(CALCULATION.value)
    buttons = " ".join(
        CALCULATION.button(text, calculation_text(text), text == CALCULATION.value)
        for text in EXAMPLES
    )
    legend = " ".join(
        f'<span class="unbroken">{markup.role(role, scene.dark)}{part}</span>'
        for part, role in zip(PARTS, ROLES, strict=True)
    )
    exact = f" = {number_text(asked.exact)}" if asked.sign else ""
    html = (
        f'<div class="told">{buttons}</div><p class="text"><label>A calculation <input type="text" '
        f'size="16" maxlength="{CALCULATION.longest}" value="{markup.text(CALCULATION.value)}" '
        f'data-set="{CALCULATION.name}"></label></p>'
        f"<p><b>{calculation_text(asked.text)}{exact}</b> &emsp; {legend}</p>"
        f"{_formats(scene, asked)}<p>{BITS_TEXT}</p>"
    )
    html_panel.render(html, "bits", BITS.controls)


BITS = Panel("Bits", show_bits, controls=(CALCULATION, FORMAT), needs_run=False)
BITS_TEXT = (
    "A number is ± 1.mantissa × 2<sup>exponent − bias</sup>: the exponent’s bits say how far it "
    "reaches, those of the mantissa how many digits it has. Between one power of two and the next "
    "all numbers are equally far apart: that is the spacing, and half of it is what rounding may "
    "change. What is less than half a spacing, added to a number, leaves it as it was."
)


def _formats(scene: Scene, asked: Calculation) -> str:
    """Returns for each format its bits, what it gives, and how far numbers are apart there."""
    cards = []
    for key, format in FORMATS.items():
        found = asked.result_in(format)
        apart = f"spacing {number_text(format.spacing(found))}" if isfinite(found) else ""
        name = FORMAT.button(key, format.name, key == FORMAT.value)
        cards.append(
            f"<div>{name}&ensp;<b>{number_text(found)}</b>&ensp;<span class='muted'>{apart}</span>"
            f"<br>{bits_picture(scene, format, found)}</div>"
        )
    return (
        '<div style="display:grid;gap:0.5rem 1.6rem;'
        'grid-template-columns:repeat(auto-fit,minmax(min(322px,100%),1fr))">'
        f"{''.join(cards)}</div>"
    )


def bits_picture(scene: Scene, format: FloatFormat, number: float) -> str:
    """Returns the bits of a number as SVG, each part in its colour."""
    parts, cells, at = format.bits(number), [], 0
    for bits, role in zip(parts, ROLES, strict=True):
        colour = markup.colour(role, scene.dark)
        for bit in bits:
            cells.append(
                f'<rect x="{at * CELL + 0.5}" y="0.5" width="{CELL}" height="{TALL - 1}" '
                f'fill="{colour}" stroke="currentColor" stroke-opacity="0.5"/>'
                f'<text x="{at * CELL + CELL / 2 + 0.5}" y="{TALL - 5}">{bit}</text>'
            )
            at += 1
    said = ", ".join(f"{part} {bits}" for part, bits in zip(PARTS, parts, strict=True))
    wide = at * CELL + 1
    return (
        f'<svg viewBox="0 0 {wide} {TALL}" width="{wide}" height="{TALL}" role="img" '
        f'style="max-width:100%" '
        f'aria-label="{said}"><g font-size="11" fill="currentColor" text-anchor="middle">'
        f"{''.join(cells)}</g></svg>"
    )
