"""The Masks panel: a mask on the hidden units, and one result under a thousand masks."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt

import torch
from torch import Tensor

from ncd.app.parts import html_panel
from ncd.app.parts.bin_chart import bin_chart
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Place
from ncd.run.seeding import generator
from ncd.site import markup
from ncd.systems.networks.dropout_layer import EVAL, RATES

EXAMPLE, RESULT = Place("example"), Place("result")
MAX_ROWS = 16  # hidden units that have a row
MASK_COUNT, DRAWN_NUMBERS, BINS = 1000, 2_000_000, 30  # masks, numbers that they have at most, bars


@dataclass(frozen=True)
class MaskedSum:
    """A result that adds up hidden units: as it is in evaluation, and under many masks.

    Args:
        full_sum: With no unit left out.
        bias: What is added to it in any case.
        under_masks: Under each of some masks, divided by 1 - p.
        expected_deviation: The deviation of those that follows from p.
    """

    full_sum: float
    bias: float
    under_masks: Tensor
    expected_deviation: float

    @property
    def mean(self) -> float:
        """The mean under all masks."""
        return float(self.under_masks.mean())

    @property
    def deviation(self) -> float:
        """The standard deviation of the results under masks."""
        return float(self.under_masks.std(correction=0))

    def unscaled_mean(self, rate: float) -> float:
        """Returns the mean that the masks have if nothing is divided by 1 - p."""
        return (self.mean - self.bias) * (1 - rate) + self.bias


def masked_sum(
    hidden: Tensor, weight: Tensor, bias: float, rate: float, random: torch.Generator
) -> MaskedSum:
    """Returns a sum of hidden units (d,) with these weights (d,), under masks of a rate.

    >>> ones = torch.ones(8)
    >>> found = masked_sum(ones, ones, 0.0, 0.5, torch.Generator().manual_seed(0))
    >>> found.full_sum, round(found.mean, 1), round(found.expected_deviation, 2)
    (8.0, 8.0, 2.83)
    """
    parts = (hidden * weight).detach().double().cpu()
    count = max(1, min(MASK_COUNT, DRAWN_NUMBERS // len(parts)))
    kept = torch.rand(count, len(parts), generator=random) >= rate
    sums = (kept.double() @ parts) / (1 - rate) + bias
    deviation = sqrt(rate / (1 - rate) * float(parts.square().sum()))
    return MaskedSum(float(parts.sum()) + bias, bias, sums, deviation)


# --- The panel


def show_dropout_masks(scene: Scene) -> None:
    """Shows the mask of an example, and the distribution of one result under other masks."""
    cell = next(cell for cell in scene.circuit.cells if cell.name == "drop")
    before, after = (scene.trace.values[v.id].detach() for v in (*cell.inputs, *cell.outputs))
    at, to = EXAMPLE.among(len(before)), RESULT.among(scene.settings["k"])
    rate = float(RATES[scene.settings["p"]])
    found = cached_value(
        "masked sum",
        scene.term,
        *(*scene.run_key, rate, at, to),
        make=lambda: scene.run_in_pool(lambda: _result(scene, before[at], to, rate)),
    )
    sliders = EXAMPLE.html(f"example {at + 1}", len(before), at) + RESULT.html(
        f"result {to + 1}", scene.settings["k"], to
    )
    html = (
        f'<div class="told">{sliders}</div>'
        '<div style="display:flex;flex-wrap:wrap;gap:0.6rem 2rem;align-items:flex-start">'
        f"<div>{_rows(scene, before[at], after[at])}</div>"
        f'<div style="flex:1 1 20rem">{_chart(scene, found, rate)}</div></div>'
        f'<p class="muted">{numbers_origin(scene)}</p>'
    )
    html_panel.render(html, "dropout masks", DROPOUT_MASKS.controls)


DROPOUT_MASKS = Panel("Masks", show_dropout_masks, controls=(EXAMPLE, RESULT), follows_moves=True)


def _result(scene: Scene, hidden: Tensor, to: int, rate: float) -> MaskedSum:
    weights = dict(scene.module.named_parameters())
    row, bias = weights["W_2.weight"][to], float(weights["W_2.bias"][to].detach())
    return masked_sum(hidden, row, bias, rate, generator(scene.seed, "masks"))


def _rows(scene: Scene, before: Tensor, after: Tensor) -> str:
    """Returns a row for each hidden unit: before, its mask, and after."""
    longest = float(torch.stack((before, after)).abs().max()) or 1.0
    colour, body = markup.colour("activate", scene.dark), []
    for i, (one, two) in enumerate(zip(before.tolist(), after.tolist(), strict=True)):
        if i == MAX_ROWS:
            break
        factor = two / one if one else None
        mask = "–" if factor is None else markup.digits(factor)
        left = factor == 0
        body.append(
            f'<tr class="{"muted" if left else ""}"><td class="number">{i + 1}</td>'
            f'<td class="number">{markup.digits(one)}</td><td class="number">{mask}</td>'
            f'<td class="number">{"left out" if left else markup.digits(two)}</td>'
            f"<td>{markup.meter(two / longest, colour)}</td></tr>"
        )
    more = f"<p>The first {MAX_ROWS} of {len(before)} units.</p>" if len(before) > MAX_ROWS else ""
    return markup.table(("unit", "before", "×", "after", ""), body, numbers=(0, 1, 2, 3)) + more


def _chart(scene: Scene, found: MaskedSum, rate: float) -> str:
    """Returns the results under many masks, and what evaluation has to do with them."""
    sums, unscaled = found.under_masks, found.unscaled_mean(rate)
    low = min(float(sums.min()), unscaled, found.full_sum)
    high = max(float(sums.max()), unscaled, found.full_sum)
    if low == high:  # such as a result that no unit reaches
        low, high = low - 1, high + 1
    counts = [int(n) for n in torch.histc(sums, BINS, low, high)]
    marks = {"not divided": unscaled, "evaluation": found.full_sum}
    colour = markup.colour("activate", scene.dark)
    chart = bin_chart(f"The result under {len(sums):,} masks", counts, (low, high), marks, colour)
    digits = markup.digits
    evaluation = (
        "Here nothing is left out, as after training. " if scene.settings["mode"] == EVAL else ""
    )
    return (
        f"{chart}<p>{evaluation}A unit is left out with a chance of p = {rate:g}; what is kept is "
        f"divided by 1 − p = {1 - rate:g}. So the mean under all masks, <b>{digits(found.mean)}"
        f"</b>, is what evaluation gives, <b>{digits(found.full_sum)}</b>, but for chance. If "
        f"nothing were divided it would be {digits(unscaled)}: what comes next would be given "
        "other numbers after training than it learned from.</p><p>The masks scatter the result by "
        f"{digits(found.deviation)}; √(p / (1 − p) · Σ (w h)²) = "
        f"{digits(found.expected_deviation)}. In this step the weights of a unit that is left out, "
        "in W₁ and in W₂, get no gradient from this example.</p>"
    )
