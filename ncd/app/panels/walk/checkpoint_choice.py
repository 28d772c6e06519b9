"""The arrays saved for the backward pass, and the choice of those to recompute for a budget."""

from __future__ import annotations

from collections.abc import Mapping

import plotly.graph_objects as go
import torch
from torch import Tensor

import ncd
from ncd.app.figure.diagram import note_html
from ncd.app.parts import charts, html_panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Switches, slider
from ncd.circuit.circuit import Fence, array_names
from ncd.run.checkpointing import (
    Checkpoints,
    Saved,
    SavedArray,
    measured_saved,
    plans,
    saved,
    training_flops,
)
from ncd.run.measurement import medians
from ncd.run.program import choices, layers, segments
from ncd.run.run_memory import scalar_of_outputs
from ncd.site import markup
from ncd.words import plain_text

# --- The arrays that wait for the backward pass, with a switch for each block: save or recompute

RECOMPUTE = Switches("recompute", longest=10_000)  # the ids of blocks that are calculated again
HEAD = ("Array", "Bytes", "Saved for", "Sizes")
MAX_ROWS = 200  # the greatest number of rows


def blocks(scene: Scene) -> tuple[Fence, ...]:
    """Returns the blocks that have a switch, the outer ones first."""
    return tuple(f for f in choices(scene.circuit) if f.title.strip() or f.repeats)


def titles(scene: Scene) -> list[str]:
    """Returns the title of each block; equal ones are numbered."""
    plain = [plain_text(f.title).strip() or _layers(f.repeats) for f in blocks(scene)]
    return [
        f"{name} {plain[: n + 1].count(name)}" if plain.count(name) > 1 else name
        for n, name in enumerate(plain)
    ]


def _typeset(fence: Fence, name: str) -> str:
    """Returns a block's name as HTML, with the formulas of its title."""
    title = fence.title.strip()
    number = name.removeprefix(plain_text(title))
    return f"{note_html(title)}{number}" if title else markup.text(name)


def _layers(count: int) -> str:
    return f"Each of {count} layers" if count > 1 else "The layer"


def recomputed_parts(scene: Scene) -> tuple[str, ...]:
    """Returns the blocks, then the layers, that are calculated again."""
    single = (name for name in RECOMPUTE.names if layers(scene.circuit, name))
    return *(f.id for f in blocks(scene) if f.id in RECOMPUTE.names), *single


def html(scene: Scene) -> str:
    """Returns the switches, the totals beside what was measured, and a row for each array."""
    again = recomputed_parts(scene)
    kept, every = (saved(scene.term, names, scene.formats) for names in (again, ()))
    names, homes = array_names(scene.circuit), _recomputed_titles(scene, again)
    rows = [_row(scene, one, names, homes) for one in kept.arrays[:MAX_ROWS]]
    more = len(kept.arrays) - len(rows)
    left = f'<p class="muted">{markup.plural(more, "more array")}.</p>' if more else ""
    foot = (
        f'<tr><td>Total</td><td class="number">{markup.amount(kept.bytes, "B")}</td>'
        "<td></td><td></td></tr>"
    )
    return (
        "<h2>What is saved for the backward pass</h2>"
        f"{_switches(scene, again)}{_totals(scene, kept, every, again)}"
        f'<div class="saved">{markup.table(HEAD, rows, foot, (1, 3))}</div>{left}'
        '<p class="muted">Weights are left out, as they stay anyway. A block that is recomputed '
        "saves only the arrays that it takes; its own arrays are calculated a second time when the "
        "backward pass needs them (<code>torch.utils.checkpoint</code>; Chen et al. 2016, "
        "<i>Training Deep Nets with Sublinear Memory Cost</i>). Attention counts with its scores, "
        "as it is drawn.</p>"
    )


def _recomputed_titles(scene: Scene, again: tuple[str, ...]) -> dict[str, str]:
    """Returns the title of the outermost recomputed block of each op in one."""
    found: dict[str, str] = {}
    for fence, title in zip(blocks(scene), titles(scene), strict=True):
        if fence.id in again:
            for id in _ops(scene, fence.id):
                found.setdefault(id, title)
    for name in again:
        for id in _ops(scene, name):
            found.setdefault(id, name)
    return found


def _ops(scene: Scene, *names: str) -> set[str]:
    """Returns the ids of the ops in blocks or layers; of a repetition those of all its bodies."""
    return {id for part in segments(scene.circuit, names) for id in part}


def _switches(scene: Scene, again: tuple[str, ...]) -> str:
    buttons = "".join(
        f'<button type="button" role="switch" aria-checked="{str(f.id in again).lower()}" '
        f'data-pick="{RECOMPUTE.action(f.id)}"{_disabled_attributes(scene, f, again)}>'
        f"{_typeset(f, name)}</button>"
        for f, name in zip(blocks(scene), titles(scene), strict=True)
    )
    if not buttons:
        return ""
    return (
        '<div class="needs"><span>Recompute</span><span class="switches" role="group" '
        f'aria-label="Blocks to recompute">{buttons}</span></div>'
    )


def _disabled_attributes(scene: Scene, fence: Fence, again: tuple[str, ...]) -> str:
    """Returns attributes that turn a switch off while a block around it is recomputed."""
    others = [f.id for f in blocks(scene) if f.id in again and f.id != fence.id]
    single = [name for name in again if layers(scene.circuit, name)]
    own = _ops(scene, fence.id)
    if any(own < _ops(scene, other) for other in others):
        return ' disabled title="A block around it is recomputed"'
    inside = fence.id not in again and own <= _ops(scene, *single)
    return ' disabled title="Its layers are recomputed"' if inside else ""


def _totals(scene: Scene, kept: Saved, every: Saved, again: tuple[str, ...]) -> str:
    told = f"<b>{markup.amount(kept.bytes, 'B')}</b> are saved"
    if again:
        told += (
            f" instead of {markup.amount(every.bytes, 'B')}, for at most "
            f"<b>{markup.amount(kept.flops, 'FLOP')}</b> more"
        )
    told += _flops(scene, kept)
    if not scene.is_quick:
        return f'<p role="status">{told}.</p>'
    key = *scene.run_key, again

    def make() -> tuple[int, float, float]:
        return scene.run_in_pool(lambda: _measured_cost(scene, again))

    found, now, before = cached_value("saved", scene.term, *key, make=make)
    told += f". Measured: {markup.amount(found, 'B')}"
    if again:
        told += (
            f"; forward and backward take {markup.amount(now, 's')} instead of "
            f"{markup.amount(before, 's')}"
        )
    formats = "" if scene.formats.is_float32 else " in float32, with which it is calculated"
    return f'<p role="status">{told}{formats}.</p>'


def _flops(scene: Scene, kept: Saved) -> str:
    """Returns the FLOPs of both passes and of what is recomputed, stated without a run."""
    forward, whole = scene.cost.flops, both_passes(scene)
    parts = {"Forward": forward, "backward": whole - forward}
    if kept.flops:
        parts["recomputed at most"] = kept.flops
    listed = ", ".join(f"{name} {markup.amount(n, 'FLOP')}" for name, n in parts.items())
    return f". {listed}: together {markup.amount(whole + kept.flops, 'FLOP')}"


def both_passes(scene: Scene) -> int:
    """Returns the FLOPs of the forward and the backward pass."""
    return cached_value("training flops", scene.term, make=lambda: training_flops(scene.term))


def _measured_cost(scene: Scene, again: tuple[str, ...]) -> tuple[int, float, float]:
    """Returns the bytes saved, and the seconds forward and backward with and without the choice."""
    plain, module = (
        ncd.compile(scene.term, scene.seed, scene.device, recompute=names) for names in ((), again)
    )
    bytes = measured_saved(module, scene.inputs).bytes
    given = tuple(x.detach().requires_grad_(x.is_floating_point()) for x in scene.inputs)
    if not again:
        return bytes, 0.0, 0.0
    calls = {"now": lambda: _pass(module, given), "before": lambda: _pass(plain, given)}
    found = medians(calls, device=scene.device, rounds=3)
    return bytes, found["now"], found["before"]


def _pass(module: ncd.run.module.CircuitModule, inputs: tuple[Tensor, ...]) -> None:
    with torch.enable_grad():
        total = scalar_of_outputs(module.execute(inputs, watch=lambda cell, given, made: None))
        if total.requires_grad:
            total.backward()


def _row(scene: Scene, one: SavedArray, names: Mapping[str, str], homes: Mapping[str, str]) -> str:
    cells = {cell.id: cell for cell in scene.circuit.cells}
    op = homes.get(one.node) or (cells[one.node].op.display_name if one.node in cells else "")
    value = scene.circuit.values.get(one.array)
    light = (
        f' data-array="{one.array}" data-select="{one.array}" tabindex="0"'
        if value and value.array
        else f' data-node="{one.node}" data-select="{one.node}" tabindex="0"'
        if one.node
        else ""
    )
    title = "kept by the op itself"
    if value:
        title = f"{markup.text(names.get(one.array, ''))} {markup.array(value.array)}".strip()
    numbers = "×".join(map(str, one.shape)) or "1"
    return (
        f"<tr{light}><td>{title or 'one number'}</td>"
        f'<td class="number">{markup.amount(one.bytes, "B")}</td><td>{markup.text(op)}</td>'
        f'<td class="number">{numbers}</td></tr>'
    )


# --- The bytes that a stack of layers saves against what it calculates twice, with a budget

BUDGET = "budget"
MAX_NAMES = 4  # the greatest number of layers or groups that are named
DOTS = 60  # the greatest number of points that are dots as well
NOTE = (
    "Each point of the curve is the best of all ways to save some layers and to calculate others "
    "again, alone or as a group of neighbours; layers 0, 1 and 2 as one group are 0:3. A group "
    "saves only what it takes. Its own arrays come back all at once in the backward pass, when "
    "those of later layers are already free (Chen et al. 2016, whose √n equal groups are among "
    "these ways)."
)


def show(scene: Scene) -> None:
    """Shows a slider for the budget and the curve; nothing without layers to choose from."""
    every = cached_value(
        "checkpoints", scene.term, scene.formats, make=lambda: plans(scene.term, scene.formats)
    )
    if len(every) < 2:
        return
    now = _now(scene, every)
    html_panel.render(
        _html(scene, every, now), "budget", on_pick=lambda picked: _pick(picked, every)
    )
    said = f"Extra FLOPs for each budget, {len(every)} steps; {_words(every, now)}"
    charts.render(curve(every, now), "budget curve", said)


def _now(scene: Scene, every: tuple[Checkpoints, ...]) -> int | None:
    """Returns which choice is in force; None if the switches say something else."""
    found = {*segments(scene.circuit, recomputed_parts(scene))}
    alike = (
        n
        for n, one in enumerate(every)
        if len(one.recompute) == len(found) and {*segments(scene.circuit, one.recompute)} == found
    )
    return next(alike, None)


def _html(scene: Scene, every: tuple[Checkpoints, ...], now: int | None) -> str:
    one = every[now or 0]
    last = len(every) - 1
    named = f"budget {markup.amount(one.bytes, 'B')}"
    budget = slider(named, BUDGET, range(last + 1), last - (now or 0))
    return (
        f'<h2>Where to save under a budget</h2><div class="told">{budget}</div>'
        f'<p role="status">{_budget_sentence(scene, every, now)}</p><p class="muted">{NOTE}</p>'
    )


def _budget_sentence(scene: Scene, every: tuple[Checkpoints, ...], now: int | None) -> str:
    if now is None:
        return "What is recomputed now is no point of the curve. The slider replaces it."
    one, whole = every[now], both_passes(scene)
    peak = f"<b>{markup.amount(one.bytes, 'B')}</b> at one time"
    if not one.recompute:
        return f"Every layer is saved: {peak}, and nothing is calculated twice."
    more = len(one.recompute) - MAX_NAMES
    names = ", ".join(f"<code>{markup.text(name)}</code>" for name in one.recompute[:MAX_NAMES])
    names += f" and {more} more" if more > 0 else ""
    share = markup.digits(100 * one.flops / whole) if whole else "0"
    between = f", {markup.amount(one.bytes_between_passes, 'B')} between the passes" * (
        one.bytes_between_passes < one.bytes
    )
    return (
        f"Calculated again: {names}. {peak}{between}, instead of "
        f"{markup.amount(every[0].bytes, 'B')}, for {share} % more FLOPs in both passes."
    )


def _words(every: tuple[Checkpoints, ...], now: int | None) -> str:
    """Returns the two ends of the curve and the place on it, for a screen reader."""
    first, last = every[-1], every[0]
    at = "" if now is None else f", now {markup.amount(every[now].bytes, 'B')}"
    return (
        f"{markup.amount(first.flops, 'FLOP')} at {markup.amount(first.bytes, 'B')} to none at "
        f"{markup.amount(last.bytes, 'B')}{at}"
    )


def curve(every: tuple[Checkpoints, ...], now: int | None) -> go.Figure:
    """Returns the fewest FLOPs that are spent again at each budget, with the chosen one marked."""
    xs, ys = [one.bytes for one in every], [one.flops for one in every]
    figure = go.Figure()
    look = {"color": charts.COLOURS[0], "width": 2, "shape": "vh"}
    hover = "%{x:.3s}B: %{y:.3s}FLOP<extra></extra>"
    dots = "lines+markers" if len(every) <= DOTS else "lines"
    figure.add_scatter(x=xs, y=ys, mode=dots, line=look, hovertemplate=hover, cliponaxis=False)
    if now is not None:
        mark = {"size": 15, "symbol": "star", "color": "#c0392b"}
        at = {"x": [xs[now]], "y": [ys[now]]}
        figure.add_scatter(**at, mode="markers", marker=mark, hovertemplate=hover, cliponaxis=False)
    axis = {"rangemode": "tozero", "exponentformat": "SI"}
    return figure.update_layout(
        height=charts.HEIGHT,
        showlegend=False,
        margin={"l": 60, "r": 12, "t": 12, "b": 44},
        xaxis={**axis, "title": "saved at one time (B)"},
        yaxis={**axis, "title": "calculated again (FLOP)"},
    )


def _pick(picked: str, every: tuple[Checkpoints, ...]) -> None:
    name, _, value = picked.partition("=")
    if name == BUDGET and value.isdecimal() and len(value) < 4:
        at = max(len(every) - 1 - int(value), 0)
        RECOMPUTE.set(every[at].recompute)
