"""The Merged panel: a low-rank update added to its map, and how few numbers are trained."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

import ncd
from ncd.app.parts import heatmap, map_component
from ncd.app.parts.map_component import AxisLabels, Heatmap
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state import knobs
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Choice, slider
from ncd.explain.colour_scale import ColourRange
from ncd.explain.equation_proof import max_difference
from ncd.site import markup

RANK = "r"  # the knob
MATRICES = {"W": "W, trained before", "update": "the update", "sum": "both added"}
MATRIX = Choice("matrix", MATRICES, "update")
LONGEST = 8.0  # the longest bar, in em
MAX_RANK = 64  # the largest rank of the slider and the table


@dataclass(frozen=True)
class LowRankMerge:
    """The matrices (out, in) of the map and of its update, and the outputs of two runs."""

    map: Tensor
    update: Tensor
    output_difference: float
    gradients: float
    flops: int
    flops_merged: int


def show_merged_weights(scene: Scene) -> None:
    """Shows the matrices, that merging changes nothing, and the number of trained parameters."""
    found = cached_value(
        "merged",
        scene.term,
        *scene.run_key,
        make=lambda: scene.run_in_pool(lambda: compare_merged(scene)),
    )
    chosen = MATRIX.value
    every = {"W": found.map, "update": found.update, "sum": found.map + found.update}
    map_component.render(
        "merged weights",
        MERGED_WEIGHTS.controls,
        _pick,
        head=_choices(scene),
        map=_map(every[chosen], chosen),
        aside=_summary_html(scene, found),
    )


MERGED_WEIGHTS = Panel("Merged", show_merged_weights, controls=(MATRIX,), follows_moves=True)


def compare_merged(scene: Scene) -> LowRankMerge:
    """Runs the term with a separate update, and with the update merged into the map."""
    apart_, one = (
        ncd.compile(scene.entry.build(**{**scene.settings, "merged": n}), scene.seed, scene.device)
        for n in (0, 1)
    )
    own = dict(apart_.named_parameters())
    with torch.no_grad():
        scale = scene.settings["a"] / scene.settings[RANK]
        update = scale * own["B.weight"] @ own["A.weight"]
        one.load_state_dict({"W.weight": own["W.weight"] + update})
    x, y = (scene.inputs[0].detach().clone().requires_grad_() for _ in range(2))
    out, other = apart_(x), one(y)
    slopes = [
        torch.autograd.grad(z.square().sum(), given)[0] for z, given in ((out, x), (other, y))
    ]
    flops = [ncd.cost(module.term).flops for module in (apart_, one)]
    weights = own["W.weight"].detach().cpu(), update.cpu()
    off = max_difference(out.detach(), other.detach())
    return LowRankMerge(*weights, off, max_difference(*slopes), *flops)


def _pick(name: str, value: str) -> None:
    """Applies the slider of the rank; a callback."""
    if name == RANK and value.isdecimal() and len(value) < 4:
        knobs.set_values({RANK: max(int(value), 1)})


def _choices(scene: Scene) -> str:
    rank = scene.settings[RANK]
    most = max(rank, min(scene.settings["m"], scene.settings["d"], MAX_RANK), 2)
    ranks = slider(f"rank {rank}", RANK, range(1, most + 1), rank)
    return f'<div class="told">{ranks}<span>{MATRIX.html()}</span></div>'


def _map(matrix: Tensor, chosen: str) -> Heatmap:
    grid = matrix.float().numpy().astype(np.float32)
    return Heatmap(
        f"merged {grid.shape}",
        MATRICES[chosen],
        heatmap.pool(grid, heatmap.LARGE),
        ColourRange.from_numbers(grid, signed=True),
        AxisLabels("feature out", "feature out"),
        AxisLabels("feature in", "feature in"),
        value_label="weight",
    )


def _summary_html(scene: Scene, found: LowRankMerge) -> str:
    (d, m), rank = found.map.shape, scene.settings[RANK]
    ranks = sorted({1 << i for i in range(7) if 1 << i <= min(m, d)} | {rank})
    most = max(m * d, max(ranks) * (m + d))
    rows = [_row(r, r * (m + d), most, r == rank, scene.dark) for r in ranks]
    rows.append(
        f'<tr><td>all of W</td><td class="number">{m * d:,}</td>'
        f"<td>{markup.meter(m * d / most, markup.colour('linear', scene.dark), LONGEST)}</td></tr>"
    )
    table = markup.table(("Rank", "Trained numbers", ""), rows, numbers=(1,))
    return (
        "<p>In one map the outputs differ by "
        f"<b>{markup.digits(found.output_difference)}</b> from those of "
        f"two, and the gradients of the input by <b>{markup.digits(found.gradients)}</b>: "
        f"rounding. One map takes {markup.amount(found.flops_merged, 'FLOP')}, two take "
        f"{markup.amount(found.flops, 'FLOP')}.</p>{table}"
        '<p class="muted">Training begins with B = 0, so that the update is 0; here B is random, '
        f"so that there is something to see. {numbers_origin(scene)}</p>"
    )


def _row(rank: int, count: int, most: int, here: bool, dark: bool) -> str:
    role = "softmax" if here else "linear"
    bar = markup.meter(count / most, markup.colour(role, dark), LONGEST)
    said = f"<b>{rank}</b> (here)" if here else str(rank)
    return f'<tr><td>{said}</td><td class="number">{count:,}</td><td>{bar}</td></tr>'
