"""Gates of recurrent networks and of gated feed-forwards."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor

import ncd
from ncd.app.parts import heatmap, map_component
from ncd.app.parts.map_component import AxisLabels, Heatmap
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Choice, Place
from ncd.explain.colour_scale import CellGrid, ColourRange
from ncd.site import markup
from ncd.systems.recurrent.gated_cells import WATCHED_ARRAYS, with_gates

# --- The Gates panel: what a recurrent network keeps, writes and outputs at every position

GATE = Place("gate")  # the number of the chosen array
MEANS = {
    "hidden state": "It is the output, and goes to the next position.",
    "cell state": "The memory: each step multiplies it by the forget gate and adds what is new.",
    "input gate": "How much of what is new is written into the memory.",
    "forget gate": "How much of the memory stays; at 1 all of it.",
    "output gate": "How much of the memory is shown as the hidden state.",
    "reset gate": "How much of the state is seen when what is new is worked out.",
    "update gate": "How much of the old state stays; the rest is replaced by what is new.",
}


def show_gates(scene: Scene) -> None:
    """Shows every gate and state as a small map along the sequence, and the chosen one large."""
    names = WATCHED_ARRAYS[scene.entry.name]
    make = partial(scene.run_in_pool, partial(gate_values, scene))
    maps = cached_value("gates", scene.term, *scene.run_key, make=make)
    at = GATE.among(len(names))
    pictures = [(GATE.action(i), name, _picture(maps[i])) for i, name in enumerate(names)]
    map_component.render(
        "gates",
        GATES.controls,
        side=map_component.thumbnail_buttons(pictures, GATE.action(at)),
        map=_focus(scene, names[at], maps[at]),
        aside=_gates_summary(scene, names[at], maps[at]),
    )


GATES = Panel("Gates", show_gates, controls=(GATE,), follows_moves=True)


def gate_values(scene: Scene) -> list[CellGrid]:
    """Runs the network with its gates as outputs; returns each as (features, positions).

    A run records a loop's arrays at its last position only.
    """
    term = with_gates(scene.entry.name, **scene.settings)
    module = ncd.compile(term, scene.seed, scene.device)
    module.load_state_dict(scene.module.state_dict())
    with torch.no_grad():
        arrays = module(*scene.inputs)
    return [array.T.float().cpu().numpy() for array in arrays]


def _ends(map: CellGrid) -> ColourRange:
    """Returns the range of the colours of a map: signed for a state, from 0 to 1 for a gate."""
    return (
        ColourRange.from_numbers(map, signed=True).with_outliers
        if map.min() < 0
        else ColourRange(0.0, 1.0, 0, 1.0)
    )


def _picture(map: CellGrid) -> str:
    ends = _ends(map)
    small = heatmap.pool(map, heatmap.SMALL).maps
    return heatmap.data_url(small, ends, heatmap.scale(ends.low < 0))


def _focus(scene: Scene, name: str, map: CellGrid) -> Heatmap:
    t, h = (axis for axis in scene.circuit.outputs[0].array)
    return Heatmap(
        f"{name} {map.shape}",
        f"The {name} of every feature at every position",
        heatmap.pool(map, heatmap.LARGE),
        _ends(map),
        AxisLabels(f"feature {markup.axis(h)}", f"feature {h.name}"),
        AxisLabels(f"position {markup.axis(t)}", f"position {t.name}", scene.axis_words(t.name)),
        value_label=name,
    )


def _gates_summary(scene: Scene, name: str, map: CellGrid) -> str:
    mean = markup.digits(float(np.mean(map)))
    return (
        f"<h2>{name.capitalize()}</h2><p>{MEANS[name]} Its mean here is {mean}.</p>"
        f'<p class="muted">{numbers_origin(scene)}</p>'
    )


# --- The Gates panel: which hidden features pass for each token, and the cost of a third map

PARTS = {"gate": "gate", "value": "value", "product": "gate · value"}
SHOWN_PART = Choice("hidden", PARTS, "product")
CLOSED_LIMIT = 0.05  # a gate nearer to 0 counts as closed
WIDE, TALL, ENDS = 260, 120, 4.0  # pixels of the curve, and its largest input


def show_gate_map(scene: Scene) -> None:
    """Shows gates, values or products of every token, and the curve of the activation."""
    chosen, every = SHOWN_PART.value, parts(scene)
    map_component.render(
        "gate-map",
        GATE_MAP.controls,
        head=f"<p>{SHOWN_PART.html()}</p>",
        map=_map(scene, every[chosen], chosen),
        aside=_gate_map_summary(scene, every["gate"]),
    )


GATE_MAP = Panel("Gate", show_gate_map, controls=(SHOWN_PART,), follows_moves=True)


def parts(scene: Scene) -> dict[str, Tensor]:
    """Returns gates, values and products of the run, each (tokens, hidden features)."""
    cell = next(cell for cell in scene.circuit.cells if cell.op.display_name.endswith("times"))
    ids = (*(value.id for value in cell.inputs), cell.outputs[0].id)
    values = (scene.trace.values[id].detach().float().cpu() for id in ids)
    return dict(zip(PARTS, values, strict=True))


def _map(scene: Scene, numbers: Tensor, chosen: str) -> Heatmap:
    grid = numbers.numpy().astype(np.float32)
    return Heatmap(
        f"gate {grid.shape}",
        PARTS[chosen],
        heatmap.pool(grid, heatmap.LARGE),
        ColourRange.from_numbers(grid, signed=True),
        AxisLabels("token", "token", scene.axis_words("t")),
        AxisLabels("hidden feature", "hidden feature"),
        value_label=PARTS[chosen],
    )


def _gate_map_summary(scene: Scene, gates: Tensor) -> str:
    m, d = scene.settings["m"], scene.settings["d"]
    closed = float((gates.abs() < CLOSED_LIMIT).float().mean())
    rows = [
        f'<tr><td>{name}</td><td class="number">{hidden:,}</td>'
        f'<td class="number">{maps * m * hidden:,}</td></tr>'
        for name, hidden, maps in (
            ("SwiGLU, here", d, 3),
            ("plain, as large", round(1.5 * d), 2),
            ("plain, 4 m", 4 * m, 2),
            ("SwiGLU, 8/3 m", round(8 * m / 3), 3),
        )
    ]
    table = markup.table(("Feed-forward", "hidden", "parameters"), rows, numbers=(1, 2))
    return (
        f"{curve()}<p>{100 * closed:.0f} % of the gates are nearer to 0 than "
        f"{CLOSED_LIMIT:g}: their "
        f'values hardly pass.</p>{table}<p class="muted">{numbers_origin(scene)}</p>'
    )


def curve() -> str:
    """Returns the curves of SiLU and of the ReLU as SVG."""
    silu = " ".join(_point(x, x / (1 + float(np.exp(-x)))) for x in np.linspace(-ENDS, ENDS, 81))
    relu = " ".join(_point(x, max(x, 0.0)) for x in (-ENDS, 0.0, ENDS))
    line = 'fill="none" stroke-width="2" points='
    return (
        f'<svg viewBox="0 0 {WIDE} {TALL}" width="{WIDE}" height="{TALL}" role="img" '
        'style="max-width:100%" aria-label="SiLU, dipping a little below 0, beside the ReLU">'
        f'<path d="M0 {_y(0):.1f}H{WIDE}M{WIDE / 2} 0V{TALL}" stroke="currentColor" '
        f'opacity="0.3"/><polyline stroke="#c9732b" stroke-dasharray="4 5" {line}"{relu}"/>'
        f'<polyline stroke="#3d6fb6" {line}"{silu}"/>'
        '<g font-size="12" fill="currentColor"><text x="6" y="16">— SiLU(x) = x σ(x)</text>'
        '<text x="6" y="34">- - ReLU(x)</text></g></svg>'
    )


def _point(x: float, y: float) -> str:
    return f"{WIDE * (x + ENDS) / (2 * ENDS):.1f},{_y(y):.1f}"


def _y(value: float) -> float:
    return TALL * (1 - (value + 0.6) / (ENDS + 0.8))
