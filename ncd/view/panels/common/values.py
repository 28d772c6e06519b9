"""The Values panel: the selected array as a map with statistics, or the selected op's card."""

from __future__ import annotations

from functools import partial

import torch

from ncd.export import markup
from ncd.lang.circuits.array_names import called
from ncd.lang.circuits.circuit import Cell, Circuit, Loop, Value
from ncd.view.arithmetic import cell
from ncd.view.arrays import array_statistics, captions, map_component, slice_picker
from ncd.view.arrays.array_statistics import Statistics
from ncd.view.arrays.map_component import Map, Side
from ncd.view.arrays.slice_picker import Cut, Dimension
from ncd.view.base import heatmap
from ncd.view.base.cache import remember
from ncd.view.base.heatmap import Ends
from ncd.view.diagram import op_card
from ncd.view.runtime import torch_threads
from ncd.view.session.scene import Scene

TITLE = "Values"
RUNS = True
CONTROLS = (map_component.COLOURS, slice_picker.PICTURE, slice_picker.SLICES, cell.NUMBER)


def show(scene: Scene) -> None:
    """Shows the selected array or op; without a selection, the output."""
    if not op_card.show(scene):
        chosen = scene.selected
        _array(scene, chosen if chosen.startswith("v") else scene.circuit.outputs[0].id)


def _array(scene: Scene, id: str) -> None:
    value, tensor = scene.circuit.values[id], scene.trace.values[id]
    key = (*scene.numbers, id)
    found = remember(
        "statistics",
        scene.term,
        *key,
        make=lambda: torch_threads.run(lambda: array_statistics.statistics(tensor)),
    )
    cut = slice_picker.chosen(value.array)
    if not cut.dimensions:
        map_component.show("values", head=_card(scene, value, found))
        return
    focus, ends = _focus(scene, value, tensor, cut, found)
    told = [focus.numbers.told, map_component.beyond(ends, focus.ends)]
    if any(id in body.values for loop in _scans(scene) for body in loop.bodies):
        told.append("It is made anew at every position of the scan; these are its last numbers.")
    map_component.show(
        "values",
        (map_component.COLOURS, slice_picker.PICTURE),
        partial(_pick, scene.circuit),
        aside=_card(scene, value, found),
        side=slice_picker.controls(cut) + slice_picker.overview(cut, tensor, found.smallest < 0),
        map=focus,
        foot=(f'<p class="muted">{" ".join(filter(None, told))}</p>' if any(told) else "")
        + _arithmetic(scene, value, cut, focus),
    )
    array_statistics.show_histogram(found, "histogram")


def _pick(circuit: Circuit, name: str, value: str) -> None:
    if name == map_component.BEHIND:
        cell.go_to(circuit, value)
    elif name == map_component.ONE:
        cell.pick(cell.NUMBER, value)
    else:
        slice_picker.pick(name, value)


def _focus(
    scene: Scene, value: Value, tensor: torch.Tensor, cut: Cut, found: Statistics
) -> tuple[Map, Ends]:
    """Returns the map of an array, and its default colour scale."""
    whole = not tensor.is_floating_point()
    grid = slice_picker.grid(tensor, cut)
    ends = Ends.of(grid, signed=found.smallest < 0)
    used = map_component.colours(ends)
    rows, columns = cut.rows, cut.columns
    names = called(scene.circuit).get(value.id, "")
    by = " by ".join(dimension.words for dimension in (rows, columns) if dimension)
    numbers = heatmap.pooled(grid, heatmap.LARGE)
    one = cell.chosen(cell.NUMBER, *grid.shape)
    focus = Map(
        f"{value.id} {cut.picture} {grid.shape}",
        f"{names or 'Numbers'} as a map, {by}".strip(),
        numbers,
        used,
        _side(scene, rows),
        _side(scene, columns),
        said="",
        square=cut.alike,
        whole=whole,
        pixels=slice_picker.image(tensor, cut),
        marks=cell.marks(one, numbers.block, whole=False),
        picks=map_component.ONE,
    )
    return focus, ends


def _arithmetic(scene: Scene, value: Value, cut: Cut, focus: Map) -> str:
    """Returns the computation of the selected cell, if there is one."""
    one = cell.chosen(cell.NUMBER, *focus.numbers.shape)
    if one is None:
        return ""
    index = [max(0, at) for at in cut.at]
    for dimension, at in zip(cut.shown, one[-len(cut.shown) :], strict=True):
        index[dimension] = at
    covers = cell.pooled_note(focus.numbers, one)
    return cell.number_html(scene, value.id, index, covers)


def _side(scene: Scene, dimension: Dimension | None) -> Side:
    if dimension is None:
        return Side()
    words = () if dimension.axis.spatial else scene.words(dimension.axis.name)
    return Side(dimension.html, dimension.words, words)


def _card(scene: Scene, value: Value, found: Statistics) -> str:
    where, after = _neighbours(scene, value.id)
    name = called(scene.circuit).get(value.id, "")
    return (
        f'<h2 data-array="{value.id}">{markup.text(name)} {markup.array(value.array)}</h2>'
        f'<p class="muted">{where}{f", taken by {after}" if after else ", the output"}. '
        f"{captions.origin(scene)}</p>"
        f"{array_statistics.told(value.array, found)}"
    )


def _scans(scene: Scene) -> list[Loop]:
    return [loop for loop in scene.circuit.loops if loop.kind == "scan"]


def _neighbours(scene: Scene, id: str) -> tuple[str, str]:
    """Returns links to the op that makes an array and to those that read it."""
    units: list[Cell | Loop] = [*scene.circuit.cells, *_scans(scene)]
    maker = next((u for u in units if any(v.id == id for v in u.outputs)), None)
    takers = [u for u in units if any(v.id == id for v in u.inputs)]
    if maker is not None:
        where = f"made by {_named(maker)}"
    elif any(v.id == id for v in scene.circuit.inputs):
        where = "what goes in"
    else:
        where = "one position of what goes into the scan"
    return where, ", ".join(map(_named, takers))


def _named(unit: Cell | Loop) -> str:
    label = unit.op.label if isinstance(unit, Cell) else f"Scan along {unit.axis}"
    return _link(unit.id, label)


def _link(id: str, label: str) -> str:
    return (
        f'<span data-node="{id}" data-select="{id}" role="button" tabindex="0">'
        f"{markup.text(label)}</span>"
    )
