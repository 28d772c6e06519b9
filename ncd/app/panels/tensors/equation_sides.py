"""The Sides panel: the result of each side of an equation on the same input, and its time."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import torch

import ncd
from ncd.app.parts import heatmap, html_panel, map_component, slice_picker
from ncd.app.parts.heatmap import CellGrid, ColourRange
from ncd.app.parts.map_component import AxisLabels, Heatmap
from ncd.app.parts.slice_picker import ArraySlice
from ncd.app.runtime import torch_threads
from ncd.app.scene import captions
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state import knobs
from ncd.app.state.cache import cached
from ncd.app.state.controls import Choice
from ncd.circuit.circuit import Cell, Circuit
from ncd.circuit.costs import Cost, cost_of
from ncd.circuit.elaborate import elaborate
from ncd.drawing.elements.style import role_colour
from ncd.drawing.equation import sides
from ncd.explain.equation_proof import max_difference
from ncd.language.blocks import Equation
from ncd.run.measurement import medians
from ncd.site import markup

DIFFERENCE = "difference"
SIDE = Choice("side", ("", *map(str, range(2, 10)), DIFFERENCE), "")
HEAD = ("Side", "Steps", "Bytes made", "Time", "")
NUMBERS = (2, 3)
EQUAL = 1e-4  # relative to the largest number; larger than the rounding error of 32 bits
ROUNDING = (
    "a number of 32 bits keeps about seven digits, and sums in another order are rounded "
    "differently; one of 64 bits keeps about sixteen"
)


@dataclass(frozen=True)
class Sides:
    """The sides as circuits, with the ids of their ops in the whole equation, and their results.

    ``difference`` is the largest difference between two sides, ``largest`` the largest number of
    any side, and ``double`` the difference in 64 bits, or None if it was not computed.
    """

    circuits: tuple[Circuit, ...]
    costs: tuple[Cost, ...]
    seconds: tuple[float, ...]
    difference: float
    largest: float
    double: float | None

    @property
    def agree(self) -> bool:
        """Whether all sides are equal up to rounding."""
        return self.difference <= EQUAL * (self.largest or 1.0)


def show_equation_sides(scene: Scene) -> None:
    """Shows whether the sides agree, their costs, and the numbers as pictures."""
    if not isinstance(scene.term, Equation):
        html_panel.render("<p>Nothing is compared here: this is no equation.</p>", "no sides")
        return
    found = cached(
        "sides", scene.term, *scene.run_key, make=lambda: scene.run_in_pool(lambda: tried(scene))
    )
    head = _verdict(found, scene) + _table(found, scene)
    outputs = scene.circuit.outputs
    every = outputs[:: len(outputs) // len(found.circuits)]  # the first array of each side
    cut = slice_picker.chosen(every[0].array)
    if not cut.dimensions:
        given = (markup.digits(float(scene.trace.values[value.id])) for value in every)
        map_component.render(
            "sides", on_pick=_pick, head=f"{head}<p>Each gives a number: {', '.join(given)}.</p>"
        )
        return
    grids = torch_threads.run_in_thread(
        lambda: [slice_picker.grid(scene.trace.values[v.id], cut) for v in every]
    )
    chosen = _chosen(len(grids))
    map_component.render(
        "sides",
        (SIDE, slice_picker.PICTURE),
        _pick,
        head=head,
        side=slice_picker.controls(cut) + _pictures(grids, chosen),
        map=_focus(grids, chosen, cut, scene),
        foot=f'<p class="muted">{captions.numbers_origin(scene)}</p>',
    )


EQUATION_SIDES = Panel("Sides", show_equation_sides, controls=(SIDE, *slice_picker.CONTROLS))


def tried(scene: Scene) -> Sides:
    """Runs all sides on the same inputs: together, and each separately."""
    assert isinstance(scene.term, Equation)
    own = scene.term.sides
    circuits = tuple(map(elaborate, own))
    modules = [ncd.compile(side, scene.seed, scene.device) for side in own]
    inputs = scene.inputs
    outputs = scene.trace.outputs
    n = len(outputs) // len(own)
    pairs = [
        (a, b)
        for i, j in combinations(range(0, len(outputs), n), 2)
        for a, b in zip(outputs[i : i + n], outputs[j : j + n], strict=True)
    ]
    calls = {str(i): (lambda module=module: module(*inputs)) for i, module in enumerate(modules)}
    with torch.no_grad():
        seconds = medians(calls, device=scene.device, rounds=15, warm=2, budget=0.1)
    return Sides(
        sides(scene.circuit),
        tuple(map(cost_of, circuits)),
        tuple(seconds.values()),
        max((max_difference(a, b) for a, b in pairs), default=0.0),
        max((float(a.abs().max()) for a in outputs), default=0.0),
        None if scene.starts_on_demand else ncd.prove(scene.term, scene.seed).difference,
    )


def _pick(name: str, value: str) -> None:
    if name == "seed":
        knobs.set_values({"seed": (knobs.seed() + 1) % (knobs.SEED.max + 1)})
    else:
        slice_picker.pick(name, value)


# --- in words and as a table ----------------------------------------------------------------------


def _verdict(found: Sides, scene: Scene) -> str:
    """Returns whether the sides agree, and by how much they differ."""
    count = len(found.circuits)
    both = "Both sides" if count == 2 else f"All {count} sides"
    said = f"{both} give the same" if found.agree else f"{both} do not give the same"
    numbers = f"of numbers up to {markup.digits(found.largest)} in size"
    if found.difference == 0:
        told = f"{said}, to the last bit, {numbers}."
    else:
        far = captions.with_tooltip(markup.digits(found.difference), ROUNDING)
        more = "" if found.double is None else f", and in 64 bits by {markup.digits(found.double)}"
        told = f"{said}: they differ by at most {far}, {numbers}{more}."
    button = '<button type="button" class="plain" data-pick="seed=next">Another input</button>'
    return f'<p role="status">{"✓" if found.agree else "✗"} {told} {button}</p>'


def _table(found: Sides, scene: Scene) -> str:
    longest = max(found.seconds)
    rows = [
        _row(n, circuit, cost, seconds, longest, scene.dark)
        for n, (circuit, cost, seconds) in enumerate(
            zip(found.circuits, found.costs, found.seconds, strict=True), 1
        )
    ]
    return markup.table(HEAD, rows, numbers=NUMBERS)


def _row(n: int, own: Circuit, cost: Cost, seconds: float, longest: float, dark: bool) -> str:
    ids = " ".join(cell.id for cell in own.cells)
    working = (cell for cell, op in zip(own.cells, cost.ops, strict=True) if op.bytes)
    steps = " → ".join(_step(cell, dark) for cell in working)
    return (
        f'<tr data-node="{ids}"><td>{n}.</td><td>{steps}</td>'
        f'<td class="number">{markup.amount(cost.bytes, "B")}</td>'
        f'<td class="number">{markup.amount(seconds, "s")}</td>'
        f"<td>{markup.meter(seconds / longest, role_colour('data', dark))}</td></tr>"
    )


def _step(cell: Cell, dark: bool) -> str:
    return (
        f'<span class="unbroken" data-node="{cell.id}" data-select="{cell.id}" role="button" '
        f'tabindex="0">{markup.role(cell.op.role, dark)}{markup.text(cell.op.display_name)}</span>'
    )


# --- the numbers ----------------------------------------------------------------------------------


def _chosen(count: int) -> str:
    return "" if SIDE.value.isdecimal() and int(SIDE.value) > count else SIDE.value


def _pictures(grids: list[CellGrid], chosen: str) -> str:
    """Returns every side, and the difference of the last from the first, in one colour scale."""
    ends = ColourRange.of(grids[0], signed=True).with_outliers
    named = {str(n) if n > 1 else "": (f"side {n}", grid) for n, grid in enumerate(grids, 1)}
    named[DIFFERENCE] = ("difference", grids[-1] - grids[0])
    stops = heatmap.scale(signed=True)
    buttons = [
        (
            SIDE.action(key),
            name,
            heatmap.data_url(heatmap.pool(grid, heatmap.SMALL).maps, ends, stops),
        )
        for key, (name, grid) in named.items()
    ]
    return map_component.thumbnail_buttons(buttons, SIDE.action(chosen))


def _focus(grids: list[CellGrid], chosen: str, cut: ArraySlice, scene: Scene) -> Heatmap:
    count = len(grids)
    grid = grids[int(chosen) - 1] if chosen.isdecimal() else grids[0]
    label = f"What side {chosen or 1} gives"
    if chosen == DIFFERENCE:
        grid, label = grids[-1] - grids[0], f"What side {count} gives less what side 1 gives"
    return Heatmap(
        f"{cut.picture} {grid.shape}",
        label,
        heatmap.pool(grid, heatmap.LARGE),
        ColourRange.of(grid, signed=True).with_outliers,
        _side(cut.rows, scene),
        _side(cut.columns, scene),
        square_cells=cut.alike,
    )


def _side(dimension: slice_picker.Dimension | None, scene: Scene) -> AxisLabels:
    if dimension is None:
        return AxisLabels()
    words = () if dimension.axis.spatial else scene.axis_words(dimension.axis.name)
    return AxisLabels(dimension.html, dimension.words, words)
