"""The By hand panel: layer norm with the biased and the unbiased variance, against torch's."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

import torch
from torch import Tensor, nn

from ncd.app.parts import map_component
from ncd.app.scene import captions
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached
from ncd.app.state.controls import Place
from ncd.explain.equation_proof import max_difference
from ncd.site import markup

POSITION = Place("position")
MOST = 12  # the greatest number of features that are shown
EPS = 1e-5

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Norms:
    """One position's numbers, mean and both variances, and the results of each way."""

    x: Numbers
    mean: float
    biased: float
    unbiased: float
    torch: Numbers
    rows: tuple[Numbers, Numbers]  # by hand, with the biased and the unbiased variance
    apart: tuple[float, float]  # from torch's, over all positions


def show_norm_by_hand(scene: Scene) -> None:
    """Shows the statistics of the chosen position, and three ways to normalise it."""
    size = scene.settings["t"]
    at = POSITION.among(size)
    key = (*scene.run_key, at)
    found = cached(
        "norms", scene.term, *key, make=lambda: scene.run_in_pool(lambda: norms(scene, at))
    )
    slider = POSITION.html(f"position t = {at}", size, at)
    map_component.render("by hand", NORM_BY_HAND.controls, head=slider + _table(scene, found))


NORM_BY_HAND = Panel("By hand", show_norm_by_hand, controls=(POSITION,))


def by_hand(x: Tensor, unbiased: bool) -> Tensor:
    """Normalises as the notebook does: minus the mean, divided by the root of the variance.

    >>> by_hand(torch.tensor([[1.0, 3.0]]), unbiased=False).round(decimals=2).tolist()
    [[-1.0, 1.0]]
    """
    mean = x.mean(-1, keepdim=True)
    variance = (x - mean).square().sum(-1, keepdim=True) / (x.shape[-1] - unbiased)
    return (x - mean) / torch.sqrt(variance + EPS)


def norms(scene: Scene, at: int) -> Norms:
    """Normalises all positions in three ways; returns the results at one position."""
    x = scene.inputs[0].detach().cpu()
    theirs = nn.functional.layer_norm(x, x.shape[-1:], eps=EPS)
    hand = [by_hand(x, unbiased) for unbiased in (False, True)]
    row = x[at]
    one, two = (max_difference(way, theirs) for way in hand)
    spread = row - row.mean()
    total, m = float(spread.square().sum()), len(row)
    return Norms(
        _few(row),
        float(row.mean()),
        total / m,
        total / (m - 1) if m > 1 else float("nan"),
        _few(theirs[at]),
        (_few(hand[0][at]), _few(hand[1][at])),
        (one, two),
    )


def _few(row: Tensor) -> Numbers:
    return tuple(row[:MOST].tolist())


def _table(scene: Scene, found: Norms) -> str:
    m = scene.settings["m"]
    rows = (
        _row("x", found.x, None),
        _row("nn.LayerNorm", found.torch, None),
        _row("by hand, biased", found.rows[0], found.apart[0]),
        _row("by hand, unbiased", found.rows[1], found.apart[1]),
    )
    n = len(found.x)
    more = f" The first {n} of {m} features." if m > n else ""
    head = ("", *map(str, range(n)), "apart from torch’s")
    return (
        f"<p>Mean {markup.digits(found.mean)}; variance {markup.digits(found.biased)} over m = {m}"
        f" (biased), {_known(found.unbiased)} over m − 1 = {m - 1} (unbiased).{more}</p>"
        f"{markup.table(head, rows, numbers=range(1, n + 2))}"
        f'<p class="muted">ε = 10⁻⁵ keeps the root from zero. Apart: the largest difference in any '
        f"position. gamma is 1 and beta 0, as before training. {captions.numbers_origin(scene)}</p>"
    )


def _known(number: float) -> str:
    return markup.digits(number) if isfinite(number) else "not defined"


def _row(name: str, numbers: Numbers, apart: float | None) -> str:
    cells = "".join(f'<td class="number">{_cell(number)}</td>' for number in numbers)
    last = "" if apart is None else _known(apart)
    return f'<tr><td>{name}</td>{cells}<td class="number">{last}</td></tr>'


def _cell(number: float) -> str:
    return "–" if number != number else f"{number:.3f}".replace("-", "−")
