"""Panels that draw on a picture what one of its patches reads."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from itertools import pairwise
from math import isqrt
from typing import Any

import numpy as np
import streamlit as st
import torch
from numpy.typing import NDArray

from ncd.app.panels.attention.attention_maps import HEAD
from ncd.app.panels.images import picture_parts as parts
from ncd.app.parts import heatmap, html_panel, map_component
from ncd.app.parts.html_panel import apply_component_selection, read_static, sent_value
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.controls import GridPlace, Place, pick
from ncd.circuit.circuit import Cell
from ncd.explain.colour_scale import CellGrid
from ncd.site import markup
from ncd.site.markup import PANEL_CSS
from ncd.site.scripts import script

# --- The On the picture panel: the attention of a clicked patch, drawn over the picture

QUERY_PATCH = GridPlace("patch")  # the query's patch
MAX_SIDE = 512  # the greatest side of a picture that is sent, in pixels
COLOUR, FAINT_CELL = 0.75, 70  # the opacity of the colours; the alpha of pixels outside all patches
KEY = "patches"

_patches = st.components.v2.component(
    "ncd_patches",
    html="""<div class="ncd patches">
<figure><figcaption></figcaption><div class="picture asks" tabindex="0" role="application">
<img alt=""><div class="hover" hidden></div><div class="at"></div></div></figure>
<figure><figcaption></figcaption><div class="picture answers"><img alt=""></div>
<div class="ramp"><span></span><i></i><span></span></div></figure>
<div class="aside"><div class="side"></div><div class="words"></div></div>
<output class="tip" hidden></output></div>""",
    css=PANEL_CSS + read_static("panels/attention/image_patches.css"),
    js=script("app/panels/attention/image_patches.js"),
)


@dataclass(frozen=True)
class Windows:
    """Windows of ``kernel`` pixels that begin every ``stride`` pixels, along both sides."""

    shape: tuple[int, int]  # of the picture
    kernel: int
    stride: int

    @property
    def count(self) -> tuple[int, int]:
        """The number of windows that fit, along height and width."""
        high, wide = ((size - self.kernel) // self.stride + 1 for size in self.shape)
        return high, wide

    def spread(self, numbers: CellGrid) -> CellGrid:
        """Returns at each pixel the mean over the windows that contain it; NaN where none does.

        >>> Windows((1, 4), 1, 2).spread(np.float32([[5, 7]]))
        array([[ 5., nan,  7., nan]], dtype=float32)
        """
        held = self._total(np.ones_like(numbers))
        return np.where(held > 0, self._total(numbers) / np.maximum(held, 1), np.float32("nan"))

    def _total(self, numbers: CellGrid) -> CellGrid:
        (high, wide), step = self.count, self.stride
        rows = np.zeros((self.shape[0], wide), np.float32)
        total = np.zeros(self.shape, np.float32)
        for i in range(self.kernel):
            rows[i : i + step * (high - 1) + 1 : step] += numbers
        for i in range(self.kernel):
            total[:, i : i + step * (wide - 1) + 1 : step] += rows
        return total

    @property
    def uncovered_count(self) -> int:
        """The number of pixels that no window covers."""
        return int(np.isnan(self.spread(np.zeros(self.count, np.float32))).sum())


def show_image_patches(scene: Scene) -> None:
    """Shows the query's picture with its patches, and the key's picture under the weights."""
    cell = next(c for c in scene.circuit.cells if c.op.role == "softmax")
    asks, answers = (_windows(scene, tensor) for tensor in scene.inputs)
    at = _query_place(asks)
    weights = scene.trace.values[cell.outputs[0].id][..., *at].float().cpu().numpy()
    head = HEAD.among(len(weights))
    pictured = bool(scene.inputs_spec.pictures)
    asking, answering = (_picture(tensor, pictured) for tensor in scene.inputs)
    y, x = (array[-1] for array in scene.term.dom)
    small = [_overlay_url(answering, answers.spread(one), heatmap.SMALL) for one in weights]
    data = {
        "asks": {**_side(asks), "title": f"Click a patch of {markup.axis(y)}, which asks"},
        "answers": {**_side(answers), "title": f"Its weights on the patches of {markup.axis(x)}"},
        "pictures": [
            _picture_url(asking, asks),
            _overlay_url(answering, answers.spread(weights[head]), MAX_SIDE),
        ],
        "at": at,
        "weights": b64encode(np.ascontiguousarray(weights[head], "<f4").tobytes()).decode(),
        "ends": [markup.digits(float(end)) for end in (weights[head].min(), weights[head].max())],
        "words": _words(scene, asks, answers, at),
        "side": _heads(small, head),
    }
    _patches(
        key=KEY,
        data=data,
        on_select_change=lambda: apply_component_selection(KEY),
        on_pick_change=_pick,
    )


IMAGE_PATCHES = Panel("On the picture", show_image_patches, controls=(QUERY_PATCH, HEAD))


def _windows(scene: Scene, tensor: torch.Tensor) -> Windows:
    height, width = tensor.shape[-2:]
    return Windows((height, width), scene.settings["w"], scene.settings["s"])


def _query_place(asks: Windows) -> tuple[int, int]:
    """Returns the row and column of the chosen patch; the middle one at first."""
    high, wide = asks.count
    return QUERY_PATCH.among(high, wide) or (high // 2, wide // 2)


def _pick() -> None:
    name, _, value = str(sent_value(KEY, "pick") or "").partition("=")
    pick(IMAGE_PATCHES.controls, name, value)


def _side(windows: Windows) -> dict[str, Any]:
    return {"shape": windows.shape, "count": windows.count, "step": windows.stride} | {
        "kernel": windows.kernel
    }


# --- as pictures ----------------------------------------------------------------------------------


def _picture(tensor: torch.Tensor, pictured: bool) -> CellGrid:
    """Returns an input as an image (height, width, 3) between 0 and 1."""
    numbers = tensor.detach().float().cpu().numpy()
    colours = numbers[[i % len(numbers) for i in range(3)]]
    if pictured:
        shown: CellGrid = np.clip(np.moveaxis(colours, 0, -1), 0, 1)
        return shown
    return heatmap.rgb_image(colours).astype(np.float32) / np.float32(255)


def _picture_url(picture: CellGrid, windows: Windows) -> str:
    """Returns a picture as a data URL; pixels outside all patches are faint."""
    empty = np.isnan(windows.spread(np.zeros(windows.count, np.float32)))
    return _address(255 * picture, empty, MAX_SIDE)


def _overlay_url(picture: CellGrid, weights: CellGrid, most: int) -> str:
    """Returns the weights as a half-transparent coloured image in a data URL."""
    low, high = float(np.nanmin(weights)), float(np.nanmax(weights))
    empty = np.isnan(weights)
    share = np.where(empty, 0, (weights - low) / ((high - low) or 1))
    table = np.frombuffer(heatmap.palette(heatmap.POSITIVE), np.uint8).reshape(256, 3)
    colours = table[np.round(255 * share).astype(int)]
    grey = 255 * picture.mean(-1, keepdims=True)
    mixed = np.where(empty[..., None], grey, COLOUR * colours + (1 - COLOUR) * grey)
    return _address(mixed, empty, most)


def _address(colours: CellGrid, empty: NDArray[np.bool_], most: int) -> str:
    """Returns an image as a data URL, reduced if it is large; empty pixels are faint."""
    image = np.dstack([np.round(colours), np.where(empty, FAINT_CELL, 255)]).astype(np.uint8)
    step = -(-max(image.shape) // most)
    return heatmap.image_url(np.ascontiguousarray(image[::step, ::step]))


# --- in words -------------------------------------------------------------------------------------


def _words(scene: Scene, asks: Windows, answers: Windows, at: tuple[int, int]) -> str:
    high, wide = answers.count
    even = markup.digits(1 / (high * wide))
    lines = [
        f"<p>Patch {at[0]}, {at[1]} of {asks.count[0]} × {asks.count[1]}. Its weights on the "
        f"{high} × {wide} patches sum to 1; all alike, each would be {even}.</p>"
    ]
    lost = [
        f"{windows.uncovered_count:,} of {markup.axis(array[-1])}"
        for windows, array in zip((asks, answers), scene.term.dom, strict=True)
        if windows.uncovered_count
    ]
    if lost:
        lines.append(f"<p>Hatched: pixels that no patch holds, {' and '.join(lost)}.</p>")
    return "".join(lines) + f'<p class="muted">{numbers_origin(scene)}</p>'


def _heads(small: list[str], chosen: int) -> str:
    if len(small) == 1:
        return ""
    pictures = [(HEAD.action(i), f"head {i}", picture) for i, picture in enumerate(small)]
    return map_component.thumbnail_buttons(pictures, HEAD.action(chosen))


# --- Patches: the patches of a picture, and which of them a patch reads in each layer

LAYER, PICTURE_HEAD = Place("picture_layer", None), Place("picture_head", None)
ASKING_PATCH = GridPlace("asking_patch")  # the patch that asks
SIDE = 384  # pixels of the picture on the screen
FAINT_PATCH, STRONG = 0.12, 0.85  # opacity of a patch that is read least, and most
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

    def window_range(self, place: int) -> range:
        """Returns the patches along one side that share a window with one.

        >>> Tiling(6, 3, 1).window_range(5)
        range(4, 6)
        """
        return next(range(a, b) for a, b in pairwise(self.edges) if a <= place < b)

    def window_position(self, row: int, column: int) -> tuple[int, int]:
        """Returns the number of a patch's window, and its number within that.

        >>> Tiling(6, 3, 1).window_position(0, 2)
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
    head, at = PICTURE_HEAD.among(heads), _asking_place(scene, found)
    read = window_weights(scene, layers[layer], found, at, head)
    said = f"layer {layer + 1} of {len(layers)}"
    sliders = LAYER.html(said, len(layers), layer) + PICTURE_HEAD.html(f"head {head}", heads, head)
    html_panel.render(
        f'<div class="told">{sliders}</div>'
        + parts.row(_picture_svg(scene, found, read, at), _side_html(scene, found, read, at)),
        "patches",
        WINDOWS.controls,
    )


WINDOWS = Panel("Patches", show_windows, controls=(LAYER, ASKING_PATCH, PICTURE_HEAD))


def tiling(scene: Scene, layers: list[Cell], layer: int) -> Tiling:
    """Returns the windows of a layer; without windows all patches are one."""
    array = layers[layer].outputs[0].array
    if len(array) == 3:
        side = int(scene.settings["x"])
        return Tiling(side, side)
    window = int(scene.settings["w"])
    side = isqrt(array[0].numel) * window
    return Tiling(side, window, window // 2 if layer % 2 and side > window else 0)


def _asking_place(scene: Scene, found: Tiling) -> tuple[int, int] | None:
    """Returns the patch that asks, by default one in the middle; None for the class vector."""
    if chosen := ASKING_PATCH.among(found.side, found.side):
        return chosen
    return None if _reads_class(scene) else (found.side // 2, found.side // 2)


def _reads_class(scene: Scene) -> bool:
    return any(cell.name == "cls_token" for cell in scene.circuit.cells)


def window_weights(
    scene: Scene, cell: Cell, found: Tiling, at: tuple[int, int] | None, head: int
) -> CellGrid:
    """Returns what a patch takes from each patch, (side, side); NaN where it cannot look."""
    numbers = scene.trace.values[cell.outputs[0].id][..., head]
    if numbers.ndim == 2:  # the class vector stands in front
        taken = numbers[0 if at is None else 1 + at[0] * found.side + at[1], 1:]
        return parts.grid(taken).reshape(found.side, found.side)
    assert at is not None
    window, own = found.window_position(*at)
    read = np.full((found.side, found.side), np.nan, np.float32)
    shares = parts.grid(numbers[window, own])
    for row in found.window_range(at[0]):
        for column in found.window_range(at[1]):
            read[row, column] = shares[found.window_position(row, column)[1]]
    return read


def _picture_svg(scene: Scene, found: Tiling, read: CellGrid, at: tuple[int, int] | None) -> str:
    """Returns the picture as SVG, under its windows and the patches that are read."""
    step, most = SIDE / found.side, float(np.nanmax(read)) or 1.0
    spans = [*pairwise(found.edges)]
    marks = [_window(rows, columns, step) for rows in spans for columns in spans]
    for row, column in zip(*np.nonzero(np.isfinite(read)), strict=True):
        share = float(read[row, column])
        strength = FAINT_PATCH + (STRONG - FAINT_PATCH) * share / most
        pick = ASKING_PATCH.action(f"{row}.{column}")
        look = f'fill="{READ}" fill-opacity="{strength:.2f}" '
        look += f'stroke="{EDGE}" stroke-width="0.6" data-pick="{pick}"'
        said = f"patch {row}, {column}: {markup.digits(share)}"
        marks.append(parts.box(column * step, row * step, step, step, look, said))
    if at is not None:
        look = f'fill="none" stroke="{CHOSEN}" stroke-width="3" pointer-events="none"'
        marks.append(parts.box(at[1] * step, at[0] * step, step, step, look))
    said = f"A picture of {found.side} × {found.side} patches"
    return parts.image_with_marks(heatmap.image_url(_pixels(scene)), SIDE, said, marks)


def _window(rows: tuple[int, int], columns: tuple[int, int], step: float) -> str:
    """Returns the outline of a window; a click on it asks its middle patch."""
    middle = f"{sum(rows) // 2}.{sum(columns) // 2}"
    wide, high = ((span[1] - span[0]) * step for span in (columns, rows))
    look = f'fill="#000" fill-opacity="0.25" stroke="{EDGE}" stroke-width="2.5" '
    look += f'data-pick="{ASKING_PATCH.action(middle)}"'
    return parts.box(columns[0] * step, rows[0] * step, wide, high, look)


def _pixels(scene: Scene) -> parts.Pixels:
    picture = scene.inputs[0]
    if scene.inputs_spec.pictures:
        return parts.pixels(picture)
    return heatmap.rgb_image(parts.grid(picture[[i % len(picture) for i in range(3)]]))


def _side_html(scene: Scene, found: Tiling, read: CellGrid, at: tuple[int, int] | None) -> str:
    count = int(np.isfinite(read).sum())
    who = "The class vector" if at is None else f"Patch {at[0]}, {at[1]}"
    lines = [
        f"<p>{who} reads {count:,} of {found.side**2:,} patches: the brighter, the more.</p>",
        f"<p>{_windows_sentence(found)}</p>" if found.window < found.side else "",
        f"<p>{_cost_sentence(found)}</p>",
    ]
    if _reads_class(scene) and at is not None:
        lines.append(f"<p>{ASKING_PATCH.button('', 'Ask the class vector')}</p>")
    lines.append(f'<p class="muted">Click a patch or a window. {numbers_origin(scene)}</p>')
    return f'<div style="flex:1;min-width:15em;max-width:30em">{"".join(lines)}</div>'


def _windows_sentence(found: Tiling) -> str:
    if found.shift:
        return (
            f"The windows are moved by {found.shift}: they lie across the edges of the layer "
            "before, so that what was apart there meets here. At the rim they are smaller."
        )
    return f"Windows of {found.window} × {found.window} patches know nothing of each other."


def _cost_sentence(found: Tiling) -> str:
    """Returns how many pairs of patches are compared, with windows and without."""
    every, own = found.side**4, found.side**2 * found.window**2
    if own == every:
        return f"{every:,} pairs of patches are compared: each with each."
    return f"{own:,} pairs of patches are compared, where all with all would be {every:,}."
