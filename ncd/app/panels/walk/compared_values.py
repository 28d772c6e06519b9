"""The values of two scenes as maps side by side, with one colour scale.

They show the selected array, else a softmax, else the output.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import streamlit as st

from ncd.app.panels.attention import attention_maps
from ncd.app.panels.attention.attention_maps import HEAD, SOFTMAX, Weights
from ncd.app.panels.walk.compared_diagrams import SIDES, CircuitMatch
from ncd.app.parts import heatmap, map_component, slice_picker
from ncd.app.parts.map_component import AxisLabels, Heatmap
from ncd.app.parts.slice_picker import ArraySlice, Dimension
from ncd.app.runtime.scheduler import run_in_thread
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached_value
from ncd.circuit.circuit import Cell, Value, array_names
from ncd.explain.colour_scale import CellGrid, ColourRange
from ncd.language.axes import Axis
from ncd.site import markup
from ncd.words import list_words

CONTROLS = (HEAD, SOFTMAX, slice_picker.PICTURE, slice_picker.SLICES)
HEADS = 16  # small pictures on each side
NONE = "It has no such array."
STYLE = """<style>
.ncd.maps { --high: clamp(260px, calc(100vh - 340px), 560px); }
.head .heads { min-height: 92px; gap: 0.3rem; align-content: start; }
.head .heads button { padding: 2px; }
.head .heads img { width: 52px; height: 52px; margin: 0 auto; }
</style>"""
BLANK = AxisLabels()


@dataclass(frozen=True)
class SideValues:
    """One side: numbers along two axes, or a sentence if there is no map."""

    grid: CellGrid | None = None
    rows: AxisLabels = BLANK
    columns: AxisLabels = BLANK
    label: str = ""
    square: bool = False
    words: str = NONE
    above_html: str = ""


@dataclass(frozen=True)
class ValuePair:
    """Both sides, their colour range, and the HTML above them."""

    sides: tuple[SideValues, ...]
    ends: ColourRange
    html: str


def pair(one: Scene, two: Scene, found: CircuitMatch) -> ValuePair | None:
    """Returns both sides, or None if one scene is too large to run."""
    if not (one.can_run and two.can_run):
        return None
    ids = {theirs: own for own, theirs in found.ids.items()}
    softmaxes = [cell for cell in two.circuit.cells if attention_maps.attends(cell)]
    chosen = two.selected_id if two.selected_id.startswith("v") else ""
    if softmaxes and not chosen:
        cell = next((c for c in softmaxes if c.id == SOFTMAX.value), softmaxes[0])
        before = next((a for a, b in found.rows if b is cell), None)
        return _attention((one, two), (before, cell), softmaxes)
    id = chosen or two.circuit.outputs[0].id
    return _values((one, two), (one.circuit.values.get(ids.get(id, "")), two.circuit.values[id]))


def heading(both: ValuePair | None) -> str:
    """Returns the HTML above the maps."""
    if both is None:
        return "<p>One of both is too large to run here. Shapes, cost and source need no run.</p>"
    return both.html + _difference_html(both.sides)


def show(both: ValuePair | None) -> None:
    """Shows the maps, each with its own zoom."""
    if both is None:
        return
    for column, title, side in zip(st.columns(2), SIDES, both.sides, strict=True):
        focus = None if side.grid is None else _map(title, side, both.ends)
        words = "" if focus else f"<p>{side.words}</p>"
        head = f"{STYLE}<h2>{title}</h2>{side.above_html}{words}"
        more = focus.pooled_maps.caption if focus else ""
        with column:
            map_component.render(
                f"map {title.lower()}",
                CONTROLS,
                slice_picker.pick,
                head=head,
                map=focus,
                foot=f'<p class="muted">{more}</p>' if more else "",
            )


def _map(title: str, side: SideValues, ends: ColourRange) -> Heatmap:
    assert side.grid is not None
    return Heatmap(
        f"{title} {side.label} {side.grid.shape}",
        f"{title}: {side.label}",
        heatmap.pool(side.grid, heatmap.LARGE),
        ends,
        side.rows,
        side.columns,
        square_cells=side.square,
    )


def _difference_html(sides: Sequence[SideValues]) -> str:
    """Returns how much two maps of one shape differ, in words."""
    one, two = (side.grid for side in sides)
    if one is None or two is None:
        return ""
    if one.shape != two.shape:
        shapes = (f"{rows:,} × {columns:,}" for rows, columns in (one.shape, two.shape))
        return f'<p class="muted">{list_words(shapes)} numbers, in the same colours.</p>'
    gaps = np.abs(one - two)[np.isfinite(one - two)]
    if not gaps.any():
        return '<p class="muted">They are the same, number by number.</p>'
    largest, mean = (markup.digits(float(gap)) for gap in (gaps.max(), gaps.mean()))
    return (
        f'<p class="muted">In the same colours. They are up to {largest} apart, '
        f"{mean} in the mean.</p>"
    )


# --- attention ------------------------------------------------------------------------------------


def _attention(
    scenes: tuple[Scene, Scene], cells: tuple[Cell | None, Cell], every: list[Cell]
) -> ValuePair:
    """Returns a softmax as a pair: small pictures of all heads, and the chosen head."""
    own = tuple(
        _weights(scene, cell) if cell else None for scene, cell in zip(scenes, cells, strict=True)
    )
    ends = ColourRange.from_numbers(
        np.concatenate([w.maps.ravel() for w in own if w]), signed=False
    )
    head = HEAD.among(max(len(w.maps) for w in own if w))
    sides = tuple(
        replace(_head(scene, w, head), above_html=_strip(w, head, ends))
        for scene, w in zip(scenes, own, strict=True)
    )
    places = attention_maps.places(every, scenes[1].circuit)
    html = attention_maps.choice(every, cells[1], places) or "Attention"
    return ValuePair(sides, ends, f"<p>{html}</p>")


def _weights(scene: Scene, cell: Cell) -> Weights:
    value = scene.trace.values[cell.outputs[0].id]
    return run_in_thread(lambda: attention_maps.weights(cell, value))


def _head(scene: Scene, found: Weights | None, head: int) -> SideValues:
    if found is None:
        return SideValues(words="It has no such softmax.")
    if head >= len(found.maps):
        return SideValues(words=f"It has no head {head}: {markup.plural(len(found.maps), 'head')}.")
    name = attention_maps.heads_named(found.heads)[head]
    queries, keys = found.queries, found.keys
    return SideValues(
        found.maps[head],
        _side(scene, "query", queries),
        _side(scene, "key", keys, name),
        f"weights of every query on every key, head {head}",
        square=bool(queries and queries.sequence and keys.sequence),
    )


def _side(scene: Scene, what: str, axis: Axis | None, after: str = "") -> AxisLabels:
    if axis is None:
        return BLANK
    title = f"{what} {markup.axis(axis)}{after and f', {after}'}"
    return AxisLabels(title, f"{what} {map_component.axis_text(axis)}", scene.axis_words(axis.name))


def _strip(found: Weights | None, head: int, ends: ColourRange) -> str:
    """Returns a small picture of each head, as a button."""
    if found is None or len(found.maps) == 1:
        return ""
    run, names = (
        heatmap.visible_range(len(found.maps), head, HEADS),
        attention_maps.heads_named(found.heads),
    )
    small = heatmap.pool(found.maps[run.start : run.stop], heatmap.SMALL)
    buttons, sheet = (
        [(HEAD.action(i), names[i]) for i in run],
        heatmap.sprite_sheet(small.maps, ends),
    )
    return map_component.sprite_buttons(sheet, buttons, HEAD.action(head)) + map_component.pager(
        HEAD.name, run, len(found.maps)
    )


# --- any array ------------------------------------------------------------------------------------


def _values(scenes: tuple[Scene, Scene], values: tuple[Value | None, Value]) -> ValuePair:
    """Returns an array as a pair, cut as in the Values panel."""
    cuts = [slice_picker.chosen_slice(value.array) if value else None for value in values]
    sides = tuple(
        _part(scene, value, cut) if value and cut else SideValues()
        for scene, value, cut in zip(scenes, values, cuts, strict=True)
    )
    grids = [side.grid.ravel() for side in sides if side.grid is not None]
    numbers = np.concatenate(grids) if grids else np.zeros(1, np.float32)
    signed = bool((numbers[np.isfinite(numbers)] < 0).any())
    name = array_names(scenes[1].circuit).get(values[1].id, "")
    title = f"{markup.text(name)} {markup.array(values[1].array)}".strip()
    controls = slice_picker.controls(cuts[1]) if cuts[1] and cuts[1].dimensions else ""
    html = f'<h2 data-array="{values[1].id}">{title}</h2>{controls}{_dimension_slider(cuts[1])}'
    return ValuePair(sides, ColourRange.from_numbers(numbers, signed=signed), html)


def _dimension_slider(cut: ArraySlice | None) -> str:
    """Returns a slider for the dimension that the Values panel shows as small pictures."""
    return (
        ""
        if cut is None or cut.gallery_dim is None
        else slice_picker.dimension_slider(cut, cut.gallery_dim)
    )


def _part(scene: Scene, value: Value, cut: ArraySlice) -> SideValues:
    tensor = scene.trace.values[value.id]
    if not cut.dimensions:
        number = run_in_thread(lambda: float(tensor))
        return SideValues(words=f"<b>{markup.digits(number)}</b>")
    key = (*scene.run_key, value.id, cut.picture, cut.positions)
    grid = cached_value(
        "grid",
        scene.term,
        *key,
        make=lambda: run_in_thread(lambda: slice_picker.grid(tensor, cut)),
    )
    return SideValues(
        grid,
        _end(scene, cut.rows),
        _end(scene, cut.columns),
        f"numbers along {cut.columns.words}",
        square=cut.alike,
    )


def _end(scene: Scene, dimension: Dimension | None) -> AxisLabels:
    if dimension is None:
        return BLANK
    words = () if dimension.axis.spatial else scene.axis_words(dimension.axis.name)
    return AxisLabels(dimension.html, dimension.words, words)
