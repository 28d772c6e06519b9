"""A histogram as SVG that stands in a panel's HTML, with marks at numbers of note."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ncd.app.parts.log_chart import LINE
from ncd.site import markup

WIDE, TALL, FOOT = 340, 130, 20  # of the bars, and of the room for the ends below them
LETTER = 6.6  # of a label, in pixels


def bin_chart(
    title: str,
    counts: Sequence[int],
    ends: tuple[float, float],
    marks: Mapping[str, float],
    colour: str,
    write: Callable[[float], str] = markup.digits,
) -> str:
    """Returns bars of how many numbers are in each of equal bins.

    Args:
        title: What the numbers are; it stands above the chart.
        counts: How many there are in each bin.
        ends: Where the first bin begins, and where the last one ends.
        marks: Numbers that get a line, with the words at its top.
        colour: The colour of the bars.
        write: Writes the ends.

    >>> bin_chart("Results", [1, 3], (0.0, 2.0), {"mean": 1.2}, "teal").count("<rect")
    2
    """
    low, high = ends
    top, head = max(counts, default=0) or 1, 6 + LINE * len(marks)
    wide = WIDE / len(counts)
    bars = "".join(
        f'<rect x="{i * wide:.1f}" y="{head + TALL * (1 - n / top):.1f}" width="{wide - 1:.1f}" '
        f'height="{TALL * n / top:.1f}" fill="{colour}" stroke="currentColor" '
        'stroke-opacity="0.4"/>'
        for i, n in enumerate(counts)
    )
    first = min(marks, key=lambda name: marks[name], default="")
    lines = "".join(
        _mark(
            name, WIDE * (number - low) / (high - low), LINE * (row + 1), head + TALL, name == first
        )
        for row, (name, number) in enumerate(marks.items())
    )
    floor, words = head + TALL, [write(low), write(high)]
    return (
        f'<figure style="margin:0"><figcaption>{markup.text(title)}</figcaption>'
        f'<svg viewBox="0 0 {WIDE} {floor + FOOT}" width="{WIDE}" height="{floor + FOOT}" '
        f'role="img" style="max-width:100%" aria-label="{markup.text(title)}, from {words[0]} to '
        f'{words[1]}">{bars}{lines}<g font-size="12" fill="currentColor">'
        f'<text x="0" y="{floor + 15}">{words[0]}</text>'
        f'<text x="{WIDE}" y="{floor + 15}" text-anchor="end">{words[1]}</text></g></svg></figure>'
    )


def _mark(name: str, x: float, y: float, floor: float, least: bool) -> str:
    """Returns a line with words at its right; at its left if it is the first and there is room."""
    width = LETTER * len(name)
    left = (least and x > width) or x + width > WIDE
    side = f'x="{x - 5:.1f}" text-anchor="end"' if left else f'x="{x + 5:.1f}"'
    return (
        f'<path d="M{x:.1f} {y - LINE + 4}V{floor}" stroke="currentColor" stroke-width="1.5"/>'
        f'<text {side} y="{y}" font-size="12" fill="currentColor">{markup.text(name)}</text>'
    )
