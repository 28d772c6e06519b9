"""A chart of how large numbers are, by powers of two, over the range of a format."""

from __future__ import annotations

from collections.abc import Sequence
from math import frexp, log2
from typing import NamedTuple

from ncd.formulas.prefixed_amounts import SUPERSCRIPT_DIGITS
from ncd.run.float_formats import FloatFormat
from ncd.site import markup

LOW, HIGH, EVERY = -42, 24, 10  # powers of two that are drawn, and those between two labels
WIDE, TALL, HEAD, FOOT = 330, 46, 18, 20  # of a row of bars, and of the room for words
KEPT, LOST = "#3d6fb6", "#c9732b"  # colours of the bars


class ExponentRow(NamedTuple):
    """The counts of numbers of each power of two from ``LOW`` on, those kept and those lost.

    ``words`` stand above the bars.
    """

    words: str
    kept_counts: Sequence[int]
    lost_counts: Sequence[int]


def exponent_chart(title: str, rows: Sequence[ExponentRow], format: FloatFormat) -> str:
    """Returns rows of bars, one above another, with the format's range shaded behind them.

    Where the numbers of the format have fewer bits the shade is lighter.

    >>> from ncd.run.float_formats import FORMATS
    >>> row = ExponentRow("weights", [1] * (HIGH - LOW), [0] * (HIGH - LOW))
    >>> exponent_chart("Sizes", [row], FORMATS["float16"]).count("<rect") == HIGH - LOW + 2
    True
    """
    floor = len(rows) * (TALL + HEAD)
    smallest, normal, end = (
        _place_of_power(power)
        for power in (
            log2(format.smallest),
            log2(format.smallest_normal),
            frexp(format.largest)[1],  # the power of two above it
        )
    )
    shades = "".join(
        f'<rect x="{left:.1f}" width="{right - left:.1f}" height="{floor}" fill="currentColor" '
        f'opacity="{opacity}"/>'
        for left, right, opacity in ((smallest, normal, 0.07), (normal, end, 0.16))
    )
    bars = "".join(_bars(row, HEAD + i * (TALL + HEAD)) for i, row in enumerate(rows))
    labels = "".join(
        f'<text x="{_place_of_power(power):.1f}" y="{floor + 15}">{power_of_two(power)}</text>'
        for power in range(LOW + 2, HIGH, EVERY)
    )
    said = "; ".join(row.words for row in rows)
    return (
        f'<figure style="margin:0"><figcaption>{markup.text(title)}</figcaption>'
        f'<svg viewBox="0 0 {WIDE} {floor + FOOT}" width="{WIDE}" height="{floor + FOOT}" '
        f'role="img" style="max-width:100%" aria-label="{markup.text(title)}: {markup.text(said)}">'
        f'{shades}{bars}<path d="M0 {floor}H{WIDE}" stroke="currentColor"/>'
        f'<g font-size="12" fill="currentColor" text-anchor="middle">{labels}</g></svg></figure>'
    )


def power_of_two(power: float) -> str:
    """Returns a whole power of two as it is written.

    >>> power_of_two(-24), power_of_two(0)
    ('2⁻²⁴', '1')
    """
    return f"2{str(int(power)).translate(SUPERSCRIPT_DIGITS)}" if power else "1"


def _place_of_power(power: float) -> float:
    """Returns where a power of two stands, at an end if it is beyond."""
    return (min(max(power, LOW), HIGH) - LOW) * WIDE / (HIGH - LOW)


def _bars(row: ExponentRow, top: float) -> str:
    """Returns the bars of a row: what is kept, with what is lost on top."""
    most = max(map(sum, zip(row.kept_counts, row.lost_counts, strict=True))) or 1
    wide, parts = WIDE / (HIGH - LOW), []
    for i, counts in enumerate(zip(row.kept_counts, row.lost_counts, strict=True)):
        y = top + TALL
        for count, colour in zip(counts, (KEPT, LOST), strict=True):
            if count:
                tall = max(TALL * count / most, 1.0)
                y -= tall
                parts.append(
                    f'<rect x="{i * wide:.1f}" y="{y:.1f}" width="{wide - 0.6:.1f}" '
                    f'height="{tall:.1f}" fill="{colour}"/>'
                )
    words = f'<text x="2" y="{top - 5}" font-size="12" fill="currentColor">{markup.text(row.words)}'
    return f"{words}</text>{''.join(parts)}"
