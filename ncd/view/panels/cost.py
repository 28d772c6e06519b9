"""Cost: parameters, operations and bytes of every op, and the time it took."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from time import perf_counter

import torch

import ncd
from ncd.circuit import Cell
from ncd.cost import OpCost
from ncd.draw.style import fill
from ncd.run.device import synchronise
from ncd.run.measure import Peak, measured_peak
from ncd.view import markup, panel, worker
from ncd.view.cache import remember
from ncd.view.scene import Scene

TITLE = "Cost"
RUNS = True
HEAD = ("Op", "Parameters", "FLOPs", "", "Bytes made", "Time", "")
NUMBERS = (1, 2, 4, 5)
METER = 7.0  # em, of the longest bar


@dataclass(frozen=True)
class Measured:
    """Median seconds of each op, in how many runs; and the most bytes that a run held."""

    seconds: dict[str, float]
    runs: int
    peak: Peak


def show(scene: Scene) -> None:
    """A row for each op, totals, and what was measured beside what was counted."""
    found = remember(
        "measured", scene.term, scene.device, make=lambda: worker.run(lambda: measure(scene))
    )
    panel.show(_html(scene, found), "cost", scene.selected)


def measure(scene: Scene, runs: int = 15, budget: float = 0.15) -> Measured:
    """Times every op: one run to warm up, then medians of up to ``runs`` runs."""
    module, inputs = scene.module, scene.inputs
    times: dict[str, list[float]] = {cell.id: [] for cell in scene.circuit.cells}
    clock = perf_counter()

    def watch(cell: Cell, given: object, made: object) -> None:
        nonlocal clock
        synchronise(scene.device)
        now = perf_counter()
        times[cell.id].append(now - clock)
        clock = now

    start, done = perf_counter(), 0
    with torch.no_grad():
        while done < 4 or (done <= runs and perf_counter() - start < budget):
            synchronise(scene.device)
            clock = perf_counter()
            module.execute(inputs, watch=watch)
            done += 1
    # a module of its own, since a backward pass leaves gradients on the weights
    module, given = ncd.compile(scene.term, scene.seed, scene.device), scene.inputs
    peak = measured_peak(module, tuple(x.requires_grad_() for x in given))
    return Measured({id: median(t[1:]) for id, t in times.items()}, done - 1, peak)


def _html(scene: Scene, found: Measured) -> str:
    cost, cells = scene.cost, {cell.id: cell for cell in scene.circuit.cells}
    most = max((op.flops for op in cost.ops), default=0) or 1
    longest = max(found.seconds.values(), default=0) or 1
    rows = [_row(op, cells[op.node], scene.dark, found, most, longest) for op in cost.ops]
    total = sum(found.seconds.values())
    foot = (
        f'<tr><td>Total</td><td class="number">{cost.parameters:,}</td>'
        f'<td class="number">{cost.flops:,}</td><td></td>'
        f'<td class="number">{markup.amount(cost.bytes, "B")}</td>'
        f'<td class="number">{markup.amount(total, "s")}</td><td></td></tr>'
    )
    return markup.table(HEAD, rows, foot, NUMBERS) + _notes(scene, found)


def _row(op: OpCost, cell: Cell, dark: bool, found: Measured, most: int, longest: float) -> str:
    seconds, role = found.seconds[op.node], cell.op.role
    return (
        f'<tr data-node="{op.node}" data-select="{op.node}" tabindex="0">'
        f"<td>{markup.role(role, dark)}{markup.text(op.label)}</td>"
        f'<td class="number">{op.parameters:,}</td><td class="number">{op.flops:,}</td>'
        f"<td>{_meter(op.flops / most, role, dark)}</td>"
        f'<td class="number">{markup.amount(op.bytes, "B")}</td>'
        f'<td class="number">{markup.amount(seconds, "s")}</td>'
        f"<td>{_meter(seconds / longest, role, dark)}</td></tr>"
    )


def _meter(share: float, role: str, dark: bool) -> str:
    if not share:
        return ""
    width, colour = f"{share * METER:.2f}em", fill(role, dark)
    return f'<span class="meter" style="width:{width};background:{colour}"></span>'


def _notes(scene: Scene, found: Measured) -> str:
    stated, peak = markup.amount(scene.cost.peak, "B"), found.peak
    return (
        f'<p class="muted">Times are medians of {markup.counted(found.runs, "run")} on '
        f"{markup.text(scene.device)}, after one to warm up. FLOPs as torch counts them: "
        "a multiply and an add are two. Bytes are float32.</p>"
        f'<p class="muted">At the peak: {stated} counted for weights, inputs and all arrays made; '
        f"{markup.amount(peak.forward, 'B')} measured forward, "
        f"{markup.amount(peak.backward, 'B')} with the backward pass ({markup.text(peak.how)}).</p>"
    )
