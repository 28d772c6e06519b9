"""The selected array as a map with statistics."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import streamlit as st
import torch

from ncd.app.figure import op_card, picked_cell
from ncd.app.parts import charts, heatmap, html_panel, map_component, slice_picker
from ncd.app.parts.map_component import AxisLabels, Heatmap
from ncd.app.parts.slice_picker import ArraySlice, Dimension
from ncd.app.runtime.scheduler import run_in_thread
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin, with_tooltip
from ncd.app.state.cache import cached_value
from ncd.circuit.circuit import Cell, Circuit, ScanLoop, Value, array_names
from ncd.explain.colour_scale import ColourRange
from ncd.language.axes import Array
from ncd.site import markup

# --- Statistics of an array: mean, spread, extremes and histogram

BINS = 40
MASKED_TOOLTIP = "−∞: a softmax makes it a weight of exactly 0"
SPREAD = "standard deviation: how far from the mean the numbers lie, as a root of the mean square"


@dataclass(frozen=True)
class ArrayStatistics:
    """Statistics of the finite numbers, and how many are masked (−∞) or undefined.

    ``different`` counts distinct values, of whole numbers only.
    """

    mean: float
    deviation: float
    smallest: float
    largest: float
    masked_count: int
    bins: tuple[int, ...]
    different: int = 0
    undefined_count: int = 0


def statistics(tensor: torch.Tensor) -> ArrayStatistics:
    """Computes mean, deviation (biased), extremes and histogram of the finite numbers."""
    numbers = tensor.detach().float().flatten()
    finite = numbers[numbers.isfinite()]
    masked = int((numbers == -torch.inf).sum())
    undefined = len(numbers) - len(finite) - masked
    if not len(finite):
        return ArrayStatistics(0, 0, 0, 0, masked, (), undefined_count=undefined)
    low, high = float(finite.min()), float(finite.max())
    bins = np.histogram(finite.cpu().numpy(), BINS, (low, high) if low < high else None)[0]
    return ArrayStatistics(
        float(finite.mean()),
        float(finite.std(correction=0)),
        low,
        high,
        masked,
        tuple(map(int, bins)),
        0 if tensor.is_floating_point() else len(tensor.unique()),
        undefined,
    )


def statistics_html(array: Array, found: ArrayStatistics) -> str:
    """Returns the statistics of an array as an HTML list."""
    facts = {
        "Shape": " × ".join(map(str, array.shape)) or "a number",
        "Numbers": f"{array.numel:,}",
        **(_integer_facts(array, found) if array.below else _real(found)),
    }
    if found.masked_count:
        facts[with_tooltip("Masked", MASKED_TOOLTIP)] = f"{found.masked_count:,}"
    if found.undefined_count:
        facts["Infinite or no number"] = f"{found.undefined_count:,}"
    listed = "".join(f"<div><dt>{k}</dt><dd>{markup.text(v)}</dd></div>" for k, v in facts.items())
    return f'<div class="told"><dl class="stats">{listed}</dl></div>'


def _integer_facts(array: Array, found: ArrayStatistics) -> dict[str, str]:
    assert array.below is not None
    return {
        "Whole numbers below": f"{array.below.name} = {array.below.numel:,}",
        "Different": f"{found.different:,}",
        "Smallest": f"{found.smallest:,.0f}",
        "Largest": f"{found.largest:,.0f}",
    }


def _real(found: ArrayStatistics) -> dict[str, str]:
    return {
        "Mean": markup.digits(found.mean),
        with_tooltip("Spread", SPREAD): markup.digits(found.deviation),
        "Smallest": markup.digits(found.smallest),
        "Largest": markup.digits(found.largest),
    }


def render_histogram(found: ArrayStatistics, key: str) -> None:
    """Shows a switch, and with it on a histogram of equal steps from the smallest to the largest.

    It is off at first, as loading Plotly's script would slow down the page.
    """
    if not found.bins or not st.toggle("Histogram", key=key):
        return
    low, high = markup.digits(found.smallest), markup.digits(found.largest)
    said = f"How many numbers are how large: {BINS} equal steps from {low} to {high}"
    figure = charts.histogram(
        "How large the numbers are", found.bins, found.smallest, found.largest
    )
    charts.render(figure, f"{key} chart", said)


# --- The Values panel: the selected array as a map with statistics, or the selected op's card


def show_values(scene: Scene) -> None:
    """Shows the selected array or op; without a selection, the output."""
    found = _show_selection(scene)
    if found is not None and not html_panel.is_collecting():
        render_histogram(found, "histogram")


def _show_selection(scene: Scene) -> ArrayStatistics | None:
    """Shows all but the histogram; returns the statistics of an array that has a map."""
    if op_card.render(scene):
        return None
    chosen = scene.selected_id
    return _array(scene, chosen if chosen.startswith("v") else scene.circuit.outputs[0].id)


VALUES = Panel(
    "Values",
    show_values,
    controls=(map_component.COLOURS, slice_picker.PICTURE, slice_picker.SLICES, picked_cell.NUMBER),
    follows_moves=True,
)


def _array(scene: Scene, id: str) -> ArrayStatistics | None:
    value, tensor = scene.circuit.values[id], scene.trace.values[id]
    key = (*scene.run_key, id)
    found = cached_value(
        "statistics",
        scene.term,
        *key,
        make=lambda: run_in_thread(lambda: statistics(tensor)),
    )
    cut = slice_picker.chosen_slice(value.array)
    if not cut.dimensions:
        map_component.render("values", head=_card(scene, value, found))
        return None
    focus, ends = _focus(scene, value, tensor, cut, found)
    told = [focus.pooled_maps.caption, map_component.outlier_notice(ends, focus.ends)]
    if any(id in body.values for loop in scene.circuit.scans for body in loop.bodies):
        told.append("It is made anew at every position of the scan; these are its last numbers.")
    map_component.render(
        "values",
        (map_component.COLOURS, slice_picker.PICTURE),
        partial(_pick, scene.circuit),
        aside=_card(scene, value, found),
        side=slice_picker.controls(cut)
        + slice_picker.thumbnails_html(cut, tensor, found.smallest < 0),
        map=focus,
        foot=(f'<p class="muted">{" ".join(filter(None, told))}</p>' if any(told) else "")
        + _arithmetic(scene, value, cut, focus),
    )
    return found


def _pick(circuit: Circuit, name: str, value: str) -> None:
    if name == map_component.BEHIND:
        picked_cell.go_to(circuit, value)
    elif name == map_component.ONE:
        picked_cell.pick(picked_cell.NUMBER, value)
    else:
        slice_picker.pick(name, value)


def _focus(
    scene: Scene, value: Value, tensor: torch.Tensor, cut: ArraySlice, found: ArrayStatistics
) -> tuple[Heatmap, ColourRange]:
    """Returns the map of an array, and its default colour scale."""
    whole = not tensor.is_floating_point()
    grid = slice_picker.grid(tensor, cut)
    ends = ColourRange.from_numbers(grid, signed=found.smallest < 0)
    used = map_component.colours(ends)
    rows, columns = cut.rows, cut.columns
    names = array_names(scene.circuit).get(value.id, "")
    by = " by ".join(dimension.words for dimension in (rows, columns) if dimension)
    numbers = heatmap.pool(grid, heatmap.LARGE)
    one = picked_cell.selected_cell(picked_cell.NUMBER, *grid.shape)
    focus = Heatmap(
        f"{value.id} {cut.picture} {grid.shape}",
        f"{names or 'Numbers'} as a map, {by}".strip(),
        numbers,
        used,
        _side(scene, rows),
        _side(scene, columns),
        value_label="",
        square_cells=cut.alike,
        integer_values=whole,
        pixels=slice_picker.image(tensor, cut),
        marks=picked_cell.marks(one, numbers.block, whole=False),
        cell_action=map_component.ONE,
    )
    return focus, ends


def _arithmetic(scene: Scene, value: Value, cut: ArraySlice, focus: Heatmap) -> str:
    """Returns the computation of the selected cell, if there is one."""
    one = picked_cell.selected_cell(picked_cell.NUMBER, *focus.pooled_maps.shape)
    if one is None:
        return ""
    index = [max(0, at) for at in cut.positions]
    for dimension, at in zip(cut.picture_dims, one[-len(cut.picture_dims) :], strict=True):
        index[dimension] = at
    covers = picked_cell.pooled_note(focus.pooled_maps, one)
    return picked_cell.number_html(scene, value.id, index, covers)


def _side(scene: Scene, dimension: Dimension | None) -> AxisLabels:
    if dimension is None:
        return AxisLabels()
    words = () if dimension.axis.spatial else scene.axis_words(dimension.axis.name)
    return AxisLabels(dimension.html, dimension.words, words)


def _card(scene: Scene, value: Value, found: ArrayStatistics) -> str:
    where, after = _neighbours(scene, value.id)
    name = array_names(scene.circuit).get(value.id, "")
    return (
        f'<h2 data-array="{value.id}">{markup.text(name)} {markup.array(value.array)}</h2>'
        f'<p class="muted">{where}{f", taken by {after}" if after else ", the output"}. '
        f"{numbers_origin(scene)}</p>"
        f"{statistics_html(value.array, found)}"
    )


def _neighbours(scene: Scene, id: str) -> tuple[str, str]:
    """Returns links to the op that makes an array and to those that read it."""
    units: tuple[Cell | ScanLoop, ...] = (*scene.circuit.cells, *scene.circuit.scans)
    maker = next((u for u in units if any(v.id == id for v in u.outputs)), None)
    takers = [u for u in units if any(v.id == id for v in u.inputs)]
    if maker is not None:
        where = f"made by {_unit_link(maker)}"
    elif any(v.id == id for v in scene.circuit.inputs):
        where = "what goes in"
    else:
        where = "one position of what goes into the scan"
    return where, ", ".join(map(_unit_link, takers))


def _unit_link(unit: Cell | ScanLoop) -> str:
    label = unit.op.display_name if isinstance(unit, Cell) else f"Scan along {unit.axis}"
    return _link(unit.id, label)


def _link(id: str, label: str) -> str:
    return (
        f'<span data-node="{id}" data-select="{id}" role="button" tabindex="0">'
        f"{markup.text(label)}</span>"
    )
