"""Shapes of every step; parameters, FLOPs, bytes and time of every op."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import plotly.graph_objects as go
import streamlit as st
import torch

import ncd
from ncd.app.parts import charts, html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached_value
from ncd.circuit.circuit import Cell, Circuit, Value
from ncd.circuit.costs import COUNTING_RULES, OpCost, remarks
from ncd.explain.shape_tracker import TrackedCall, as_json
from ncd.language.axes import Array
from ncd.language.number_formats import Formats
from ncd.run.measurement import op_seconds
from ncd.run.run_memory import PeakMemory, measured_peak, predicted_peak
from ncd.site import markup

# --- The Shapes panel: the shapes of every step, in the format of the notebook's Tracker


def show_shapes(scene: Scene) -> None:
    """Shows a table of every step, with text and JSON to download."""
    html_panel.render(shapes_html(scene), "shapes")
    name, circuit = scene.entry.name, scene.circuit

    def text() -> str:
        return "\n".join(map(str, calls(circuit)))

    with st.container(horizontal=True):
        _file("Text", text, f"{name}-shapes.txt", "text/plain")
        _file("JSON", lambda: as_json(calls(circuit)), f"{name}-shapes.json", "application/json")


SHAPES = Panel("Shapes", show_shapes, needs_run=False)


def shapes_html(scene: Scene) -> str:
    """Returns the table."""
    rows = (_shape_row(cell, scene) for cell in scene.circuit.cells)
    return markup.table(("Step", "Arrays", "Sizes"), rows)


def _file(label: str, make: Callable[[], str], path: str, kind: str) -> None:
    said = "The lines of the notebook's Tracker. For a module of your own: ncd.track."
    html_panel.button(f"As {label}", make, path, kind, key=f"shapes {label}", help=said)


def calls(circuit: Circuit) -> Iterator[TrackedCall]:
    """Yields every step as a tracked run would record it."""
    for cell in circuit.cells:
        took, gave = (tuple(map(_shape, values)) for values in (cell.inputs, cell.outputs))
        yield TrackedCall(cell.path or cell.op.display_name, type(cell.op).__name__, took, gave)


def _shape(value: Value) -> tuple[int, ...]:
    return tuple(size for axis in value.array for size in axis.shape)


def _shape_row(cell: Cell, scene: Scene) -> str:
    ids = " ".join(value.id for value in (*cell.inputs, *cell.outputs))
    ins, outs = _arrays(cell.inputs), _arrays(cell.outputs)
    return (
        f'<tr data-node="{cell.id}" data-array="{ids}" data-select="{cell.id}" tabindex="0">'
        f"<td>{markup.role(cell.op.role, scene.dark)}{markup.text(cell.op.display_name)}</td>"
        f"<td>{markup.arrays(ins)} → {markup.arrays(outs)}</td>"
        f"<td>{markup.shapes(ins)} → {markup.shapes(outs)}</td></tr>"
    )


def _arrays(values: tuple[Value, ...]) -> list[Array]:
    return [value.array for value in values]


# --- The Cost panel: parameters, FLOPs and bytes of every op, and its measured time

HEAD = ("Op", "Parameters", "FLOPs", "Bytes made", "Time")
NUMBERS = (1, 2, 3, 4)
MAX_CHART_OPS = 24  # the greatest number of ops in the chart; the costliest are shown


@dataclass(frozen=True)
class MeasuredCost:
    """The median seconds of each op, the number of runs, and the peak memory in bytes."""

    seconds: dict[str, float]
    runs: int
    peak: PeakMemory


def show_cost_table(scene: Scene) -> None:
    """Shows a row for each op, the totals, and the measured time and memory."""
    found = None
    if scene.can_run:
        key = "measured", scene.term, scene.device, scene.formats
        found = cached_value(*key, make=lambda: scene.run_in_pool(lambda: measure(scene)))
    html_panel.render(cost_html(scene, found), "cost")
    charts.render(chart(scene, found), "cost chart", "Each op's share of the FLOPs and of the time")


COST_TABLE = Panel("Cost", show_cost_table, needs_run=False)


def chart(scene: Scene, found: MeasuredCost | None) -> go.Figure:
    """Returns a chart of each op's share of the FLOPs and, once measured, of the time."""
    ops = sorted(scene.cost.ops, key=lambda op: -op.flops)[:MAX_CHART_OPS]
    flops = {"FLOPs": [op.flops / (scene.cost.flops or 1) for op in ops]}
    times = {}
    if found and (whole := sum(found.seconds.values())):
        times = {"Time": [found.seconds[op.node] / whole for op in ops]}
    return charts.bars("Share of each op", [op.label for op in ops], flops | times)


def measure(scene: Scene) -> MeasuredCost:
    """Times every op, and measures the memory of a forward and backward run."""
    seconds, runs = op_seconds(scene.module, scene.inputs, device=scene.device)
    # a new module, since a backward pass leaves gradients on the weights
    own = ncd.compile(scene.term, scene.seed, scene.device, formats=scene.formats)
    given = scene.inputs
    peak = measured_peak(own, tuple(map(_asking, given)))
    return MeasuredCost(seconds, runs, peak)


def _asking(x: torch.Tensor) -> torch.Tensor:
    """Returns the tensor, with a gradient if its type can have one."""
    return x.detach().requires_grad_(x.is_floating_point())


def cost_html(scene: Scene, found: MeasuredCost | None) -> str:
    """Returns the table, with a description of the method below it."""
    cost, cells = scene.cost, {cell.id: cell for cell in scene.circuit.cells}
    seconds = found.seconds if found else {}
    rows = [_cost_row(op, cells[op.node], scene.dark, seconds) for op in cost.ops]
    foot = (
        f'<tr><td>Total</td><td class="number">{cost.parameters:,}</td>'
        f'<td class="number">{cost.flops:,}</td>'
        f'<td class="number">{markup.amount(cost.bytes, "B")}</td>'
        f'<td class="number">{_time(sum(seconds.values()) if found else None)}</td></tr>'
    )
    formats = "" if scene.formats.is_float32 else _formats(scene)
    return formats + markup.table(HEAD, rows, foot, NUMBERS) + _notes(scene, found)


def _formats(scene: Scene) -> str:
    """Returns the bytes in the chosen formats and in float32, and how far the outputs are apart."""
    formats, plain = scene.formats, ncd.cost(scene.term, Formats(cached=scene.formats.cached))
    rows = [
        _sizes("Weights", formats.weights, scene.cost.weight_bytes, plain.weight_bytes),
        _sizes("Arrays that ops make", formats.activations, scene.cost.bytes, plain.bytes),
    ]
    if formats.cached:
        kept = scene.cost.cache_bytes, plain.cache_bytes
        rows.append(_sizes("Cache of a token", formats.cache, *kept))
    table = markup.table(("", "Format", "Bytes", "In float32"), rows, numbers=(2, 3))
    if not scene.can_run:
        return table
    off, largest = cached_value(
        "apart from float32",
        scene.term,
        *scene.run_key,
        make=lambda: scene.run_in_pool(lambda: _float32_difference(scene)),
    )
    share = f" ({100 * off / largest:.2g} % of the largest)" if largest else ""
    return (
        f"{table}<p>The outputs are up to <b>{markup.digits(off)}</b>{share} from those of "
        'float32.</p><p class="muted">Numbers are rounded to their format and calculated with in '
        "float32, so the time and the memory of a run here do not shrink.</p>"
    )


def _sizes(what: str, name: str, now: int, plain: int) -> str:
    return (
        f'<tr><td>{what}</td><td>{name}</td><td class="number">{markup.amount(now, "B")}</td>'
        f'<td class="number">{markup.amount(plain, "B")}</td></tr>'
    )


def _float32_difference(scene: Scene) -> tuple[float, float]:
    """Returns the largest difference of an output from float32's, and the largest number there."""
    plain = replace(scene, formats=Formats(cached=scene.formats.cached))
    pairs = zip(scene.trace.outputs, plain.trace.outputs, strict=True)
    gaps = [((a - b).abs().max().item(), b.abs().max().item()) for a, b in pairs if a.numel()]
    return max((gap for gap, _ in gaps), default=0.0), max((most for _, most in gaps), default=0.0)


def _cost_row(op: OpCost, cell: Cell, dark: bool, every: dict[str, float]) -> str:
    seconds, role = every.get(op.node), cell.op.role
    return (
        f'<tr data-node="{op.node}" data-select="{op.node}" tabindex="0">'
        f"<td>{markup.role(role, dark)}{markup.text(op.label)}</td>"
        f'<td class="number">{op.parameters:,}</td><td class="number">{op.flops:,}</td>'
        f'<td class="number">{markup.amount(op.bytes, "B")}</td>'
        f'<td class="number">{_time(seconds)}</td></tr>'
    )


def _time(seconds: float | None) -> str:
    return "–" if seconds is None else markup.amount(seconds, "s")


def _notes(scene: Scene, found: MeasuredCost | None) -> str:
    said = "".join(f"<p>{markup.text(one)}</p>" for one in remarks(scene.circuit, scene.cost))
    if not found:
        return f'{said}<p class="muted">It was not run, so no time is known. {COUNTING_RULES}</p>'
    stated = predicted_peak(scene.term, formats=scene.formats, device=scene.device)
    peak = found.peak
    return said + (
        f'<p class="muted">Times are medians of {markup.plural(found.runs, "run")} on '
        f"{markup.text(scene.device)}, after one to warm up. {COUNTING_RULES}</p>"
        f'<p class="muted">At the peak, weights and inputs included: '
        f"{markup.amount(stated.forward, 'B')} counted and {markup.amount(peak.forward, 'B')} "
        f"measured forward; {markup.amount(stated.backward, 'B')} counted and "
        f"{markup.amount(peak.backward, 'B')} measured with the backward pass "
        f"({markup.text(peak.how)}).</p>"
    )
