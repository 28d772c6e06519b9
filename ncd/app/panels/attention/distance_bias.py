"""Distances: the number that each head adds to a score, by how far two words are apart."""

from __future__ import annotations

import numpy as np

from ncd.app.parts import heatmap, map_component
from ncd.app.parts.heatmap import CellGrid, ColourRange
from ncd.app.parts.map_component import AxisLabels, Heatmap
from ncd.app.scene import captions
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.controls import Choice
from ncd.circuit.circuit import Cell

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
        map=_map(grid, distances, chosen),
        aside=_told(scene, distances, chosen),
    )


DISTANCE_BIAS = Panel("Distances", show_distance_bias, controls=(STACK,))


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


def _map(grid: CellGrid, distances: list[int], stack: str) -> Heatmap:
    return Heatmap(
        f"distances {stack} {grid.shape}",
        "The bias of each head by distance",
        heatmap.pool(grid, heatmap.LARGE),
        ColourRange.of(grid, signed=True),
        AxisLabels("head", "head"),
        AxisLabels("distance from the query to the key", "distance", list(map(_signed, distances))),
        value_label="bias",
    )


def _signed(distance: int) -> str:
    """Returns a distance with its sign; 0 has none."""
    return f"{distance:+}".replace("-", "−") if distance else "0"


def _told(scene: Scene, distances: list[int], stack: str) -> str:
    past = "no word behind it is seen" if stack == "decoder" else "words behind have buckets too"
    return (
        f"<p>Each head adds a learned number to a score, by the distance of the two words alone "
        f"({_signed(distances[0])} to {_signed(distances[-1])} here; {past}). Near distances have "
        "a number each; "
        "farther ones share one, in buckets that grow like a logarithm, up to a distance of 128. "
        "All layers of a stack use the same numbers.</p>"
        f'<p class="muted">{captions.numbers_origin(scene)}</p>'
    )
