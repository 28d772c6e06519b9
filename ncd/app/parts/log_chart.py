"""A chart of lines on a scale of powers of ten, as SVG that stands in a panel's HTML."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite, log10
from typing import NamedTuple

from ncd.site import markup

WIDE, TALL, LEFT, RIGHT, FOOT = 330, 210, 42, 62, 22  # of a chart, and of the room for its labels
LINE = 13  # of a line of text
MOST_TICKS = 6
DECADES = 46  # powers of ten that are drawn at most, up and down: those of float32


class ChartLine(NamedTuple):
    """A line of a chart: its numbers from the first place on, its colour, whether it is thick."""

    numbers: Sequence[float]
    colour: str
    is_chosen: bool


def log_chart(
    title: str,
    lines: Mapping[str, ChartLine],
    across: str,
    backwards: bool = False,
    ends: tuple[int, int] | None = None,
    beside: Sequence[float] = (),
) -> str:
    """Returns lines on a scale of powers of ten, each with its name at its end.

    A line ends before the first number that is 0, infinite or none, with a cross.

    Args:
        title: What the numbers are; it stands above the chart.
        lines: The lines by name.
        across: What the places are that they go over.
        backwards: Whether the last place is at the left, and lines end at the first one.
        ends: The numbers of the first and the last place; 1 and their count if left out.
        beside: The numbers of a chart beside this one, so that both have one scale.

    >>> "✗" in log_chart("Size", {"a": ChartLine((1.0, 0.0), "teal", True)}, "step")
    True
    """
    count, turn = max(len(line.numbers) for line in lines.values()), -1 if backwards else 1
    logs = {name: logarithms(line.numbers[::turn]) for name, line in lines.items()}
    every = [0.0, *logarithms(beside), *(number for own in logs.values() for number in own)]
    low, high = min(every) - 0.3, max(every) + 0.3

    def place(number: float) -> float:
        return 6 + (TALL - FOOT - 6) * (high - number) / (high - low)

    def along(i: int) -> float:
        return LEFT + (WIDE - LEFT - RIGHT) * i / max(count - 1, 1)

    first, last = ends or (1, count)
    labels = one_below_another(
        [place(own[-1]) if own else place(0) for own in logs.values()], TALL - FOOT
    )
    names = sorted(lines, key=lambda name: lines[name].is_chosen)  # the chosen one on top
    rows = dict(zip(logs, labels, strict=True))
    paths = "".join(
        _line(name, lines[name], logs[name], along, place, rows[name]) for name in names
    )
    foot = _foot(across, (first, last)[::turn], along(count - 1))
    return (
        f'<figure style="margin:0"><figcaption>{markup.text(title)}</figcaption>'
        f'<svg viewBox="0 0 {WIDE} {TALL}" width="{WIDE}" height="{TALL}" role="img" '
        f'style="max-width:100%" aria-label="{markup.text(title)}, {across} {first} to {last}">'
        f"{_scale(low, high, place)}{foot}{paths}</svg></figure>"
    )


def logarithms(numbers: Sequence[float]) -> list[float]:
    """Returns the powers of ten of numbers, up to the first one that has none.

    >>> logarithms([100.0, 1.0, 0.0, 1.0])
    [2.0, 0.0]
    """
    found: list[float] = []
    for number in numbers:
        if not isfinite(number) or number <= 0:
            break
        found.append(min(max(log10(number), -DECADES), DECADES))
    return found


def one_below_another(places: Sequence[float], tall: float) -> list[float]:
    """Returns heights of labels near the given ones, none less than a line from the next.

    >>> one_below_another([50.0, 48.0, 9.0], 126)
    [61.0, 48.0, 9.0]
    """
    order = sorted(range(len(places)), key=places.__getitem__)
    found, least = list(places), 0.0
    for i in order:
        found[i] = max(places[i], least)
        least = found[i] + LINE
    most = tall
    for i in reversed(order):
        found[i] = min(found[i], most)
        most = found[i] - LINE
    return found


def _line(
    name: str,
    line: ChartLine,
    logs: Sequence[float],
    along: Callable[[int], float],
    place: Callable[[float], float],
    label: float,
) -> str:
    points = " ".join(f"{along(i):.1f},{place(number):.1f}" for i, number in enumerate(logs))
    ends = len(logs) < len(line.numbers)
    weight = ' font-weight="bold"' if line.is_chosen else ""
    return (
        f'<polyline points="{points}" fill="none" stroke="{line.colour}" '
        f'stroke-width="{3.2 if line.is_chosen else 1.6}" stroke-linejoin="round"/>'
        f'<text x="{WIDE - RIGHT + 4}" y="{label + 4:.1f}" font-size="12"{weight} '
        f'fill="currentColor"><tspan fill="{line.colour}">{"✗" if ends else "●"}</tspan> '
        f"{markup.text(name)}</text>"
    )


def _scale(low: float, high: float, place: Callable[[float], float]) -> str:
    """Returns the powers of ten at the left, with a line for each, and a stronger one for 1."""
    step = next(n for n in (1, 2, 3, 5, 10, 20) if (high - low) / n <= MOST_TICKS)
    first = -(-int(low - 1) // step) * step
    parts = []
    for power in range(first, int(high) + 1, step):
        if power < low:
            continue
        y, text = place(power), str(power).replace("-", "−")
        parts.append(
            f'<path d="M{LEFT} {y:.1f}H{WIDE - RIGHT}" stroke="currentColor" '
            f'opacity="{0.15 if power else 0.5}"/><text x="{LEFT - 5}" y="{y + 4:.1f}" '
            f'font-size="12" text-anchor="end" fill="currentColor">'
            + ("1" if not power else f'10<tspan dy="-4" font-size="11">{text}</tspan>')
            + "</text>"
        )
    return "".join(parts)


def _foot(across: str, ends: tuple[int, ...], right: float) -> str:
    """Returns the number of the first and of the last place, with what they are between them."""
    words = {LEFT: ends[0], (LEFT + right) / 2: across, right: ends[1]}
    texts = "".join(
        f'<text x="{x:.1f}" y="{TALL - 5}">{markup.text(word)}</text>' for x, word in words.items()
    )
    return f'<g font-size="12" fill="currentColor" text-anchor="middle">{texts}</g>'
