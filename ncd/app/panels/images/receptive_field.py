"""The Receptive field panel: what a place of the result sees, by formula and by gradient."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import streamlit as st
import torch
from numpy.typing import NDArray

from ncd.app.parts import heatmap
from ncd.app.parts.html_panel import read_static, sent_value
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import GridPlace, pick
from ncd.explain.colour_scale import CellGrid, ColourRange
from ncd.site import markup
from ncd.site.markup import GREY, PANEL_CSS
from ncd.site.scripts import script
from ncd.systems.images.convolution_layers import (
    Stack,
    field_sizes,
    field_start,
    stack_of,
    visible_places,
)

OBSERVER_PLACE = GridPlace("seen_from")  # row and column of the chosen result
KEY = "receptive field"
WIDEST = 160  # places of a layer that are drawn
HEAT = (216, 64, 16)  # the colour of what is seen
FAINT = 0.25  # the least opacity of a pixel that counts at all

_field = st.components.v2.component(
    "ncd_field",
    html=read_static("panels/images/receptive_field.html"),
    css=PANEL_CSS
    + read_static("panels/images/convolution_window.css", "panels/images/layer_rows.css"),
    js=script("app/panels/images/receptive_field.js"),
)


@dataclass(frozen=True)
class SeenField:
    """The pixels that a place of the result depends on, by the layers' sizes and by the gradient.

    ``formula`` says of each pixel whether it can count, ``gradient`` how much it does.
    """

    formula: NDArray[np.bool_]
    gradient: CellGrid

    @property
    def equal(self) -> bool:
        """Whether the gradient is other than 0 at exactly the pixels that can count."""
        return bool((self.formula == (self.gradient > 0)).all())


def observed_field(scene: Scene, at: tuple[int, int]) -> SeenField:
    """Returns what a place of the result sees, by formula and by gradient."""
    stack = stack_of(**scene.settings)
    side = scene.settings["x"]
    rows, columns = (np.zeros(side, bool) for _ in at)
    rows[[*visible_places(stack, side, at[0])[0]]] = True
    columns[[*visible_places(stack, side, at[1])[0]]] = True
    x = scene.inputs[0].detach().clone().requires_grad_()
    with torch.enable_grad():
        chosen = scene.module(x)[:, at[0], at[1]].abs().sum()
    (gradient,) = torch.autograd.grad(chosen, x)
    return SeenField(np.outer(rows, columns), gradient.abs().sum(0).float().cpu().numpy())


# --- The panel


def show_receptive_field(scene: Scene) -> None:
    """Shows the picture under what is seen of it, the result, and the layers in between."""
    stack = stack_of(**scene.settings)
    made = scene.trace.outputs[0].detach().float().cpu().numpy()
    side = made.shape[-1]
    at = OBSERVER_PLACE.among(side, side) or (side // 2, side // 2)  # the middle one at first
    key = (*scene.run_key, at)
    found = cached_value(
        "seen", scene.term, *key, make=lambda: scene.run_in_pool(lambda: observed_field(scene, at))
    )
    jump = int(np.prod([layer.stride for layer in stack]))
    numbers = made[0]
    data = {
        "at": at,
        "shape": found.gradient.shape,
        "count": numbers.shape,
        "first": field_start(stack, 0),
        "jump": jump,
        "field": field_sizes(stack)[-1],
        "taken": _input_address(scene),
        "heat": _heat_address(found.gradient),
        "made": heatmap.data_url(
            numbers, ColourRange.from_numbers(numbers, signed=True), heatmap.scale(True)
        ),
        "layers": layer_rows(stack, scene.settings["x"], at[1]) + _table(stack),
        "foot": f"{_formula_and_gradient(found, stack)} "
        f"<span class='muted'>{numbers_origin(scene)}</span>",
    }
    _field(key=KEY, data=data, on_pick_change=_pick, on_select_change=lambda: None)


RECEPTIVE_FIELD = Panel("Receptive field", show_receptive_field, controls=(OBSERVER_PLACE,))


def _pick() -> None:
    name, _, value = str(sent_value(KEY, "pick") or "").partition("=")
    pick(RECEPTIVE_FIELD.controls, name, value)


def _input_address(scene: Scene) -> str:
    picture = scene.inputs[0].detach().float().cpu().numpy()[0]
    if scene.inputs_spec.pictures:
        return heatmap.data_url(picture, ColourRange(0, 1), GREY)
    return heatmap.data_url(
        picture, ColourRange.from_numbers(picture, signed=True), heatmap.scale(True)
    )


def _heat_address(gradient: CellGrid) -> str:
    """Returns the gradient as a picture in one colour, the more opaque the larger it is."""
    most = float(gradient.max()) or 1.0
    share = np.where(gradient > 0, FAINT + (1 - FAINT) * np.sqrt(gradient / most), 0)
    colours = np.empty((*gradient.shape, 4), np.uint8)
    colours[..., :3] = HEAT
    colours[..., 3] = np.round(255 * share)
    return heatmap.image_url(colours)


def layer_rows(stack: Stack, side: int, place: int) -> str:
    """Returns a row of cells for the picture and for each layer, with those that are seen."""
    if side > WIDEST:
        return ""
    seen = visible_places(stack, side, place)
    sizes, rows = [side], list[str]()
    for layer in stack:
        sizes.append((sizes[-1] + 2 * layer.padding - layer.reach - 1) // layer.stride + 1)
    for y, (size, lit) in enumerate(zip(reversed(sizes), reversed(seen), strict=True)):
        wide = side / size
        rows.extend(
            f'<rect x="{i * wide + 0.05:.2f}" y="{2 * y}" width="{wide - 0.1:.2f}" height="1.3" '
            f'class="{"lit-cell" if i in lit else "pixel"}"/>'
            for i in range(size)
        )
    told = f"Row by row from the result down to the picture; it sees {len(seen[0])} places"
    return (
        f'<p class="muted">One row: the result above, the picture below</p>'
        f'<svg class="strip tower" viewBox="0 0 {side} {2 * len(sizes)}" role="img" '
        f'preserveAspectRatio="none" aria-label="{told}">{"".join(rows)}</svg>'
    )


def _table(stack: Stack) -> str:
    """Returns what each layer adds to the field."""
    body, jump, before = [], 1, 1
    for i, (layer, field) in enumerate(zip(stack, field_sizes(stack), strict=True), 1):
        added = f"{layer.dilation}·{layer.kernel - 1}·{jump}"
        body.append(
            f'<tr><td class="number">{i}</td><td class="number">{before} + {added}</td>'
            f'<td class="number"><b>{field}</b></td></tr>'
        )
        jump, before = jump * layer.stride, field
    head = ("layer", "+ d (k − 1) · strides before", "sees")
    return f'<div class="fields">{markup.table(head, body, numbers=(0, 1, 2))}</div>'


def _formula_and_gradient(found: SeenField, stack: Stack) -> str:
    """Returns whether formula and gradient agree, and how much of the gradient is in the middle."""
    pixels, total = int(found.formula.sum()), float(found.gradient.sum()) or 1.0
    largest = np.sort(found.gradient.ravel())[::-1][: max(1, pixels // 4)].sum() / total
    side = field_sizes(stack)[-1]
    agree = (
        f"✓ By formula and by gradient it is the same {pixels:,} pixels"
        if found.equal
        else f"By formula {pixels:,} pixels, by gradient {int((found.gradient > 0).sum()):,}: "
        "some are too small for these numbers"
    )
    return (
        f"<span>The field is <b>{side} × {side}</b>. {agree}; the quarter that counts "
        f"most has {100 * largest:.0f} % of the gradient.</span>"
    )
