"""The On the picture panel: the attention of a clicked patch, drawn over the picture."""

from __future__ import annotations

from base64 import b64encode
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st
import torch
from numpy.typing import NDArray

from ncd.app.panels.attention.attention_maps import HEAD
from ncd.app.parts import heatmap, map_component
from ncd.app.parts.heatmap import CellGrid
from ncd.app.parts.html_panel import apply_component_selection, read_static, sent_value
from ncd.app.scene import captions
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.controls import Text, pick
from ncd.site import markup
from ncd.site.markup import HIGHLIGHT_JS, PANEL_CSS

PATCH = Text("patch", r"[0-9]{1,6}\.[0-9]{1,6}")  # row and column of the query's patch
LARGE = 512  # the greatest side of a picture that is sent, in pixels
COLOUR, FAINT = 0.75, 70  # the opacity of the colours; the alpha of pixels outside all patches
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
    js=HIGHLIGHT_JS + read_static("panels/attention/image_patches.js"),
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
    def dropped(self) -> int:
        """The number of pixels that no window covers."""
        return int(np.isnan(self.spread(np.zeros(self.count, np.float32))).sum())


def show_image_patches(scene: Scene) -> None:
    """Shows the query's picture with its patches, and the key's picture under the weights."""
    cell = next(c for c in scene.circuit.cells if c.op.role == "softmax")
    asks, answers = (_windows(scene, tensor) for tensor in scene.inputs)
    at = _place(asks)
    weights = scene.trace.values[cell.outputs[0].id][..., *at].float().cpu().numpy()
    head = HEAD.among(len(weights))
    pictured = bool(scene.inputs_spec.pictures)
    asking, answering = (_picture(tensor, pictured) for tensor in scene.inputs)
    y, x = (array[-1] for array in scene.term.dom)
    small = [_laid(answering, answers.spread(one), heatmap.SMALL) for one in weights]
    data = {
        "asks": {**_side(asks), "title": f"Click a patch of {markup.axis(y)}, which asks"},
        "answers": {**_side(answers), "title": f"Its weights on the patches of {markup.axis(x)}"},
        "pictures": [
            _held(asking, asks),
            _laid(answering, answers.spread(weights[head]), LARGE),
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


IMAGE_PATCHES = Panel("On the picture", show_image_patches, controls=(PATCH, HEAD))


def _windows(scene: Scene, tensor: torch.Tensor) -> Windows:
    height, width = tensor.shape[-2:]
    return Windows((height, width), scene.settings["w"], scene.settings["s"])


def _place(asks: Windows) -> tuple[int, int]:
    """Returns the row and column of the chosen patch; the middle one at first."""
    high, wide = asks.count
    if not PATCH.value:
        return high // 2, wide // 2
    row, column = map(int, PATCH.value.split("."))
    return min(row, high - 1), min(column, wide - 1)


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


def _held(picture: CellGrid, windows: Windows) -> str:
    """Returns a picture as a data URL; pixels outside all patches are faint."""
    empty = np.isnan(windows.spread(np.zeros(windows.count, np.float32)))
    return _address(255 * picture, empty, LARGE)


def _laid(picture: CellGrid, weights: CellGrid, most: int) -> str:
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
    image = np.dstack([np.round(colours), np.where(empty, FAINT, 255)]).astype(np.uint8)
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
        f"{windows.dropped:,} of {markup.axis(array[-1])}"
        for windows, array in zip((asks, answers), scene.term.dom, strict=True)
        if windows.dropped
    ]
    if lost:
        lines.append(f"<p>Hatched: pixels that no patch holds, {' and '.join(lost)}.</p>")
    return "".join(lines) + f'<p class="muted">{captions.numbers_origin(scene)}</p>'


def _heads(small: list[str], chosen: int) -> str:
    if len(small) == 1:
        return ""
    pictures = [(HEAD.action(i), f"head {i}", picture) for i, picture in enumerate(small)]
    return map_component.thumbnail_buttons(pictures, HEAD.action(chosen))
