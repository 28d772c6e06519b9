"""The Attention panel: a small map for each head, and a large map of the chosen head."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np
import torch

from ncd.app.figure import picked_cell as arithmetic
from ncd.app.parts import heatmap, html_panel, map_component
from ncd.app.parts.map_component import AxisLabels, Heatmap
from ncd.app.runtime.scheduler import run_in_thread
from ncd.app.scene.panel import Panel, Settings
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Place, TextControl
from ncd.circuit.circuit import Cell, Circuit, Fence, attention_axes
from ncd.explain.colour_scale import CellGrid, ColourRange, PooledMaps
from ncd.language.axes import Array, Axis
from ncd.site import markup
from ncd.systems.inputs.text_inputs import doubt
from ncd.systems.training import trained_weights
from ncd.words import plain_text

HEAD, SOFTMAX = Place("head"), TextControl("softmax")  # the softmax by the id of its op
MAP = "map"  # an action that sets softmax and head
MAX_PICTURES = 48  # small pictures at once
NO_BREAK_EQUALS = "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class Weights:
    """The output of a softmax: from every query a weight on every key, in each head."""

    value: str
    queries: Axis | None
    keys: Axis
    heads: Array
    maps: CellGrid  # (heads, queries, keys)


def heads_named(heads: Array) -> list[str]:
    """Returns the names of the heads as HTML, such as ``h = 0``; a line breaks between two axes."""
    counts = (range(axis.numel) for axis in heads)
    return [
        ", ".join(
            map_component.position_html(axis, i).replace(" = ", NO_BREAK_EQUALS)
            for axis, i in zip(heads, at, strict=True)
        )
        for at in product(*counts)
    ]


def attends(cell: Cell) -> bool:
    """Returns whether an op is a softmax over positions, not over classes or experts."""
    return cell.op.role == "softmax" and any(
        a.sequence or a.spatial for a in cell.site.own_outputs[0]
    )


def softmaxes(circuit: Circuit) -> list[Cell]:
    """Returns the softmaxes over positions, or all if none is."""
    every = [cell for cell in circuit.cells if cell.op.role == "softmax"]
    return [cell for cell in every if attends(cell)] or every


def about_softmax(circuit: Circuit, id: str) -> Settings | None:
    """Returns the setting that chooses a softmax, by its id or that of its weights; else None."""
    for cell in softmaxes(circuit):
        if id in (cell.id, cell.outputs[0].id):
            return {SOFTMAX.name: cell.id}
    return None


def show_attention_maps(scene: Scene) -> None:
    """Shows the weights of every softmax over positions, or of every softmax if none is."""
    cells = softmaxes(scene.circuit)
    if not cells:
        html_panel.render(
            "<p>Nothing attends here: the circuit has no softmax.</p>", "nothing attends"
        )
        return
    cell = next((c for c in cells if c.id == SOFTMAX.value), cells[0])
    found = scene.run_in_pool(lambda: weights(cell, scene.trace.values[cell.outputs[0].id]))
    head = HEAD.among(len(found.maps))
    used = map_component.colours(ends := ColourRange.from_numbers(found.maps[head], signed=False))
    names = places(cells, scene.circuit)
    one = arithmetic.selected_cell(arithmetic.CELL, *found.maps.shape[1:])
    focus = _focus(found, head, used, scene, names[cell.id], one)
    all_at_once = len(cells) > 1 and sum(_heads(cell).numel for cell in cells) <= MAX_PICTURES
    if all_at_once:
        small, overview = _small_maps(scene, cells, names, f"{cell.id}.{head}")
    else:
        small, overview = _overview(scene, found, head)
    told = (focus.pooled_maps.caption, small, map_component.outlier_notice(ends, used))
    map_component.render(
        "attention",
        ATTENTION_MAPS.controls,
        _pick,
        head="" if all_at_once else choice(cells, cell, names),
        side=overview,
        map=focus,
        aside=_sentence(found, scene) + "".join(f"<p>{text}</p>" for text in told if text),
        foot="" if one is None else _arithmetic(scene, cell, found, focus.pooled_maps, head, one),
    )


ATTENTION_MAPS = Panel(
    "Attention",
    show_attention_maps,
    controls=(HEAD, SOFTMAX, map_component.COLOURS, arithmetic.CELL),
    about=about_softmax,
    follows_moves=True,
)


def _arithmetic(
    scene: Scene, cell: Cell, found: Weights, numbers: PooledMaps, head: int, one: tuple[int, int]
) -> str:
    """Returns the computation of one attention weight."""
    array, asks, place = cell.outputs[0].array, found.queries, {}
    before, at, rest = attention_axes(array, cell.site.own_outputs[0][0])
    heads = np.unravel_index(head, [axis.numel for axis in found.heads] or [1])
    place = dict(zip(rest, map(int, heads), strict=False)) | {at: one[1]}
    if before is not None:
        place[before] = one[0]
    index = [int(i) for n, axis in enumerate(array) for i in np.unravel_index(place[n], axis.shape)]
    names = [
        _position_text(axis, i, scene)
        for axis, i in zip((asks, found.keys), one, strict=True)
        if axis
    ]
    where = f", {name}" if (name := heads_named(found.heads)[head]) else ""
    title = f"Weight of {' on '.join(names)}{where}"
    covers = arithmetic.pooled_note(numbers, one)
    return arithmetic.weight_html(scene, cell, index, one[0], title, covers)


def _position_text(axis: Axis, i: int, scene: Scene) -> str:
    words = scene.axis_words(axis.name)
    word = f" ({markup.text(words[i])})" if i < len(words) else ""
    return f"{markup.axis(axis)} = {i}{word}"


def _heads(cell: Cell) -> Array:
    """Returns the head axes of a softmax."""
    array = cell.outputs[0].array
    return Array(array[i] for i in attention_axes(array, cell.site.own_outputs[0][0])[2])


def weights(cell: Cell, value: torch.Tensor) -> Weights:
    """Returns the output of a softmax with its axes in order: heads, queries, keys."""
    array = cell.outputs[0].array
    before, at, rest = attention_axes(array, cell.site.own_outputs[0][0])
    flat = value.detach().float().cpu().reshape([axis.numel for axis in array])
    order = [*rest, *([] if before is None else [before]), at]
    queries = None if before is None else array[before]
    shape = (-1, queries.numel if queries else 1, array[at].numel)
    maps = flat.permute(order).reshape(shape).numpy()
    return Weights(cell.outputs[0].id, queries, array[at], Array(array[i] for i in rest), maps)


def _pick(name: str, value: str) -> None:
    if name == MAP:
        choose(value)
    elif name == map_component.ONE:
        arithmetic.pick(arithmetic.CELL, value)


def choose(value: str) -> None:
    """Chooses a softmax and a head, as in ``"n7.3"``; a callback."""
    softmax, _, head = value.partition(".")
    SOFTMAX.put(softmax)
    HEAD.put(head)


def places(cells: list[Cell], circuit: Circuit) -> dict[str, str]:
    """Returns a name for each softmax: its blocks and, in a repetition, its layer.

    Parts of the name that are the same for all softmaxes are left out.
    """
    fences = {fence.id: fence for fence in circuit.fences}
    found = {cell.id: [_place(cell, fences[id]) for id in cell.fences] for cell in cells}
    words = {id: list(filter(None, parts)) for id, parts in found.items()}
    if len({parts[-1] if parts else "" for parts in words.values()}) == 1:
        words = {id: parts[:-1] or parts for id, parts in words.items()}
    return {id: " · ".join(parts) for id, parts in words.items()}


def _place(cell: Cell, fence: Fence) -> str:
    """Returns the title of a block around a cell, or the number of its layer."""
    title = plain_text(fence.title)
    if not fence.repeats:
        return title
    number = cell.module_path[len(fence.scope) : len(fence.scope) + 1]
    if not (number and number[0].isdecimal()):
        return title
    inner = any(part.isdecimal() for part in fence.scope)  # a loop in a loop has its own name
    return f"{fence.scope[-1] if inner else 'layer'} {int(number[0]) + 1}"


def choice(cells: list[Cell], chosen: Cell, names: Mapping[str, str]) -> str:
    """Returns buttons to choose a softmax, if there are several."""
    if len(cells) == 1:
        return ""

    def option(n: int, cell: Cell) -> str:
        picked = " selected" if cell is chosen else ""
        name = markup.text(names[cell.id] or "Softmax")
        return f'<option value="{cell.id}"{picked}>{n}. {name}</option>'

    options = "".join(option(n, cell) for n, cell in enumerate(cells, 1))
    return f'<label>Softmax <select data-set="{SOFTMAX.name}">{options}</select></label>'


def _sentence(found: Weights, scene: Scene) -> str:
    asks = f"Rows are queries {markup.axis(found.queries)}, columns" if found.queries else "Columns"
    empty = int(np.isnan(found.maps).all(-1).sum())
    sums = "each row sums to 1"
    if empty:
        sums += f", but {markup.plural(empty, 'row')} with every key masked, which has no weights"
    return (
        f"<p>{asks} keys {markup.axis(found.keys)}; {sums}.</p>"
        f'<p class="muted">{numbers_origin(scene)}</p>'
    )


def _small_maps(
    scene: Scene, cells: list[Cell], names: Mapping[str, str], chosen: str
) -> tuple[str, str]:
    """Returns the small pictures of all softmaxes, with a caption."""
    values = scene.trace.values
    found = cached_value(
        "all small maps",
        scene.term,
        *scene.run_key,
        make=lambda: run_in_thread(
            lambda: {c.id: _sheet(weights(c, values[c.outputs[0].id])) for c in cells}
        ),
    )
    groups = []
    for n, cell in enumerate(cells, 1):
        heads = enumerate(heads_named(_heads(cell)))
        buttons = [(f"{MAP}={cell.id}.{i}", name or "one head") for i, name in heads]
        title, sheet = markup.text(names[cell.id] or f"Softmax {n}"), found[cell.id][1]
        groups.append(
            f"<h2>{title}</h2>{map_component.sprite_buttons(sheet, buttons, f'{MAP}={chosen}')}"
        )
    return found[cells[0].id][0], f'<div class="every">{"".join(groups)}</div>'


def _overview(scene: Scene, found: Weights, chosen: int) -> tuple[str, str]:
    """Returns the small pictures of the heads, with a sentence about them."""
    count, names = len(found.maps), heads_named(found.heads)
    read = max(scene.inputs_spec.words.values(), key=len, default=())
    roles = trained_weights.roles() if scene.inputs_spec.trained else ()
    if roles and not doubt(read):
        roles = (*roles, *["untrained"] * count)
        names = [f"{name}<br>{role}" for name, role in zip(names, roles, strict=False)]
    if count == 1:
        return "", ""
    run = heatmap.visible_range(count, chosen, MAX_PICTURES)
    key = (*scene.run_key, found.value, run.start)
    told, sheet = cached_value("small maps", scene.term, *key, make=lambda: _sheet(found, run))
    buttons = [(HEAD.action(i), names[i]) for i in run]
    return told, map_component.sprite_buttons(
        sheet, buttons, HEAD.action(chosen)
    ) + map_component.pager(HEAD.name, run, count)


def _sheet(found: Weights, run: range | None = None) -> tuple[str, str]:
    """Returns all small pictures, or a group of them, as one image, with a sentence."""
    own = found.maps if run is None else found.maps[run.start : run.stop]
    small, ends = heatmap.pool(own, heatmap.SMALL), ColourRange.from_numbers(own, signed=False)
    return f"Small pictures: {small.caption}" if small.caption else "", heatmap.sprite_sheet(
        small.maps, ends
    )


def _focus(
    found: Weights,
    head: int,
    ends: ColourRange,
    scene: Scene,
    where: str,
    one: tuple[int, int] | None,
) -> Heatmap:
    names = heads_named(found.heads)[head]
    place = f"{where}, " if where else ""
    numbers = heatmap.pool(found.maps[head], heatmap.LARGE)
    return Heatmap(
        f"{found.value} {found.maps.shape[1:]}",
        f"Weights of every query on every key, {place}{_head_text(found, head)}",
        numbers,
        ends,
        _side("query", found.queries, scene),
        _side("key", found.keys, scene, names),
        value_label="weight",
        square_cells=bool(found.queries and found.queries.sequence and found.keys.sequence),
        marks=arithmetic.marks(one, numbers.block, whole=found.queries is not None),
        cell_action=map_component.ONE,
    )


def _side(what: str, axis: Axis | None, scene: Scene, after: str = "") -> AxisLabels:
    if axis is None:
        return AxisLabels()
    title = f"{what} {markup.axis(axis)}"
    words = scene.axis_words(axis.name)
    return AxisLabels(
        f"{title}{f', {after}' if after else ''}", f"{what} {map_component.axis_text(axis)}", words
    )


def _head_text(found: Weights, head: int) -> str:
    at = np.unravel_index(head, [axis.numel for axis in found.heads] or [1])
    told = (
        f"{map_component.axis_text(axis)} = {i}" for axis, i in zip(found.heads, at, strict=False)
    )
    return ", ".join(told) or "one head"
