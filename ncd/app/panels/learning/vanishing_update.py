"""The Update panel: weights that a step of training leaves as they are, as it is too small."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import log2

import torch
from torch import Tensor

from ncd.app.panels.learning.number_ranges import FORMAT, backward_module, percent
from ncd.app.parts import html_panel
from ncd.app.parts.bin_chart import bin_chart
from ncd.app.parts.exponent_chart import KEPT, power_of_two
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import FLOAT32, Scene, numbers_origin
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Range
from ncd.run.calculation import number_text
from ncd.run.float_formats import FORMATS, FloatFormat
from ncd.site import markup
from ncd.systems.networks.low_precision_step import BATCHES, SCALES

RATES = (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
RATE = Range("learning_rate", range(len(RATES)), 2)
LOW, HIGH = -30, 4  # powers of two of the chart


@dataclass(frozen=True)
class WeightStep:
    """All weights of a network, and what a step with a learning rate of 1 adds to each."""

    weights: Tensor
    change: Tensor

    def unchanged_share(self, rate: float, format: FloatFormat) -> float:
        """Returns the share of weights that the step leaves as they are, kept in a format."""
        before = format.round(self.weights)
        return float((format.round(before + rate * self.change) == before).float().mean())

    def middle(self) -> tuple[float, float]:
        """Returns the weight whose change is the median, as a share of it, and that change."""
        at = (self.change / self.weights).abs().nan_to_num().median(0).indices
        return float(self.weights[at]), float(self.change[at])


def descent(scene: Scene) -> WeightStep:
    """Returns the step of gradient descent of a scene, in float32.

    The loss is a mean over N examples; the step is that of N / b groups like this one.
    """
    settings, plain = scene.settings, replace(scene, formats=FLOAT32)
    count = BATCHES[settings["n"]] / settings["b"] / SCALES[settings["s"]]

    def make() -> WeightStep:
        back = backward_module(plain.module)
        with torch.no_grad():
            gradients = back(*plain.inputs, torch.ones((), device=scene.device))
        weights = torch.cat([w.detach().flatten() for w in back.parameters()]).cpu()
        return WeightStep(weights, -count * torch.cat([g.flatten() for g in gradients]).cpu())

    return cached_value("descent", scene.term, *plain.run_key, make=lambda: scene.run_in_pool(make))


# --- The panel


def show_update(scene: Scene) -> None:
    """Shows how small the step is beside each weight, and how many weights it leaves unchanged."""
    rate, step = RATES[RATE.number], descent(scene)
    html = (
        f'<div class="told">{RATE.html(f"learning rate {rate:g}")}</div>'
        '<div style="display:flex;flex-wrap:wrap;gap:0.4rem 1.6rem;align-items:flex-start">'
        f'{_chart(step, rate)}<div style="flex:1 1 20rem">{_table(step, rate)}</div></div>'
        f'<p>{UPDATE_TEXT}</p><p class="muted">{numbers_origin(scene)}</p>'
    )
    html_panel.render(html, "update", UPDATE.controls)


UPDATE = Panel("Update", show_update, controls=(RATE, FORMAT), follows_moves=True)
UPDATE_TEXT = (
    "The step is −η times the mean gradient, in float32. A weight that it leaves as it was stays "
    "there for good: the next such step changes nothing either. Therefore the weights are kept in "
    "float32, the <b>master weights</b>, and each step is added to these; the network multiplies "
    "with a copy of them that is rounded."
)


def _chart(step: WeightStep, rate: float) -> str:
    """Returns how many weights have a step of each size, beside half of each format's ε."""
    shares = (rate * step.change / step.weights).abs()
    powers = shares[shares > 0].log2().clamp(LOW, HIGH - 0.1)
    counts = [int(n) for n in torch.histc(powers, HIGH - LOW, LOW, HIGH)]
    kept = sorted(_weight_formats().values(), key=lambda format: format.epsilon)
    marks = {format.name.removeprefix("float8 "): log2(format.epsilon / 2) for format in kept}
    return bin_chart(
        "Step / weight, and half of each ε", counts, (LOW, HIGH), marks, KEPT, power_of_two
    )


def _weight_formats() -> dict[str, FloatFormat]:
    """Returns the formats in which weights are kept: in tf32 they are multiplied only."""
    return {key: format for key, format in FORMATS.items() if key != "tf32"}


def _table(step: WeightStep, rate: float) -> str:
    """Returns a row for each format: the weights that stay, and what becomes of one weight."""
    weight, change = step.middle()
    body = []
    for key, format in _weight_formats().items():
        before = format.round_number(weight)
        after = format.round_number(before + rate * change)
        button = FORMAT.button(key, format.name, key == FORMAT.value)
        body.append(
            f'<tr><td class="unbroken">{button}</td>'
            f'<td class="number">{percent(step.unchanged_share(rate, format))}</td>'
            f'<td class="number">{number_text(before)}</td>'
            f'<td class="number">{number_text(after)}</td></tr>'
        )
    head = (
        "format",
        "unchanged",
        "a weight",
        f"{'+' if change > 0 else '−'} {markup.digits(abs(rate * change))}",
    )
    return markup.table(head, body, numbers=(1, 2, 3))
