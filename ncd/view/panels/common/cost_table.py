"""Cost: parameters, operations and bytes of every op, and the time it took."""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go
import torch

import ncd
from ncd.costs import OpCost
from ncd.export import markup
from ncd.lang.circuits.circuit import Cell
from ncd.run.limits.measurement import op_seconds
from ncd.run.limits.run_memory import Peak, measured_peak, stated_peak
from ncd.view.arrays import charts
from ncd.view.base import html_panel
from ncd.view.base.cache import remember
from ncd.view.session.scene import Scene

TITLE = "Cost"
RUNS = False
HEAD = ("Op", "Parameters", "FLOPs", "Bytes made", "Time")
NUMBERS = (1, 2, 3, 4)
MOST = 24  # ops in the chart: those that cost most


@dataclass(frozen=True)
class Measured:
    """Median seconds of each op, in how many runs; and the most bytes that a run held."""

    seconds: dict[str, float]
    runs: int
    peak: Peak


def show(scene: Scene) -> None:
    """A row for each op, totals, and what was measured, if it runs, beside what was counted."""
    found = None
    if scene.runs:
        key = "measured", scene.term, scene.device
        found = remember(*key, make=lambda: scene.work(lambda: measure(scene)))
    html_panel.show(html(scene, found), "cost")
    charts.show(chart(scene, found), "cost chart", "Each op's share of the FLOPs and of the time")


def chart(scene: Scene, found: Measured | None) -> go.Figure:
    """Returns each op's share of the FLOPs and, once measured, of the time."""
    ops = sorted(scene.cost.ops, key=lambda op: -op.flops)[:MOST]
    flops = {"FLOPs": [op.flops / (scene.cost.flops or 1) for op in ops]}
    whole = sum(found.seconds.values()) if found else 0
    times = (
        {"Time": [found.seconds.get(op.node, 0) / whole for op in ops]} if found and whole else {}
    )
    return charts.bars("Share of each op", [op.label for op in ops], flops | times)


def measure(scene: Scene) -> Measured:
    """Times every op, and watches the memory of a run forward and backward."""
    seconds, runs = op_seconds(scene.module, scene.inputs, device=scene.device)
    # a module of its own, since a backward pass leaves gradients on the weights
    own, given = ncd.compile(scene.term, scene.seed, scene.device), scene.inputs
    peak = measured_peak(own, tuple(map(_asking, given)))
    return Measured(seconds, runs, peak)


def _asking(x: torch.Tensor) -> torch.Tensor:
    """The tensor, with a gradient wanted where it can have one."""
    return x.detach().requires_grad_(x.is_floating_point())


def html(scene: Scene, found: Measured | None) -> str:
    """The table, and below it how it was found."""
    cost, cells = scene.cost, {cell.id: cell for cell in scene.circuit.cells}
    seconds = found.seconds if found else {}
    rows = [_row(op, cells[op.node], scene.dark, seconds) for op in cost.ops]
    foot = (
        f'<tr><td>Total</td><td class="number">{cost.parameters:,}</td>'
        f'<td class="number">{cost.flops:,}</td>'
        f'<td class="number">{markup.amount(cost.bytes, "B")}</td>'
        f'<td class="number">{_time(sum(seconds.values()) if found else None)}</td></tr>'
    )
    return markup.table(HEAD, rows, foot, NUMBERS) + _notes(scene, found)


def _row(op: OpCost, cell: Cell, dark: bool, every: dict[str, float]) -> str:
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


def _notes(scene: Scene, found: Measured | None) -> str:
    if not found:
        return (
            '<p class="muted">It was not run, so no time is known. Of FLOPs a multiply and an add '
            "are two. A real number is 4 bytes, a whole one 8.</p>"
        )
    stated, peak = stated_peak(scene.term), found.peak
    return (
        f'<p class="muted">Times are medians of {markup.counted(found.runs, "run")} on '
        f"{markup.text(scene.device)}, after one to warm up. Of FLOPs a multiply "
        "and an add are two. A real number is 4 bytes, a whole one 8.</p>"
        f'<p class="muted">At the peak, weights and inputs included: '
        f"{markup.amount(stated.forward, 'B')} counted and {markup.amount(peak.forward, 'B')} "
        f"measured forward; {markup.amount(stated.backward, 'B')} counted and "
        f"{markup.amount(peak.backward, 'B')} measured with the backward pass "
        f"({markup.text(peak.how)}).</p>"
    )
