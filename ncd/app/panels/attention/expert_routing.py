"""The Experts panel: which expert each position uses, their loads, and unused parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ncd.app.parts import heatmap, html_panel, map_component
from ncd.app.parts.map_component import AxisLabels, Heatmap
from ncd.app.scene.panel import Panel, Settings
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.controls import Place
from ncd.circuit.circuit import Cell, Circuit, Value
from ncd.explain.colour_scale import CellGrid, ColourRange
from ncd.language.axes import Axis
from ncd.site import markup

LAYER = Place("router")
MIX = "Einsum mix"  # the op that sums the experts' results with their weights
MAX_EXPERTS = 32  # the greatest number of experts in the list, and of layers as small pictures


@dataclass(frozen=True)
class RouterChoice:
    """A router's choice: experts ``t c#e`` and their weights ``t c``."""

    experts: Value
    weights: Value

    @property
    def axis(self) -> Axis:
        """The axis of all experts."""
        below = self.experts.array.below
        assert below is not None
        return below


def choices(circuit: Circuit) -> tuple[RouterChoice, ...]:
    """Returns the choices of all routers, in layer order."""
    mixes = [cell for cell in circuit.cells if cell.op.display_name == MIX]
    pairs = zip(_choosing(circuit), mixes, strict=True)
    return tuple(RouterChoice(cell.outputs[1], mix.inputs[1]) for cell, mix in pairs)


def _choosing(circuit: Circuit) -> Iterator[Cell]:
    """Yields the top-k ops, which return the largest numbers and their indexes."""
    for cell in circuit.cells:
        if cell.op.role == "index" and len(cell.outputs) == 2:
            yield cell


def about_router(circuit: Circuit, id: str) -> Settings | None:
    """Returns the setting that chooses a router, by the op that chooses experts; else None."""
    for n, cell in enumerate(_choosing(circuit)):
        if id in (cell.id, *(value.id for value in cell.outputs)):
            return {LAYER.name: str(n)}
    return None


def routing_table(places: np.ndarray, weights: CellGrid, experts: int) -> CellGrid:
    """Returns the weight of each expert at each position; 0 where it is not chosen.

    Args:
        places: The experts chosen at each position, (t, c).
        weights: Their weights, (t, c).
        experts: The number of experts.

    >>> routing_table(np.array([[2, 0]]), np.float32([[0.7, 0.3]]), 3)
    array([[0.3, 0. , 0.7]], dtype=float32)
    """
    table = np.zeros((len(places), experts), np.float32)
    np.put_along_axis(table, places, weights.astype(np.float32), 1)
    return table


def idle(circuit: Circuit, choice: RouterChoice) -> tuple[int, int]:
    """Returns the number of parameters of all experts, and of those that one position uses."""
    tables = (cell for cell in circuit.cells if not cell.inputs and cell.initial_values)
    arrays = [
        value.array for cell in tables for value in cell.initial_values.values() if value.is_learned
    ]
    stored = sum(a.numel for a in arrays if len(a) > 2 and a[0] == choice.axis)
    return stored, stored * choice.experts.array[1].numel // choice.axis.numel


def show_expert_routing(scene: Scene) -> None:
    """Shows the experts' weights in a layer, their loads, and stored against used parameters."""
    every = choices(scene.circuit)
    if not every:
        html_panel.render("<p>No layer has experts at these sizes.</p>", "no experts")
        return
    told = _parameter_table(scene, every[0])
    if not scene.can_run:
        map_component.render("experts", aside=told)
        return
    tables = scene.run_in_pool(lambda: [_table(scene, choice) for choice in every])
    at = LAYER.among(len(every))
    choice, table = every[at], tables[at]
    map_component.render(
        "experts",
        EXPERT_ROUTING.controls,
        side=_layers(tables, at),
        map=_focus(scene, choice, table, at),
        aside=_loads(scene, table) + told,
    )


EXPERT_ROUTING = Panel(
    "Experts", show_expert_routing, needs_run=False, controls=(LAYER,), about=about_router
)


def _table(scene: Scene, choice: RouterChoice) -> CellGrid:
    values = scene.trace.values
    places = values[choice.experts.id].cpu().numpy()
    weights = values[choice.weights.id].detach().float().cpu().numpy()
    return routing_table(places, weights, choice.axis.numel)


def _layers(tables: list[CellGrid], at: int) -> str:
    """Returns a small picture of each layer, if there are several."""
    if len(tables) == 1:
        return ""
    run = heatmap.visible_range(len(tables), at, MAX_EXPERTS)
    maps = np.stack(tables[run.start : run.stop])
    small = heatmap.pool(maps, heatmap.SMALL).maps
    sheet = heatmap.sprite_sheet(small, ColourRange.from_numbers(maps, signed=False))
    buttons = [(LAYER.action(i), f"router {i + 1}") for i in run]
    return map_component.sprite_buttons(sheet, buttons, LAYER.action(at)) + map_component.pager(
        LAYER.name, run, len(tables)
    )


def _focus(scene: Scene, choice: RouterChoice, table: CellGrid, at: int) -> Heatmap:
    t = choice.experts.array[0]
    return Heatmap(
        f"experts {at} {table.shape}",
        "Weights of every expert at every position",
        heatmap.pool(table, heatmap.LARGE),
        ColourRange.from_numbers(table, signed=False).with_outliers,
        AxisLabels(f"position {markup.axis(t)}", f"position {t.name}", scene.axis_words(t.name)),
        AxisLabels(f"expert {markup.axis(choice.axis)}", f"expert {choice.axis.name}"),
        value_label="weight",
    )


def _loads(scene: Scene, table: CellGrid) -> str:
    """Returns how many positions each expert works on, as bars."""
    loads = (table > 0).sum(0)
    most, colour = max(int(loads.max()), 1), markup.colour("linear", scene.dark)
    rows = [
        f'<tr><td class="number">{i}</td><td class="number">{n}</td>'
        f"<td>{markup.meter(n / most, colour)}</td></tr>"
        for i, n in enumerate(loads[:MAX_EXPERTS])
    ]
    more = (
        f" The first {MAX_EXPERTS} of {len(loads):,} experts." if len(loads) > MAX_EXPERTS else ""
    )
    mean = (table > 0).sum() / len(loads)
    return (
        f"<p>Bright: the experts that a position is sent to, by how much each counts.{more} With "
        f"equal loads each expert would have {markup.digits(float(mean))} positions.</p>"
        + markup.table(("Expert", "Positions", ""), rows, numbers=(0, 1))
        + f'<p class="muted">{numbers_origin(scene)}</p>'
    )


def _parameter_table(scene: Scene, choice: RouterChoice) -> str:
    """Returns how many parameters are stored, and how many one position uses."""
    whole = scene.cost.parameters
    stored, used = idle(scene.circuit, choice)
    colour = markup.colour("linear", scene.dark)
    rows = [
        f'<tr><td>{what}</td><td class="number">{n:,}</td>'
        f"<td>{markup.meter(n / whole, colour)}</td></tr>"
        for what, n in (
            ("stored", whole),
            ("of these in experts", stored),
            ("used for one position", whole - stored + used),
        )
    ]
    return markup.table(("Parameters", "", ""), rows, numbers=(1,))
