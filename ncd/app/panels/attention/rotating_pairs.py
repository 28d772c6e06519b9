"""The Rotation panel: rotated pairs of queries and keys, and scores that ignore a shift."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

import ncd
from ncd.app.parts import heatmap, map_component
from ncd.app.parts.heatmap import ColourRange
from ncd.app.parts.map_component import AxisLabels, CellFrame, Heatmap
from ncd.app.scene import captions
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state import knobs
from ncd.app.state.cache import cached
from ncd.app.state.controls import Place, slider
from ncd.circuit.circuit import Cell
from ncd.explain.equation_proof import max_difference
from ncd.site import markup

ASKS, ANSWERS = Place("query_at", 7), Place("key_at", 4)
SHIFT = "s"  # the knob
FAR = 100  # the shift that is used if the knob is 0
PAIRS = 8  # the greatest number of circles
RADIUS, WIDE, TALL = 34, 96, 118
QUERY, KEY = "#3d6fb6", "#c9732b"  # readable on light and dark pages


@dataclass(frozen=True)
class Shifted:
    """The differences from the run on a sequence that begins at position 0."""

    queries: float
    scores: float
    outputs: float


def show_rotating_pairs(scene: Scene) -> None:
    """Shows the pairs as clock hands, the scores of a head, and the effect of a shift."""
    t, shift = scene.settings["t"], scene.settings[SHIFT]
    i, j = ASKS.among(t), ANSWERS.among(t)
    queries, keys = turned(scene)
    found = cached(
        "shifted",
        scene.term,
        *scene.run_key,
        make=lambda: scene.run_in_pool(lambda: shifted(scene)),
    )
    sliders = ASKS.html(f"query at position {i + shift}", t, i)
    sliders += ANSWERS.html(f"key at position {j + shift}", t, j)
    sliders += slider(f"first position {shift}", SHIFT, range(max(shift, 200) + 1), shift)
    circles = _circles(queries[i, 0], keys[j, 0], i - j)
    map_component.render(
        "rotation",
        ROTATING_PAIRS.controls,
        _pick,
        head=f'<div class="told">{sliders}</div>{circles}',
        map=_map(scene, queries[:, 0] @ keys[:, 0].T / math.sqrt(queries.shape[-1]), i, j),
        aside=_experiment(scene, found),
    )


ROTATING_PAIRS = Panel("Rotation", show_rotating_pairs, controls=(ASKS, ANSWERS))


def _pick(name: str, value: str) -> None:
    """Applies the slider of the shift; a callback."""
    if name == SHIFT and value.isdecimal() and len(value) < 9:
        knobs.set_values({SHIFT: int(value)})


def _scores(module: ncd.run.module.CircuitModule) -> Cell:
    return next(cell for cell in module.circuit.cells if cell.op.display_name.endswith("scores"))


def turned(scene: Scene) -> tuple[Tensor, Tensor]:
    """Returns the rotated queries and keys, each (positions, heads, features)."""
    cell, values = _scores(scene.module), scene.trace.values
    queries, keys = (values[value.id].detach().float().cpu() for value in cell.inputs)
    return queries, keys


def shifted(scene: Scene) -> Shifted:
    """Runs the term from position 0 and from a shifted one, with equal weights and inputs."""
    shift = scene.settings[SHIFT] or FAR
    runs = []
    with torch.no_grad():
        for first in (0, shift):
            term = scene.entry.build(**{**scene.settings, SHIFT: first})
            module = ncd.compile(term, scene.seed, scene.device)
            run, cell = ncd.trace(module, *scene.inputs), _scores(module)
            runs.append(
                (run.values[cell.inputs[0].id], run.values[cell.outputs[0].id], run.outputs[0])
            )
    return Shifted(*(max_difference(one, other) for one, other in zip(*runs, strict=True)))


def _circles(query: Tensor, key: Tensor, distance: int) -> str:
    """Returns a circle for each pair, with the hands of a query and of a key."""
    half = len(query) // 2
    pairs = [(v[:half], v[half:]) for v in (query.tolist(), key.tolist())]
    drawn = "".join(
        _circle(r, half, [(one[r], two[r]) for one, two in pairs], distance)
        for r in range(min(half, PAIRS))
    )
    more = f" The first {PAIRS} of {half} pairs." if half > PAIRS else ""
    hands = (
        "The solid hand is the query, the dashed one the key, each turned by its position; "
        "below, the angle by which their distance turns one against the other, and "
        f"what the pair adds to the inner product.{more}"
    )
    return (
        f'<div style="display:flex;flex-wrap:wrap;gap:0.2rem">{drawn}</div>'
        f'<p class="muted">{hands}</p>'
    )


Hand = tuple[float, float]


def _circle(r: int, half: int, hands: list[Hand], distance: int) -> str:
    middle = WIDE / 2
    longest = max(math.hypot(*hand) for hand in hands) or 1.0
    lines = "".join(
        f'<line x1="{middle}" y1="{RADIUS + 4}" x2="{middle + RADIUS * x / longest:.1f}" '
        f'y2="{RADIUS + 4 - RADIUS * y / longest:.1f}" stroke="{colour}" stroke-width="3"'
        f'{dash} stroke-linecap="round"/>'
        for (x, y), colour, dash in zip(
            hands, (QUERY, KEY), ("", ' stroke-dasharray="4 5"'), strict=True
        )
    )
    degrees = math.degrees(distance * 10000 ** (-r / half))
    (a, b), (c, d) = hands
    said = f"{degrees:.3g}°".replace("-", "−")
    added = f"adds {markup.digits(round(a * c + b * d, 2) + 0.0)}"
    text = 'text-anchor="middle" font-size="12" fill="currentColor"'
    return (
        f'<svg width="{WIDE}" height="{TALL}" viewBox="0 0 {WIDE} {TALL}" role="img" '
        f'aria-label="pair {r}: {said}, {added}"><circle cx="{middle}" cy="{RADIUS + 4}" '
        f'r="{RADIUS}" fill="none" stroke="currentColor" opacity="0.3"/>{lines}'
        f'<text x="{middle}" y="{2 * RADIUS + 22}" {text}>pair {r}: {said}</text>'
        f'<text x="{middle}" y="{2 * RADIUS + 38}" {text}>{added}</text></svg>'
    )


def _map(scene: Scene, scores: Tensor, i: int, j: int) -> Heatmap:
    grid = scores.numpy().astype(np.float32)
    shift = scene.settings[SHIFT]
    words = scene.axis_words("t") or tuple(map(str, range(shift, shift + len(grid))))
    pooled = heatmap.pool(grid, heatmap.LARGE)
    marks = (CellFrame("looks", i, j),) if pooled.block == (1, 1) else ()
    return Heatmap(
        f"rotation {grid.shape}",
        "Scores of head 0",
        pooled,
        ColourRange.of(grid, signed=True),
        AxisLabels("query at", "query", words, ASKS),
        AxisLabels("key at", "key", words, ANSWERS),
        value_label="score",
        square_cells=True,
        marks=marks,
    )


def _experiment(scene: Scene, found: Shifted) -> str:
    shift = scene.settings[SHIFT] or FAR
    rows = "".join(
        f'<tr><td>{name}</td><td class="number">{markup.digits(value)}</td></tr>'
        for name, value in (
            ("turned queries", found.queries),
            ("scores", found.scores),
            ("outputs", found.outputs),
        )
    )
    table = markup.table(("Largest change", ""), [rows], numbers=(1,))
    return (
        "<p>The map has the scores of head 0; a click chooses a query and a key.</p>"
        f"<p>Run twice: the sequence begins at position 0, and at position {shift:,}.</p>{table}"
        "<p>Every query turns to another place. Every key turns along, so the scores stay, up to "
        "rounding, which grows with the angle.</p>"
        f'<p class="muted">{captions.numbers_origin(scene)}</p>'
    )
