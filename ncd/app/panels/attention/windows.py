"""Patches: the patches of a picture, and which of them a patch reads in each layer."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from math import isqrt

import numpy as np

from ncd.app.panels.images import picture_parts as parts
from ncd.app.parts import heatmap, html_panel
from ncd.app.parts.heatmap import CellGrid
from ncd.app.scene import captions
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.controls import Place, Text
from ncd.circuit.circuit import Cell
from ncd.site import markup

LAYER, HEAD = Place("picture_layer", None), Place("picture_head", None)
PATCH = Text("asking_patch", r"[0-9]{1,4}\.[0-9]{1,4}")  # row and column of the patch that asks
SIDE = 384  # pixels of the picture on the screen
FAINT, STRONG = 0.12, 0.85  # opacity of a patch that is read least, and most
EDGE, CHOSEN, READ = "#ffffff", "#ff4b4b", "#ffd797"


@dataclass(frozen=True)
class Tiling:
    """The patches of a picture, ``side`` along each side, in windows moved by a shift."""

    side: int
    window: int
    shift: int = 0

    @property
    def edges(self) -> tuple[int, ...]:
        """The patches at which windows begin, and the end.

        >>> Tiling(6, 3).edges, Tiling(6, 3, 1).edges
        ((0, 3, 6), (0, 1, 4, 6))
        """
        return (*sorted({0, *range(self.shift, self.side, self.window)}), self.side)

    def around(self, place: int) -> range:
        """Returns the patches along one side that share a window with one.

        >>> Tiling(6, 3, 1).around(5)
        range(4, 6)
        """
        return next(range(a, b) for a, b in pairwise(self.edges) if a <= place < b)

    def numbered(self, row: int, column: int) -> tuple[int, int]:
        """Returns the number of a patch's window, and its number within that.

        >>> Tiling(6, 3, 1).numbered(0, 2)
        (2, 7)
        """
        down, up = divmod((row - self.shift) % self.side, self.window)
        across, on = divmod((column - self.shift) % self.side, self.window)
        return down * (self.side // self.window) + across, up * self.window + on


def show_windows(scene: Scene) -> None:
    """Shows the picture with its windows, and the weights with which one patch reads others."""
    layers = [cell for cell in scene.circuit.cells if cell.op.role == "softmax"]
    layer = LAYER.among(len(layers))
    found = tiling(scene, layers, layer)
    heads = layers[layer].outputs[0].array[-1].numel
    head, at = HEAD.among(heads), _place(scene, found)
    read = weights(scene, layers[layer], found, at, head)
    said = f"layer {layer + 1} of {len(layers)}"
    sliders = LAYER.html(said, len(layers), layer) + HEAD.html(f"head {head}", heads, head)
    html_panel.render(
        f'<div class="told">{sliders}</div>'
        + parts.row(_drawn(scene, found, read, at), _told(scene, found, read, at)),
        "patches",
        WINDOWS.controls,
    )


WINDOWS = Panel("Patches", show_windows, controls=(LAYER, PATCH, HEAD))


def tiling(scene: Scene, layers: list[Cell], layer: int) -> Tiling:
    """Returns the windows of a layer; without windows all patches are one."""
    array = layers[layer].outputs[0].array
    if len(array) == 3:
        side = int(scene.settings["x"])
        return Tiling(side, side)
    window = int(scene.settings["w"])
    side = isqrt(array[0].numel) * window
    return Tiling(side, window, window // 2 if layer % 2 and side > window else 0)


def _place(scene: Scene, found: Tiling) -> tuple[int, int] | None:
    """Returns the patch that asks, by default one in the middle; None for the class vector."""
    if PATCH.value:
        row, column = (min(int(at), found.side - 1) for at in PATCH.value.split("."))
        return row, column
    return None if _reads_class(scene) else (found.side // 2, found.side // 2)


def _reads_class(scene: Scene) -> bool:
    return any(cell.name == "cls_token" for cell in scene.circuit.cells)


def weights(
    scene: Scene, cell: Cell, found: Tiling, at: tuple[int, int] | None, head: int
) -> CellGrid:
    """Returns what a patch takes from each patch, (side, side); NaN where it cannot look."""
    numbers = scene.trace.values[cell.outputs[0].id][..., head]
    if numbers.ndim == 2:  # the class vector stands in front
        taken = numbers[0 if at is None else 1 + at[0] * found.side + at[1], 1:]
        return parts.grid(taken).reshape(found.side, found.side)
    assert at is not None
    window, own = found.numbered(*at)
    read = np.full((found.side, found.side), np.nan, np.float32)
    shares = parts.grid(numbers[window, own])
    for row in found.around(at[0]):
        for column in found.around(at[1]):
            read[row, column] = shares[found.numbered(row, column)[1]]
    return read


def _drawn(scene: Scene, found: Tiling, read: CellGrid, at: tuple[int, int] | None) -> str:
    """Returns the picture as SVG, under its windows and the patches that are read."""
    step, most = SIDE / found.side, float(np.nanmax(read)) or 1.0
    spans = [*pairwise(found.edges)]
    marks = [_window(rows, columns, step) for rows in spans for columns in spans]
    for row, column in zip(*np.nonzero(np.isfinite(read)), strict=True):
        share = float(read[row, column])
        look = f'fill="{READ}" fill-opacity="{FAINT + (STRONG - FAINT) * share / most:.2f}" '
        look += f'stroke="{EDGE}" stroke-width="0.6" data-pick="{PATCH.action(f"{row}.{column}")}"'
        said = f"patch {row}, {column}: {markup.digits(share)}"
        marks.append(parts.box(column * step, row * step, step, step, look, said))
    if at is not None:
        look = f'fill="none" stroke="{CHOSEN}" stroke-width="3" pointer-events="none"'
        marks.append(parts.box(at[1] * step, at[0] * step, step, step, look))
    said = f"A picture of {found.side} × {found.side} patches"
    return parts.under(heatmap.image_url(_pixels(scene)), SIDE, said, marks)


def _window(rows: tuple[int, int], columns: tuple[int, int], step: float) -> str:
    """Returns the outline of a window; a click on it asks its middle patch."""
    middle = f"{sum(rows) // 2}.{sum(columns) // 2}"
    wide, high = ((span[1] - span[0]) * step for span in (columns, rows))
    look = f'fill="#000" fill-opacity="0.25" stroke="{EDGE}" stroke-width="2.5" '
    look += f'data-pick="{PATCH.action(middle)}"'
    return parts.box(columns[0] * step, rows[0] * step, wide, high, look)


def _pixels(scene: Scene) -> parts.Pixels:
    picture = scene.inputs[0]
    if scene.inputs_spec.pictures:
        return parts.pixels(picture)
    return heatmap.rgb_image(parts.grid(picture[[i % len(picture) for i in range(3)]]))


def _told(scene: Scene, found: Tiling, read: CellGrid, at: tuple[int, int] | None) -> str:
    count = int(np.isfinite(read).sum())
    who = "The class vector" if at is None else f"Patch {at[0]}, {at[1]}"
    lines = [
        f"<p>{who} reads {count:,} of {found.side**2:,} patches: the brighter, the more.</p>",
        f"<p>{_windows_told(found)}</p>" if found.window < found.side else "",
        f"<p>{_cost_told(found)}</p>",
    ]
    if _reads_class(scene) and at is not None:
        lines.append(f"<p>{PATCH.button('', 'Ask the class vector')}</p>")
    lines.append(
        f'<p class="muted">Click a patch or a window. {captions.numbers_origin(scene)}</p>'
    )
    return f'<div style="flex:1;min-width:15em;max-width:30em">{"".join(lines)}</div>'


def _windows_told(found: Tiling) -> str:
    if found.shift:
        return (
            f"The windows are moved by {found.shift}: they lie across the edges of the layer "
            "before, so that what was apart there meets here. At the rim they are smaller."
        )
    return f"Windows of {found.window} × {found.window} patches know nothing of each other."


def _cost_told(found: Tiling) -> str:
    """Returns how many pairs of patches are compared, with windows and without."""
    every, own = found.side**4, found.side**2 * found.window**2
    if own == every:
        return f"{every:,} pairs of patches are compared: each with each."
    return f"{own:,} pairs of patches are compared, where all with all would be {every:,}."
