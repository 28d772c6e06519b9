"""The Feature maps panel: the arrays on the wires as images, one for each channel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import torch

from ncd.app.parts import heatmap, html_panel, slice_picker
from ncd.app.parts.html_panel import read_static
from ncd.app.parts.slice_picker import Dimension
from ncd.app.runtime.scheduler import run_in_thread
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state import selection
from ncd.app.state.cache import cached_value
from ncd.circuit.circuit import Value
from ncd.drawing.pipeline import draw
from ncd.explain.colour_scale import CellGrid, ColourRange
from ncd.site import markup
from ncd.site.op_cards import title

CSS = read_static("panels/learning/feature_maps.css")
WIDE, HIGH = 148, 190  # the room for the maps of one array, in pixels
SMALLEST, LARGEST, FINEST = 16, 46, 64  # a map's side in pixels, and the most cells along it
COLOURS = 3  # this many channels are shown as one colour image


@dataclass(frozen=True)
class Stack:
    """An array as images: its channel dimensions, and its batch dimension, if any."""

    value: Value
    made_by: str
    dimensions: tuple[Dimension, ...]
    outer_dims: tuple[int, ...]

    @property
    def batch(self) -> Dimension | None:
        return self.dimensions[self.outer_dims[0]] if len(self.outer_dims) > 1 else None

    @property
    def side(self) -> int:
        """The longer side of an image."""
        return max(d.size for i, d in enumerate(self.dimensions) if i not in self.outer_dims)

    def maps(self, tensor: torch.Tensor, at: Mapping[str, int]) -> CellGrid:
        """Returns its images: (channel, height, width)."""
        index = tuple(
            min(at.get(d.name, 0), d.size - 1) if i in self.outer_dims[:-1] else slice(None)
            for i, d in enumerate(self.dimensions)
        )
        numbers: CellGrid = tensor[index].detach().float().cpu().numpy()
        return numbers if self.outer_dims else numbers[None]


def show_feature_maps(scene: Scene) -> None:
    """Shows the arrays in diagram order; blocks are expanded as in the diagram."""
    found = stacks(scene)
    if not found:
        html_panel.render("<p>No array here has the two sides of an image.</p>", "features")
        return
    batch = next((stack.batch for stack in found if stack.batch), None)
    at = {batch.name: min(slice_picker.place(batch.name), batch.size - 1)} if batch else {}
    largest = max(stack.side for stack in found)
    figures = "".join(_figure(scene, stack, at, largest) for stack in found)
    html = (
        f'<style>{CSS}</style>{_images(batch, at)}<div class="features scroll" tabindex="0" '
        f'role="group" aria-label="{FEATURE_MAPS.title}">{figures}</div>'
        f'<p class="muted">Every small image is a channel. {numbers_origin(scene)}</p>'
    )
    html_panel.render(
        html, "features", on_pick=lambda picked: slice_picker.pick(*picked.split("="))
    )


FEATURE_MAPS = Panel("Feature maps", show_feature_maps, controls=slice_picker.CONTROLS)


def stacks(scene: Scene) -> list[Stack]:
    """Returns the visible arrays that are images, without copies and without other names of one."""
    drawing = draw(scene.term, **scene.draw_options, folded=selection.folded_in(scene.circuit))
    wires = {wire.array: wire.made_by for wire in reversed(drawing.wires)}
    same = (c for c in scene.circuit.cells if c.op.role == "copy" or c.passes_arrays_on)
    copies = {v.id for c in same for v in c.outputs}
    values = (v for id, v in scene.circuit.values.items() if id in wires and id not in copies)
    found = (_stack(value, wires[value.id]) for value in values)
    return [stack for stack in found if stack]


def _stack(value: Value, made_by: str) -> Stack | None:
    images = [axis for axis in value.array if axis.spatial and len(axis.shape) == 2]
    if len(images) != 1:
        return None
    own = slice_picker.dimensions(value.array)
    rest = tuple(i for i, d in enumerate(own) if d.axis is not images[0])
    return Stack(value, made_by, own, rest)


def _images(batch: Dimension | None, at: Mapping[str, int]) -> str:
    """Returns buttons to choose an image of the batch."""
    if batch is None:
        return ""
    buttons = "".join(
        f'<button class="plain" data-pick="{batch.name}={i}" '
        f'aria-current="{str(i == at[batch.name]).lower()}">{i + 1}</button>'
        for i in range(batch.size)
    )
    return f'<div class="images">Image {buttons} of the batch {batch.html}</div>'


def _figure(scene: Scene, stack: Stack, at: Mapping[str, int], largest: int) -> str:
    id, array = stack.value.id, stack.value.array
    key = (*scene.run_key, id, tuple(at.items()), largest, scene.dark)
    made = cached_value(
        "features",
        scene.term,
        *key,
        make=lambda: run_in_thread(lambda: _sheet(scene.trace.values[id], stack, at, largest)),
    )
    address, wide, told = made
    alt = f"{told} of {array}"
    shape = " · ".join(f"{markup.axis(axis)} {axis.size_text}" for axis in array)
    return (
        f'<figure data-array="{id}" data-select="{id}" role="button" tabindex="0">'
        f"<figcaption>{_maker(scene, stack.made_by)}<br>{shape}<br>"
        f'<span class="muted">{told}</span></figcaption>'
        f'<img alt="{markup.text(alt)}" src="{address}" style="width:{wide}px"></figure>'
    )


def _maker(scene: Scene, node: str) -> str:
    """Returns the name of the op that makes an array."""
    fence = next((fence for fence in scene.circuit.fences if fence.id == node), None)
    if fence:
        return markup.text(title(fence))
    known = any(cell.id == node for cell in scene.circuit.cells)
    return markup.text(scene.circuit.cell(node).op.display_name) if known else "What goes in"


def _sheet(
    tensor: torch.Tensor, stack: Stack, at: Mapping[str, int], largest: int
) -> tuple[str, float, str]:
    """Returns the images side by side as one picture: its URL, its width and their number."""
    every = stack.maps(tensor, at)
    if not stack.made_by and len(every) == COLOURS:
        pixels = heatmap.rgb_image(heatmap.pool(every, FINEST).maps)
        return heatmap.image_url(pixels), float(LARGEST * 2), "in colours"
    side = max(SMALLEST, LARGEST * stack.side / largest)
    across, down = int(WIDE // side), int(HIGH // side)
    cells = heatmap.pool(every[: across * down], FINEST).maps
    ends = ColourRange.from_numbers(cells, signed=bool(np.nanmin(every) < 0))
    sheet = tile_maps(cells, across)
    told = markup.plural(len(every), "channel")
    if len(cells) < len(every):
        told = f"{len(cells)} of {told}"
    stops = heatmap.scale(ends.low < 0)
    return heatmap.data_url(sheet, ends, stops), side * sheet.shape[1] / cells.shape[-1], told


def tile_maps(maps: CellGrid, across: int) -> CellGrid:
    """Returns maps in rows, with a transparent line between them.

    >>> tile_maps(np.ones((3, 1, 1), np.float32), 2).tolist()
    [[1.0, nan, 1.0], [nan, nan, nan], [1.0, nan, nan]]
    """
    count, high, wide = maps.shape
    down, across = -(-count // across), min(count, across)
    whole = np.full((down * (high + 1), across * (wide + 1)), np.nan, np.float32)
    for n, each in enumerate(maps):
        y, x = n // across * (high + 1), n % across * (wide + 1)
        whole[y : y + high, x : x + wide] = each
    return whole[:-1, :-1]
