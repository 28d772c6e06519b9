"""The Patches panel: a picture cut for a vision transformer, correctly and with three mistakes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

import ncd
from ncd.app.figure.diagram import INTERACTIVE_ATTRIBUTES
from ncd.app.parts import heatmap, html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Choice
from ncd.systems.inputs.picture_inputs import sample
from ncd.systems.tensors.memory_layout import COLUMNS, PLAIN, RASTER, STRIDED, patches

CHANNELS, SIDE = 3, 64  # the shape of the picture
GAP = 2  # pixels of the picture between patches
SCREEN_SIDE = 272  # the side on the screen, in pixels
CODES: Mapping[str, tuple[str, str]] = {
    RASTER: (
        "a.reshape(C, H′, p, W′, q).permute(1, 3, 0, 2, 4)",
        "H′ × W′ patches of p × q pixels, each a square of the picture, read row by row: raster "
        "order. In the diagram H′ and W′ are h and w.",
    ),
    COLUMNS: (
        "a.reshape(C, H′, p, W′, q).permute(3, 1, 0, 2, 4)",
        "The same squares, but W′ stands before H′, so they are read column by column.",
    ),
    STRIDED: (
        "a.reshape(C, H′, p, q, W′).permute(1, 4, 0, 2, 3)",
        "q and W′ have changed places. The last axis is read first, so numbers that are neighbours "
        "in the picture go to different patches, and each patch has every W′-th column.",
    ),
    PLAIN: (
        "a.reshape(H′, W′, C, p, q)",
        "Without a permutation the numbers are read on as they lie, whole rows of one channel, and "
        "the colours fall apart.",
    ),
}
CUT_NAMES = {
    RASTER: "raster order",
    COLUMNS: "W′ before H′",
    STRIDED: "q before W′",
    PLAIN: "no permute",
}
CUT = Choice("cut", CUT_NAMES, RASTER)
PATCH_GRID = Choice("along", {side: f"{side} × {side}" for side in ("2", "4", "8")}, "4")


@dataclass(frozen=True)
class PatchReading:
    """Patches (n, c, p, q) of a picture, and how many are right, anywhere and in order."""

    patches: Tensor
    squares: int
    ordered_count: int


def show_patch_raster(scene: Scene) -> None:
    """Shows the picture, its patches in reading order, the code and its diagram."""
    n = int(PATCH_GRID.value)
    term = patches(CUT.value, CHANNELS, SIDE, n)
    found = cached_value(
        "patches read", term, make=lambda: scene.run_in_pool(lambda: read(term, n))
    )
    whole = cached_value(
        "patches whole", term, make=lambda: scene.run_in_pool(lambda: _windows(_picture(), n))
    )
    code, told = CODES[CUT.value]
    html = (
        f"<p>{CUT.html()}</p><p>{PATCH_GRID.html()}</p>"
        '<div style="display:flex;flex-wrap:wrap;gap:0.6rem 2rem">'
        f"{_figure('the picture, cut', _patch_grid(whole, n))}"
        f"{_figure('what is read, patch by patch', _patch_grid(found.patches, n))}"
        f'<div style="flex:1 1 18rem"><p class="code" style="white-space:normal">{code}</p>'
        f"<p>{told}</p><p role='status'>{_count_sentence(found)}</p></div></div>"
        f"{_diagram_html(term, scene)}"
    )
    html_panel.render(html, "patches in order", PATCH_RASTER.controls)


PATCH_RASTER = Panel("Patches", show_patch_raster, controls=(CUT, PATCH_GRID))


def _diagram_html(term: ncd.Term, scene: Scene) -> str:
    """Returns the diagram; only its axes take part in highlighting."""

    def make() -> str:
        svg = ncd.draw(term, scene.labels, bands=True, dark=scene.dark).svg(fonts=False)
        return INTERACTIVE_ATTRIBUTES.sub("", f'<div class="drawing">{svg}</div>')

    return cached_value("patches drawn", term, scene.labels, scene.dark, make=make)


def _count_sentence(found: PatchReading) -> str:
    """Returns how many patches are right, and how many of those are at the right position."""
    count = len(found.patches)
    sign = "✓" if found.ordered_count == count else "✗"
    return (
        f"{sign} {found.squares} of {count} patches are squares of the picture, "
        f"{found.ordered_count} "
        "of them at their place in raster order."
    )


def read(term: ncd.Term, n: int) -> PatchReading:
    """Runs the system on the positions of the pixels, and looks up the pixels there.

    >>> [read(patches(cut), 4).ordered_count for cut in CODES]
    [16, 4, 0, 0]
    """
    places = torch.arange(CHANNELS * SIDE**2, dtype=torch.float32).view(CHANNELS, SIDE, SIDE)
    with torch.no_grad():
        found = ncd.compile(term)(places).long().flatten(0, 1)
    squares = _windows(places.long(), n)
    known = {bytes(square.numpy().data) for square in squares}
    right = [bytes(one.numpy().data) in known for one in found.contiguous()]
    ordered = [bool(torch.equal(a, b)) for a, b in zip(found, squares, strict=True)]
    return PatchReading(_picture().flatten()[found], sum(right), sum(ordered))


def _picture() -> Tensor:
    return sample("boat").pixels(CHANNELS, SIDE, SIDE, seed=0)


def _windows(picture: Tensor, n: int) -> Tensor:
    """Returns the n × n squares of a picture in raster order, each cut out by slicing."""
    p = SIDE // n
    starts = range(0, SIDE, p)
    return torch.stack([picture[:, i : i + p, j : j + p] for i in starts for j in starts])


def _patch_grid(patches: Tensor, n: int) -> NDArray[np.uint8]:
    """Returns patches in rows with transparent gaps."""
    p = SIDE // n
    canvas = np.zeros((SIDE + GAP * (n - 1),) * 2 + (4,), np.uint8)
    for i, patch in enumerate(patches):
        y, x = (at * (p + GAP) for at in divmod(i, n))
        canvas[y : y + p, x : x + p, :3] = (255 * patch).round().byte().permute(1, 2, 0).numpy()
        canvas[y : y + p, x : x + p, 3] = 255
    return canvas


def _figure(title: str, pixels: NDArray[np.uint8]) -> str:
    size = f"width:{SCREEN_SIDE}px;height:{SCREEN_SIDE}px;max-width:100%;image-rendering:pixelated"
    return (
        f'<figure style="margin:0"><figcaption>{title}</figcaption>'
        f'<img alt="{title}" style="{size}" src="{heatmap.image_url(pixels)}"></figure>'
    )
