"""Plane: the pictures of all points of a plane, and where a picture's own point lies."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ncd.app.panels.images import picture_parts as parts
from ncd.app.panels.learning.mistakes import COLOURS
from ncd.app.parts import heatmap, html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Place
from ncd.explain.colour_scale import CellGrid, ColourRange
from ncd.run.seeding import generator
from ncd.site import markup
from ncd.site.markup import GREY
from ncd.systems.training.losses import divergence
from ncd.systems.training.task_data import labelled_digits

ACROSS, UP = Place("across", None), Place("up", None)
POINT = "point"  # an action that sets both
CELLS, REACH = 15, 3.0  # pictures along a side, and the last of their coordinates
STEPS = 61  # places of a slider, from -REACH to REACH
SIDE, LARGE = 420, 140  # pixels
CHOSEN_COLOUR = "#ff4b4b"
DOTS = 120  # unseen pictures that are shown as points
NAME = "digits of the plane"


@dataclass(frozen=True)
class Plane:
    """The pictures of a plane, and the points of pictures that were not learned from."""

    pictures: CellGrid  # (CELLS, CELLS, x, y), the first row at the top
    points: CellGrid  # (dots, 2)
    labels: tuple[int, ...]


def show_latent_plane(scene: Scene) -> None:
    """Shows the plane with a point in it, the picture of that point, and the page's own picture."""
    found = cached_value(
        "plane", scene.term, *scene.run_key, make=lambda: scene.run_in_pool(lambda: plane(scene))
    )
    own = _picture_point(scene)
    at = tuple(_slider_coordinate(key, value) for key, value in ((ACROSS, own[0]), (UP, own[1])))
    picture = cached_value(
        "decoded",
        scene.term,
        *scene.run_key,
        at,
        make=lambda: scene.run_in_pool(lambda: decode_points(scene, torch.tensor([at]))[0]),
    )
    two = scene.settings["k"] > 1
    sliders = ACROSS.html(f"across {_coordinate(at[0])}", STEPS, _step(at[0]))
    sliders += UP.html(f"up {_coordinate(at[1])}", STEPS, _step(at[1])) if two else ""
    html_panel.render(
        f'<div class="told">{sliders}</div>'
        + parts.row(_plane_svg(found, at, own), _side_html(scene, picture, at)),
        "plane",
        LATENT_PLANE.controls,
        _pick,
    )


LATENT_PLANE = Panel("Plane", show_latent_plane, controls=(ACROSS, UP))


def _pick(picked: str) -> None:
    name, _, value = picked.partition("=")
    if name == POINT:
        across, _, up = value.partition(".")
        ACROSS.put(across)
        UP.put(up)


def _slider_coordinate(control: Place, default: float) -> float:
    """Returns a coordinate that a slider chose, or the default."""
    return REACH * (2 * control.among(STEPS) / (STEPS - 1) - 1) if control.value else default


def _step(value: float) -> int:
    """Returns the place of a slider that is nearest to a coordinate."""
    share = (min(max(value, -REACH), REACH) + REACH) / (2 * REACH)
    return round(share * (STEPS - 1))


def _picture_point(scene: Scene) -> tuple[float, float]:
    """Returns the first two numbers of the mean of the page's own picture."""
    mean = scene.trace.outputs[1].float().cpu()
    return float(mean[0]), float(mean[1]) if len(mean) > 1 else 0.0


@torch.no_grad()
def decode_points(scene: Scene, points: Tensor) -> CellGrid:
    """Returns the pictures (n, x, y) of points (n, 2), whose other numbers are 0.

    The decoder is reached by a picture of no matter and noise that takes its point to the one asked
    for.
    """
    module, k = scene.module, scene.settings["k"]
    full = torch.zeros(len(points), k)
    full[:, : min(2, k)] = points[:, : min(2, k)]
    blank = torch.zeros(len(points), *scene.inputs[0].shape)
    _, mean, spread = module(blank.to(scene.device), full.to(scene.device))
    noise = (full.to(scene.device) - mean) / (spread / 2).exp()
    return parts.grid(module(blank.to(scene.device), noise)[0])


def plane(scene: Scene) -> Plane:
    """Returns the pictures of evenly spaced points, and the points of unseen digits."""
    line = torch.linspace(-REACH, REACH, CELLS)
    points = torch.stack(torch.meshgrid(-line, line, indexing="ij"), -1).flip(-1).reshape(-1, 2)
    pictures = decode_points(scene, points).reshape(CELLS, CELLS, *scene.inputs[0].shape)
    own = labelled_digits({**scene.settings, "k": 10}, generator(scene.seed, NAME))
    given = own.unseen[:DOTS].to(scene.device)
    with torch.no_grad():
        means = scene.module(given, torch.zeros(len(given), scene.settings["k"]).to(scene.device))[
            1
        ]
    if means.shape[1] == 1:
        means = torch.cat((means, torch.zeros_like(means)), 1)
    return Plane(pictures, parts.grid(means[:, :2]), tuple(own.answers[:DOTS].tolist()))


def _plane_svg(found: Plane, at: tuple[float, ...], own: tuple[float, float]) -> str:
    """Returns the plane as SVG: its pictures, the points of digits, and the chosen point."""
    x, y = found.pictures.shape[2:]
    sheet = found.pictures.transpose(0, 2, 1, 3).reshape(CELLS * x, CELLS * y)
    step = SIDE / CELLS
    marks = [
        parts.box(j * step, i * step, step, step, f'fill="transparent" data-pick="{pick}"')
        for i in range(CELLS)
        for j in range(CELLS)
        for pick in (f"{POINT}={_step(_line(j))}.{_step(_line(CELLS - 1 - i))}",)
    ]
    marks += [
        _numeral(*_spot(*point), label)
        for point, label in zip(found.points.tolist(), found.labels, strict=True)
        if max(map(abs, point)) <= REACH
    ]
    if max(map(abs, own)) <= REACH:
        left, top = (n - 5 for n in _spot(*own))
        look = f'fill="{CHOSEN_COLOUR}" stroke="#fff" stroke-width="1.5" pointer-events="none"'
        marks.append(parts.box(left, top, 10, 10, look))
    across, up = _spot(*at)
    marks.append(
        f'<circle cx="{across:.1f}" cy="{up:.1f}" r="11" fill="none" stroke="{CHOSEN_COLOUR}" '
        'stroke-width="3.5" pointer-events="none"/>'
    )
    said = f"{CELLS} × {CELLS} pictures, each of the point where it stands"
    return parts.image_with_marks(
        heatmap.data_url(sheet, ColourRange(0.0, 1.0), GREY), SIDE, said, marks
    )


def _line(i: int) -> float:
    """Returns the coordinate of a column, or of a row from below."""
    return REACH * (2 * i / (CELLS - 1) - 1)


def _spot(across: float, up: float) -> tuple[float, float]:
    """Returns the place of a point on the screen: the middle of the picture that stands there."""
    step = SIDE / CELLS
    span = SIDE - step
    return (
        step / 2 + span * (across + REACH) / (2 * REACH),
        step / 2 + span * (REACH - up) / (2 * REACH),
    )


def _numeral(x: float, y: float, label: int) -> str:
    """Returns an unseen digit at its point, as a numeral."""
    return (
        f'<text x="{x:.1f}" y="{y + 4:.1f}" text-anchor="middle" font-size="13" font-weight="700" '
        f'fill="rgb{COLOURS[label % len(COLOURS)]}" stroke="#000" stroke-width="3.5" '
        f'paint-order="stroke" pointer-events="none">{label}</text>'
    )


def _side_html(scene: Scene, picture: CellGrid, at: tuple[float, ...]) -> str:
    """Returns the picture of the chosen point, and the page's own picture with its point."""
    again, mean, spread = (x.float().cpu() for x in scene.trace.outputs)
    cost = float(divergence(mean, spread).sum())
    figures = parts.row(
        parts.figure(
            _grey(picture, "the picture of the point"),
            f"at {_coordinate(at[0])}, {_coordinate(at[1])}",
        ),
        parts.figure(_grey(parts.grid(scene.inputs[0]), "what goes in"), "what goes in"),
        parts.figure(_grey(parts.grid(again), "made again"), "made again"),
    )
    point = ", ".join(_coordinate(float(n)) for n in mean[:4])
    width = ", ".join(markup.digits(float(n)) for n in (spread / 2).exp()[:4])
    return (
        f'<div style="flex:1;min-width:16em">{figures}'
        f"<p>What goes in has its mean at ({point}), the red square, and a spread of ({width}); "
        f"that costs {markup.digits(cost)}.</p>"
        f'<p><button type="button" class="plain" data-pick="{POINT}=.">Go to its point</button></p>'
        f'<p class="muted">Click a picture to go there. The numerals are digits that were not '
        f"learned from, at their means. {numbers_origin(scene)}</p></div>"
    )


def _grey(picture: CellGrid, alt: str) -> str:
    return parts.image(heatmap.data_url(picture, ColourRange(0.0, 1.0), GREY), alt, LARGE)


def _coordinate(value: float) -> str:
    return f"{value:.1f}".replace("-", "−")
