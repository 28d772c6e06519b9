"""The Paths panel: where five optimisers go on a surface, and what each keeps of a parameter."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
import torch
from torch import nn

from ncd.app.parts import heatmap, html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state import knobs
from ncd.app.state.controls import Choice, Range
from ncd.explain.colour_scale import ColourRange
from ncd.formulas.prefixed_amounts import digits
from ncd.site import markup
from ncd.systems.networks.optimiser_steps import KINDS, STATES

Point = tuple[float, float]
END = 2.0  # the surfaces reach from -2 to 2 along both sides
LENGTH, GRID = 60, 96  # steps of a path, and cells along a side of the picture
SIDE = 340  # of the picture, in pixels
BYTES, MANY = 4, 7e9  # of a number in float32, and the parameters of a large model
COLOURS = ("#e8e8e8", "#ffb000", "#fe6100", "#dc267f", "#78d5ff")


class Surface(NamedTuple):
    """A loss of two parameters, and its gradient."""

    height: Callable[[float, float], float]
    slope: Callable[[float, float], Point]


SURFACES: Mapping[str, Surface] = {
    "valley": Surface(
        lambda x, y: 0.05 * x * x + 2 * y * y,
        lambda x, y: (0.1 * x, 4 * y),
    ),
    "bowl": Surface(lambda x, y: (x * x + y * y) / 2, lambda x, y: (x, y)),
    "saddle": Surface(
        lambda x, y: x * x / 2 - y * y / 2 + y**4 / 8,
        lambda x, y: (x, y**3 / 2 - y),
    ),
    "bend": Surface(  # Rosenbrock's, with 5 for his 100
        lambda x, y: (1 - x) ** 2 + 5 * (y - x * x) ** 2,
        lambda x, y: (2 * (x - 1) - 20 * x * (y - x * x), 10 * (y - x * x)),
    ),
}
RATES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
SURFACE = Choice("surface", tuple(SURFACES), "valley")
START_X = Range("start_x", range(-20, 21), -18)  # in tenths
START_Y = Range("start_y", range(-20, 21), 10)
PACE = Range("pace", range(len(RATES)), 4)


def new_optimiser(kind: int, parameter: nn.Parameter, rate: float) -> torch.optim.Optimizer:
    """Returns torch's optimiser of a kind, with the settings of the page's terms.

    Args:
        kind: Its place in ``KINDS``.
        parameter: A matrix.
        rate: The learning rate.
    """
    if kind < 2:
        return torch.optim.SGD([parameter], rate, momentum=0.9 * kind)
    return (torch.optim.Adam, torch.optim.AdamW, torch.optim.Muon)[kind - 2]([parameter], rate)


@lru_cache(256)
def path(kind: int, surface: str, start: Point, rate: float) -> tuple[Point, ...]:
    """Returns the points that an optimiser comes to, the start first.

    >>> [round(x, 2) for x, _ in path(0, "bowl", (1.0, 0.0), 0.1)[:3]]
    [1.0, 0.9, 0.81]
    """
    parameter = nn.Parameter(torch.tensor([start]))
    optimiser, points = new_optimiser(kind, parameter, rate), [start]
    for _ in range(LENGTH):
        parameter.grad = torch.tensor([SURFACES[surface].slope(*points[-1])])
        optimiser.step()
        x, y = parameter.detach()[0].tolist()
        if not abs(x) + abs(y) < 100:  # it has left the surface for good
            break
        points.append((x, y))
    return tuple(points)


# --- The panel


def show_paths(scene: Scene) -> None:
    """Shows the paths on a surface, and a table of where they end and what their states take."""
    start, rate = (START_X.number / 10, START_Y.number / 10), RATES[PACE.number]
    paths = [path(kind, SURFACE.value, start, rate) for kind in range(len(KINDS))]
    sliders = (
        START_X.html(f"start across {digits(start[0])}"),
        START_Y.html(f"start up {digits(start[1])}"),
        PACE.html(f"learning rate {rate:g}"),
    )
    html = (
        f'<div class="told">{SURFACE.html()}{"".join(sliders)}</div>'
        f'<div style="display:flex;flex-wrap:wrap;gap:1.4rem">{_picture(scene, paths)}'
        f'<div style="flex:1 1 22rem">{_table(scene, paths)}{PATHS_TEXT}</div></div>'
    )
    html_panel.render(html, "paths", PATHS.controls, partial(knobs.apply_pick, scene.entry))


PATHS = Panel("Paths", show_paths, controls=(SURFACE, START_X, START_Y, PACE), needs_run=False)
PATHS_TEXT = (
    f"<p>{LENGTH} steps each of <code>torch.optim</code>, with two parameters as one row. A row "
    "has one direction, so that Muon’s steps are all as long as each other.</p>"
)


@lru_cache
def _ground(surface: str) -> str:
    """Returns a surface as a picture, low where it is dark."""
    places = (np.arange(GRID) + 0.5) * 2 * END / GRID - END
    heights = np.array([[SURFACES[surface].height(x, -y) for x in places] for y in places])
    shades = np.log1p(4 * (heights - heights.min())).astype(np.float32)
    return heatmap.data_url(shades, ColourRange(0, float(shades.max())))


def _picture(scene: Scene, paths: list[tuple[Point, ...]]) -> str:
    chosen = scene.settings["kind"]
    order = sorted(range(len(paths)), key=lambda kind: kind == chosen)  # the chosen one on top
    lines = "".join(_line(paths[kind], COLOURS[kind], kind == chosen) for kind in order)
    x, y = _place(paths[0][0])
    return (
        f'<svg viewBox="0 0 {SIDE} {SIDE}" role="img" style="width:min({SIDE}px,82vw)" aria-label="'
        f'Paths of {len(paths)} optimisers on the {SURFACE.value}">'
        f'<image href="{_ground(SURFACE.value)}" width="{SIDE}" height="{SIDE}"/>{lines}'
        f'<circle cx="{x}" cy="{y}" r="6" fill="none" stroke="white" stroke-width="2"/></svg>'
    )


def _place(point: Point) -> tuple[float, float]:
    """Returns where a point stands in the picture, inside or not far outside."""
    x, y = (min(max(n, -3 * END), 3 * END) for n in point)
    return round((x + END) * SIDE / 2 / END, 1), round((END - y) * SIDE / 2 / END, 1)


def _line(points: tuple[Point, ...], colour: str, chosen: bool) -> str:
    """Returns a path with a dot at its end; the chosen one is thick, with a dot at each step."""
    places = [_place(point) for point in points]
    thick = 3 if chosen else 1.4
    text = " ".join(f"{x},{y}" for x, y in places)
    dots = places if chosen else places[-1:]
    return (
        f'<polyline points="{text}" fill="none" stroke="{colour}" stroke-width="{thick}"/>'
        + "".join(
            f'<circle cx="{x}" cy="{y}" r="{thick}" fill="{colour}" stroke="#000"/>'
            for x, y in dots
        )
    )


def _table(scene: Scene, paths: list[tuple[Point, ...]]) -> str:
    """Returns where each path ends, and the bytes of its states."""
    height, body = SURFACES[SURFACE.value].height, []
    for kind, (name, points) in enumerate(zip(KINDS, paths, strict=True)):
        pressed = str(kind == scene.settings["kind"]).lower()
        swatch = f"<span style='color:{COLOURS[kind]};-webkit-text-stroke:0.5px #000'>●</span>"
        loss = height(*points[-1]) if len(points) > LENGTH else math.inf
        kept = BYTES * len(STATES[kind])
        body.append(
            f"<tr><td>{swatch} <button type='button' class='plain' data-pick='kind={kind}' "
            f"aria-pressed='{pressed}'>{name}</button></td>"
            f'<td class="number">{"diverged" if loss == math.inf else digits(loss)}</td>'
            f'<td class="number">{kept}</td><td class="number">{kept * MANY / 1e9:g} GB</td></tr>'
        )
    head = ("", f"loss after {LENGTH} steps", "bytes of state", "for 7 billion")
    return markup.table(head, body, numbers=(1, 2, 3))
