"""The Positions panel: positions as a picture, and whether attention depends on the order."""

from __future__ import annotations

from dataclasses import dataclass

import torch

import ncd
from ncd.app.parts import heatmap, map_component
from ncd.app.parts.heatmap import ColourRange
from ncd.app.parts.map_component import AxisLabels, Heatmap
from ncd.app.scene import captions
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached
from ncd.circuit.circuit import Cell
from ncd.explain.equation_proof import max_difference
from ncd.run.seeding import generator
from ncd.site import markup
from ncd.systems.transformers.position_encoding import KINDS

ROUNDING = 1e-4
ROTARY = KINDS.index("rotary")
TOLD = {
    "none": "Nothing is added: the inputs are all that attention has.",
    "learned": "A row for each position, learned like any weight; here as it is drawn.",
    "sinusoidal": "Sines and cosines side by side, their waves ever longer from left to right.",
    "rotary": "The cosine of the angle by which each pair of features turns.",
}


@dataclass(frozen=True)
class Permuted:
    """The change of the outputs when the sequence is permuted."""

    order: tuple[int, ...]
    apart: tuple[float, ...]  # for each of the kinds


def show_positions(scene: Scene) -> None:
    """Shows the positions as a picture, and the experiment with a permuted sequence."""
    key = scene.run_key
    found = cached(
        "permuted", scene.term, *key, make=lambda: scene.run_in_pool(lambda: permuted(scene))
    )
    map_component.render(
        "positions-map",
        map=_map(scene),
        aside=f"<p>{TOLD[KINDS[scene.settings['kind']]]}</p>",
        foot=_told(scene, found),
    )


POSITIONS = Panel("Positions", show_positions)


def permuted(scene: Scene) -> Permuted:
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
    return Permuted(tuple(order.tolist()), tuple(moved))


def _map(scene: Scene) -> Heatmap | None:
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
        ColourRange.of(grid, signed=True),
        AxisLabels(f"position {markup.axis(rows)}", "position", scene.axis_words(rows.name)),
        AxisLabels(f"{across} {markup.axis(columns)}", across),
    )


def _source(scene: Scene) -> Cell | None:
    """Returns the op that makes the positions."""
    return next((cell for cell in scene.circuit.cells if not cell.inputs), None)


def _told(scene: Scene, found: Permuted) -> str:
    rows = [_row(scene, kind, apart) for kind, apart in enumerate(found.apart)]
    order = ", ".join(map(str, found.order[:12])) + (" …" if len(found.order) > 12 else "")
    head = ("Positions", "Largest change of an output", "")
    return (
        f"<h2>The same sequence in another order</h2><p>The positions {order} go in, and what "
        f"comes out is put back in order. Does it change?</p>"
        f"{markup.table(head, rows, numbers=(1,))}"
        f'<p class="muted">{captions.numbers_origin(scene)}</p>'
    )


def _row(scene: Scene, kind: int, apart: float) -> str:
    name = KINDS[kind]
    told = "the same, up to rounding" if apart < ROUNDING else "other numbers"
    name = f"<b>{name}</b>" if kind == scene.settings["kind"] else name
    return f'<tr><td>{name}</td><td class="number">{markup.digits(apart)}</td><td>{told}</td></tr>'
