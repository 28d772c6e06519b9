"""The Gates panel: which hidden features pass for each token, and the cost of a third map."""

from __future__ import annotations

import numpy as np
from torch import Tensor

from ncd.app.parts import heatmap, map_component
from ncd.app.parts.heatmap import ColourRange
from ncd.app.parts.map_component import AxisLabels, Heatmap
from ncd.app.scene import captions
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.controls import Choice
from ncd.site import markup

PARTS = {"gate": "gate", "value": "value", "product": "gate · value"}
SHOWN = Choice("hidden", PARTS, "product")
CLOSED = 0.05  # a gate nearer to 0 counts as closed
WIDE, TALL, ENDS = 260, 120, 4.0  # pixels of the curve, and its largest input


def show_gate_map(scene: Scene) -> None:
    """Shows gates, values or products of every token, and the curve of the activation."""
    chosen, every = SHOWN.value, parts(scene)
    map_component.render(
        "gate-map",
        GATE_MAP.controls,
        head=f"<p>{SHOWN.html()}</p>",
        map=_map(scene, every[chosen], chosen),
        aside=_told(scene, every["gate"]),
    )


GATE_MAP = Panel("Gate", show_gate_map, controls=(SHOWN,))


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
        ColourRange.of(grid, signed=True),
        AxisLabels("token", "token", scene.axis_words("t")),
        AxisLabels("hidden feature", "hidden feature"),
        value_label=PARTS[chosen],
    )


def _told(scene: Scene, gates: Tensor) -> str:
    m, d = scene.settings["m"], scene.settings["d"]
    closed = float((gates.abs() < CLOSED).float().mean())
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
        f"{curve()}<p>{100 * closed:.0f} % of the gates are nearer to 0 than {CLOSED:g}: their "
        f'values hardly pass.</p>{table}<p class="muted">{captions.numbers_origin(scene)}</p>'
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
