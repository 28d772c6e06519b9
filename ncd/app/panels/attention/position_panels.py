"""Panels about positions: as a picture, as rotations, as a bias by distance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

import ncd
from ncd.app.parts import heatmap, map_component
from ncd.app.parts.map_component import AxisLabels, CellFrame, Heatmap
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state import knobs
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Choice, Place, slider
from ncd.circuit.circuit import Cell
from ncd.explain.colour_scale import CellGrid, ColourRange
from ncd.explain.equation_proof import max_difference
from ncd.run.seeding import generator
from ncd.site import markup
from ncd.systems.transformers.position_encoding import KINDS

# --- The Positions panel: positions as a picture, and whether attention depends on the order

ROUNDING = 1e-4
ROTARY = KINDS.index("rotary")
KIND_TEXTS = {
    "none": "Nothing is added: the inputs are all that attention has.",
    "learned": "A row for each position, learned like any weight; here as it is drawn.",
    "sinusoidal": "Sines and cosines side by side, their waves ever longer from left to right.",
    "rotary": "The cosine of the angle by which each pair of features turns.",
}


@dataclass(frozen=True)
class PermutationEffect:
    """The change of the outputs when the sequence is permuted."""

    order: tuple[int, ...]
    differences: tuple[float, ...]  # for each of the kinds


def show_positions(scene: Scene) -> None:
    """Shows the positions as a picture, and the experiment with a permuted sequence."""
    key = scene.run_key
    found = cached_value(
        "permuted",
        scene.term,
        *key,
        make=lambda: scene.run_in_pool(lambda: compare_permuted(scene)),
    )
    map_component.render(
        "positions-map",
        map=_position_map(scene),
        aside=f"<p>{KIND_TEXTS[KINDS[scene.settings['kind']]]}</p>",
        foot=_position_summary(scene, found),
    )


POSITIONS = Panel("Positions", show_positions, follows_moves=True)


def compare_permuted(scene: Scene) -> PermutationEffect:
    """Runs the system, with each kind of positions, on a sequence and on a permutation of it."""
    (x,) = scene.inputs
    order = torch.randperm(len(x), generator=generator(scene.seed, "order")).to(x.device)
    moved = []
    with torch.no_grad():
        for kind in range(len(KINDS)):
            term = scene.entry.build(**{**scene.settings, "kind": kind})
            module = ncd.compile(term, scene.seed, scene.device)
            back = module(x[order])[order.argsort()]
            moved.append(max_difference(back, module(x)))
    return PermutationEffect(tuple(order.tolist()), tuple(moved))


def _position_map(scene: Scene) -> Heatmap | None:
    cell = _source(scene)
    if cell is None:
        return None
    numbers = scene.trace.values[cell.outputs[0].id].detach().float().cpu()
    rotary = scene.settings["kind"] == ROTARY
    grid = (numbers[:, 0, :, 0] if rotary else numbers).numpy()
    array = cell.outputs[0].array
    rows, columns = array[0], array[2 if rotary else 1]
    across = "pair" if rotary else "feature"
    return Heatmap(
        f"positions {scene.settings['kind']} {grid.shape}",
        f"Positions by {across}s",
        heatmap.pool(grid, heatmap.LARGE),
        ColourRange.from_numbers(grid, signed=True),
        AxisLabels(f"position {markup.axis(rows)}", "position", scene.axis_words(rows.name)),
        AxisLabels(f"{across} {markup.axis(columns)}", across),
    )


def _source(scene: Scene) -> Cell | None:
    """Returns the op that makes the positions."""
    return next((cell for cell in scene.circuit.cells if not cell.inputs), None)


def _position_summary(scene: Scene, found: PermutationEffect) -> str:
    rows = [_row(scene, kind, apart) for kind, apart in enumerate(found.differences)]
    order = ", ".join(map(str, found.order[:12])) + (" …" if len(found.order) > 12 else "")
    head = ("Positions", "Largest change of an output", "")
    return (
        f"<h2>The same sequence in another order</h2><p>The positions {order} go in, and what "
        f"comes out is put back in order. Does it change?</p>"
        f"{markup.table(head, rows, numbers=(1,))}"
        f'<p class="muted">{numbers_origin(scene)}</p>'
    )


def _row(scene: Scene, kind: int, apart: float) -> str:
    name = KINDS[kind]
    told = "the same, up to rounding" if apart < ROUNDING else "other numbers"
    name = f"<b>{name}</b>" if kind == scene.settings["kind"] else name
    return f'<tr><td>{name}</td><td class="number">{markup.digits(apart)}</td><td>{told}</td></tr>'


# --- The Rotation panel: rotated pairs of queries and keys, and scores that ignore a shift

ASKS, ANSWERS = Place("query_at", 7), Place("key_at", 4)
SHIFT = "s"  # the knob
FAR = 100  # the shift that is used if the knob is 0
PAIRS = 8  # the greatest number of circles
RADIUS, WIDE, TALL = 34, 96, 118
QUERY, KEY = "#3d6fb6", "#c9732b"  # readable on light and dark pages


@dataclass(frozen=True)
class ShiftEffect:
    """The differences from the run on a sequence that begins at position 0."""

    queries: float
    scores: float
    outputs: float


def show_rotating_pairs(scene: Scene) -> None:
    """Shows the pairs as clock hands, the scores of a head, and the effect of a shift."""
    t, shift = scene.settings["t"], scene.settings[SHIFT]
    i, j = ASKS.among(t), ANSWERS.among(t)
    queries, keys = rotated_queries_and_keys(scene)
    found = cached_value(
        "shifted",
        scene.term,
        *scene.run_key,
        make=lambda: scene.run_in_pool(lambda: compare_shifted(scene)),
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
        map=_rotation_map(scene, queries[:, 0] @ keys[:, 0].T / math.sqrt(queries.shape[-1]), i, j),
        aside=_experiment(scene, found),
    )


ROTATING_PAIRS = Panel(
    "Rotation", show_rotating_pairs, controls=(ASKS, ANSWERS), follows_moves=True
)


def _pick(name: str, value: str) -> None:
    """Applies the slider of the shift; a callback."""
    if name == SHIFT and value.isdecimal() and len(value) < 9:
        knobs.set_values({SHIFT: int(value)})


def _scores(module: ncd.run.module.CircuitModule) -> Cell:
    return next(cell for cell in module.circuit.cells if cell.op.display_name.endswith("scores"))


def rotated_queries_and_keys(scene: Scene) -> tuple[Tensor, Tensor]:
    """Returns the rotated queries and keys, each (positions, heads, features)."""
    cell, values = _scores(scene.module), scene.trace.values
    queries, keys = (values[value.id].detach().float().cpu() for value in cell.inputs)
    return queries, keys


def compare_shifted(scene: Scene) -> ShiftEffect:
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
    return ShiftEffect(*(max_difference(one, other) for one, other in zip(*runs, strict=True)))


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


def _rotation_map(scene: Scene, scores: Tensor, i: int, j: int) -> Heatmap:
    grid = scores.numpy().astype(np.float32)
    shift = scene.settings[SHIFT]
    words = scene.axis_words("t") or tuple(map(str, range(shift, shift + len(grid))))
    pooled = heatmap.pool(grid, heatmap.LARGE)
    marks = (CellFrame("looks", i, j),) if pooled.block == (1, 1) else ()
    return Heatmap(
        f"rotation {grid.shape}",
        "Scores of head 0",
        pooled,
        ColourRange.from_numbers(grid, signed=True),
        AxisLabels("query at", "query", words, ASKS),
        AxisLabels("key at", "key", words, ANSWERS),
        value_label="score",
        square_cells=True,
        marks=marks,
    )


def _experiment(scene: Scene, found: ShiftEffect) -> str:
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
        f'<p class="muted">{numbers_origin(scene)}</p>'
    )


# --- Distances: the number that each head adds to a score, by how far two words are apart

STACKS = ("encoder", "decoder")
STACK = Choice("bias_of", STACKS, STACKS[0])


def show_distance_bias(scene: Scene) -> None:
    """Shows the bias of every head at every distance, for the encoder or the decoder."""
    chosen = STACK.value
    grid, distances = biases(scene, chosen)
    map_component.render(
        "distances",
        DISTANCE_BIAS.controls,
        head=f"<p>{STACK.html()}</p>",
        map=_bias_map(grid, distances, chosen),
        aside=_bias_summary(scene, distances, chosen),
    )


DISTANCE_BIAS = Panel("Distances", show_distance_bias, controls=(STACK,), follows_moves=True)


def biases(scene: Scene, stack: str) -> tuple[CellGrid, list[int]]:
    """Returns the bias of each head at each distance, and the distances from query to key.

    A negative distance is a word before the query. Only the distances that a stack uses are there:
    a decoder looks back.
    """
    cell = next(cell for cell in scene.circuit.cells if _reads_bias(cell, stack))
    table = scene.trace.values[cell.outputs[0].id].detach().float().cpu().numpy()
    n = len(table)
    distances = list(range(1 - n, n if stack == STACKS[0] else 1))
    rows = [table[max(0, -d), max(0, -d) + d] for d in distances]
    return np.stack(rows, axis=1).astype(np.float32), distances


def _reads_bias(cell: Cell, stack: str) -> bool:
    """Returns whether an op looks up the bias of a stack."""
    whole = cell.inputs and cell.inputs[0].array.below is not None
    return bool(whole) and len(cell.outputs[0].array) == 3 and cell.module_path[:1] == (stack,)


def _bias_map(grid: CellGrid, distances: list[int], stack: str) -> Heatmap:
    return Heatmap(
        f"distances {stack} {grid.shape}",
        "The bias of each head by distance",
        heatmap.pool(grid, heatmap.LARGE),
        ColourRange.from_numbers(grid, signed=True),
        AxisLabels("head", "head"),
        AxisLabels(
            "distance from the query to the key", "distance", list(map(_signed_distance, distances))
        ),
        value_label="bias",
    )


def _signed_distance(distance: int) -> str:
    """Returns a distance with its sign; 0 has none."""
    return f"{distance:+}".replace("-", "−") if distance else "0"


def _bias_summary(scene: Scene, distances: list[int], stack: str) -> str:
    past = "no word behind it is seen" if stack == "decoder" else "words behind have buckets too"
    return (
        f"<p>Each head adds a learned number to a score, by the distance of the two words alone "
        f"({_signed_distance(distances[0])} to {_signed_distance(distances[-1])} here; {past}). "
        "Near distances have a number each; "
        "farther ones share one, in buckets that grow like a logarithm, up to a distance of 128. "
        "All layers of a stack use the same numbers.</p>"
        f'<p class="muted">{numbers_origin(scene)}</p>'
    )
