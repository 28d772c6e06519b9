"""The curves of a run: the loss of each step's batch, and the score on what it has not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import floor, log10

from ncd.export import markup
from ncd.train import Progress, Task

NAMES = {"accuracy": "accuracy", "answers": "right answers", "iou": "intersection over union"}
SHARES = ("accuracy", "answers")  # that are told in per cent
MOST = 400  # points of a curve
WIDE, TALL = 460, 190  # points of the picture
LEFT, RIGHT, TOP, BELOW = 44, 18, 8, 34  # around the field of a curve
STYLE = """<style>
.curves { display: flex; flex-wrap: wrap; gap: 0.4rem 1.5rem; margin-top: 0.5rem; }
.curves figure { margin: 0; flex: 1 1 320px; max-width: 640px; }
.curves figcaption { font-weight: 600; font-size: 0.9rem; }
.curves svg { display: block; width: 100%; height: auto; }
.curves text { fill: currentColor; opacity: 0.75; font-size: 12px; }
.curves line { stroke: var(--st-border-color); }
.curves polyline { fill: none; stroke: var(--st-primary-color); stroke-width: 1.8; }
.curves circle { fill: var(--st-primary-color); }
.curves .second { stroke: light-dark(#b4561a, #f0a35e); stroke-dasharray: 6 4; }
progress { width: 100%; height: 0.6rem; accent-color: var(--st-primary-color); }
</style>"""
Points = Sequence[tuple[int, float]]


def html(progress: Sequence[Progress], task: Task, steps: int, said: str) -> str:
    """How far a run is, as text and as a bar, and two curves of one size whatever has come."""
    losses = [(now.step, now.loss) for now in progress]
    scores = [(now.step, now.score) for now in progress if now.score is not None]
    done, measure = len(progress), NAMES[task.measure]
    top = max((loss for _, loss in losses if 0 < loss < float("inf")), default=1.0)
    share = Field(steps, 1.0, percent=task.measure in SHARES)
    return (
        f'{STYLE}<p role="status">{markup.text(said)}</p>'
        f'<progress max="{steps}" value="{done}" aria-label="steps"></progress>'
        '<div class="curves">'
        + figure("Loss of each batch", {"": losses}, Field(steps, top))
        + figure(f"{measure.capitalize()} on unseen examples", {"": scores}, share, dots=True)
        + "</div>"
    )


@dataclass(frozen=True)
class Field:
    """Where a curve stands: over the steps, from 0 up to ``top``."""

    steps: int
    top: float
    percent: bool = False

    def place(self, step: float, value: float) -> tuple[float, float]:
        """Across and down; what is no number, or too large, at the top."""
        share = value / self.top if 0 <= value <= self.top else 1.0
        width, height = WIDE - LEFT - RIGHT, TALL - TOP - BELOW
        return LEFT + width * step / self.steps, TOP + height * (1 - share)

    @property
    def rulers(self) -> str:
        """Lines across with their numbers, and the steps below."""
        style = ".0%" if self.percent else "g"
        rows = [(self.place(0, value)[1], format(value, style)) for value in ticks(self.top)]
        columns = [(self.place(step, 0)[0], step) for step in ticks(self.steps)]
        foot = TALL - BELOW
        across = (
            f'<line x1="{LEFT}" x2="{WIDE - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{word}</text>'
            for y, word in rows
        )
        below = (
            f'<text x="{x:.1f}" y="{foot + 15}" text-anchor="middle">{step:g}</text>'
            for x, step in columns
        )
        middle = f'<text x="{WIDE / 2}" y="{TALL - 3}" text-anchor="middle">step</text>'
        return "".join((*across, *below, middle))


def figure(title: str, lines: Mapping[str, Points], field: Field, dots: bool = False) -> str:
    """One curve or two, the second dashed, with a dot at every point if ``dots``."""
    drawn = "".join(
        _curve(points, field, ' class="second"' if i else "", dots)
        for i, points in enumerate(lines.values())
    )
    said = "; ".join(_aloud(name, points) for name, points in lines.items())
    return (
        f"<figure><figcaption>{title}</figcaption>"
        f'<svg viewBox="0 0 {WIDE} {TALL}" role="img" aria-label="{title}: {markup.text(said)}">'
        f"{field.rulers}{drawn}</svg></figure>"
    )


def _curve(points: Points, field: Field, second: str, dots: bool) -> str:
    every = -(-len(points) // MOST) or 1
    drawn = [field.place(*point) for point in (*points[::every], *points[-1:])]
    marks = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.6"/>' for x, y in drawn)
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in drawn)
    return f'<polyline{second} points="{line}"/>{marks if dots else ""}'


def _aloud(name: str, points: Points) -> str:
    """A curve for who does not see it.

    >>> _aloud("", [(1, 2.5), (9, 0.5)]), _aloud("by hand", [])
    ('from 2.5 at step 1 to 0.5 at step 9', 'by hand nothing yet')
    """
    if not points:
        return f"{name} nothing yet".strip()
    (first, start), (last, end) = points[0], points[-1]
    return f"{name} from {start:.3g} at step {first} to {end:.3g} at step {last}".strip()


def ticks(top: float) -> list[float]:
    """Round numbers from 0 to at most ``top``, three to six of them.

    >>> ticks(1.0), ticks(2.31), ticks(300)
    ([0.0, 0.5, 1.0], [0.0, 1.0, 2.0], [0.0, 100.0, 200.0, 300.0])
    """
    ten = 10.0 ** floor(log10(top / 2))
    step = next(ten * n for n in (5, 2, 1) if top / (ten * n) >= 2)
    return [round(step * n, 10) for n in range(int(top / step + 1e-9) + 1)]
