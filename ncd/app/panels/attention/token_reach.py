"""The Reach panel: which tokens influence a position, measured layer by layer."""

from __future__ import annotations

import numpy as np
import torch

import ncd
from ncd.app.parts import heatmap, map_component
from ncd.app.parts.heatmap import CellGrid, ColourRange
from ncd.app.parts.map_component import AxisLabels, CellFrame, Heatmap
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import CACHE, get_or_make
from ncd.app.state.controls import Place
from ncd.run.seeding import generator
from ncd.site import markup

UP_TO, AT = Place("up_to_layer", None), Place("reach_from", None)
POSITIONS, LAYERS = 64, 8  # the greatest numbers that are measured
SMALL = {"h": 1, "k": 4}  # the reach does not depend on these sizes
FELT = 1e-12  # smaller changes are rounding errors


def show_token_reach(scene: Scene) -> None:
    """Shows after how many layers each token influences each position."""
    n, t = min(scene.settings["n"], LAYERS), min(scene.settings["t"], POSITIONS)
    found = reach(scene, n, t)
    layers, at = UP_TO.among(n, n - 1) + 1, AT.among(t, t - 1)
    felt = np.where(found <= layers, found, np.nan).astype(np.float32)
    sliders = UP_TO.html(f"after layer {layers} of {n}", n, layers - 1)
    sliders += AT.html(f"at position {at}", t, at)
    map_component.render(
        "reach",
        TOKEN_REACH.controls,
        head=f'<div class="told">{sliders}</div>',
        map=_map(felt, n, at, scene),
        aside=_told(scene, found, layers, at),
    )


TOKEN_REACH = Panel("Reach", show_token_reach, controls=(UP_TO, AT))


def reach(scene: Scene, layers: int, positions: int) -> CellGrid:
    """Returns the first layer after which each token influences each position.

    Rows are positions, columns tokens; infinite if a token has no influence after all layers. It is
    measured once for each window, as no layer and no position knows how many come after it.
    """
    key = ("reach", scene.entry.name, scene.settings["w"], scene.seed)
    whole: CellGrid = get_or_make(CACHE, key, lambda: scene.run_in_pool(lambda: _measured(scene)))
    found = whole[:positions, :positions]
    return np.where(found <= layers, found, np.float32(np.inf))


def _measured(scene: Scene) -> CellGrid:
    """Returns the reach of the most layers; each token is changed separately, all in one run."""
    sizes = {**scene.settings, **SMALL, "n": LAYERS, "t": POSITIONS}
    module = ncd.compile(scene.entry.build(**sizes), scene.seed).double()
    given = torch.randn(POSITIONS, SMALL["k"], generator=generator(scene.seed, "reach")).double()
    changed = given + torch.eye(POSITIONS).double()[..., None]
    with torch.no_grad():
        run = ncd.trace(module, torch.cat((given[None], changed)))
    ends = [cell.outputs[0].id for cell in module.circuit.cells if cell.op.role == "residual"]
    first = np.full((POSITIONS, POSITIONS), np.inf, np.float32)
    for layer, id in reversed([*enumerate(ends, 1)]):
        value = run.values[id]
        far = (value[1:] - value[:1]).abs().amax(-1).T.numpy()
        first[far > FELT] = layer
    return first


def _map(felt: CellGrid, layers: int, at: int, scene: Scene) -> Heatmap:
    words = scene.axis_words("t")
    return Heatmap(
        f"reach {felt.shape}",
        "The layers that it takes until a token is felt at a position",
        heatmap.pool(felt, heatmap.LARGE),
        ColourRange(0.0, float(layers), 0, float(layers)),
        AxisLabels("position that knows", "position", words, AT),
        AxisLabels("token that is changed", "token", words),
        value_label="layers",
        square_cells=True,
        marks=(CellFrame("row", at),),
    )


def _told(scene: Scene, found: CellGrid, layers: int, at: int) -> str:
    w, t, n = (scene.settings[name] for name in "wtn")
    rows = [
        f'<tr{" class=chosen" if layer == layers else ""}><td>{layer}</td><td class="number">'
        f'{int((found[at] <= layer).sum())}</td><td class="number">'
        f"{min(at + 1, 1 + layer * (w - 1))}</td></tr>"
        for layer in range(1, min(n, LAYERS) + 1)
    ]
    table = markup.table(("After layer", "felt", "1 + layer · (w − 1)"), rows, numbers=(1, 2))
    cut = f" The first {POSITIONS} of {t:,} positions." if t > POSITIONS else ""
    cut += f" The first {LAYERS} of {n} layers." if n > LAYERS else ""
    return (
        f"<p>Position {at} feels so many tokens, itself among them:</p>{table}"
        '<p class="muted">Measured: each token is changed in turn, and where an output moves it is '
        "felt. One head of 4 features, as neither heads nor weights say what reaches what. Hatched "
        f"is what is not reached.{cut}</p>"
    )
