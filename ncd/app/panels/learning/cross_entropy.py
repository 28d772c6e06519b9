"""The loss of one example step by step, and three ways to compute it, two of which overflow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor
from torch.nn import functional as F

from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state import knobs
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Place, Range, slider
from ncd.site import markup
from ncd.systems.networks.cross_entropy_loss import SMOOTHINGS, TEMPERATURES

EXAMPLE = Place("example", None)  # the first one, or the most surprising one
MAX_ROWS = 16  # classes that have a row
LABELS = {"t": "temperature τ", "e": "label smoothing ε"}

# --- The Loss panel: scores, chances, logarithms, what is asked for, and the gradient


@dataclass(frozen=True)
class ExampleLoss:
    """The steps from the scores of one example to its loss; all of shape (classes,).

    ``gradient`` is that of the loss by autograd, and ``torch_loss`` what torch's own function says.
    """

    scores: Tensor
    p: Tensor
    q: Tensor
    gradient: Tensor
    torch_loss: float
    right_class: int

    @property
    def loss(self) -> float:
        """The sum of all −q log p, in 64 bits."""
        return float(-(self.q * self.p.log()).nan_to_num().sum())


def example_loss(scores: Tensor, right: int, temperature: float, smoothing: float) -> ExampleLoss:
    """Returns the steps of a loss, of scores (classes,) and the index of the right class.

    >>> found = example_loss(torch.tensor([2.0, 0.0]), 0, 1.0, 0.0)
    >>> round(found.loss, 4), (found.gradient - (found.p - found.q)).abs().max() < 1e-12
    (0.1269, tensor(True))
    """
    own = scores.detach().double().cpu().requires_grad_()
    with torch.enable_grad():
        loss = F.cross_entropy(own / temperature, torch.tensor(right), label_smoothing=smoothing)
    (gradient,) = torch.autograd.grad(loss, own)
    q = torch.full_like(own, smoothing / len(own)).detach()
    q[right] += 1 - smoothing
    p = (own.detach() / temperature).softmax(0)
    return ExampleLoss(own.detach(), p, q, gradient, float(loss.detach()), right)


def show_loss(scene: Scene) -> None:
    """Shows a row for each class of one example, from its score to its gradient."""
    scores, classes = scene.inputs
    at = EXAMPLE.among(len(scores))
    temperature, smoothing = _settings(scene)
    found = example_loss(scores[at], int(classes[at]), temperature, smoothing)
    sliders = EXAMPLE.html(f"example {at + 1}", len(scores), at) + "".join(
        slider(f"{label} {knob.names[now]}", knob.name, range(len(knob.names)), now)
        for knob in scene.entry.knobs
        if (label := LABELS.get(knob.name)) and (now := scene.settings[knob.name]) >= 0
    )
    html = f'<div class="told">{sliders}</div>{_rows(scene, found)}{_sum(scene, found, at)}'
    html_panel.render(html, "loss", LOSS.controls, partial(knobs.apply_pick, scene.entry))


LOSS = Panel("Loss", show_loss, controls=(EXAMPLE,), follows_moves=True)


def _settings(scene: Scene) -> tuple[float, float]:
    return float(TEMPERATURES[scene.settings["t"]]), float(SMOOTHINGS[scene.settings["e"]])


def _rows(scene: Scene, found: ExampleLoss) -> str:
    """Returns the table; of many classes the likeliest, and the right one."""
    order = found.p.argsort(descending=True)[: MAX_ROWS - 1].tolist()
    chosen = sorted({*order, found.right_class}) if len(found.p) > MAX_ROWS else range(len(found.p))
    warm, cold = (markup.colour(role, scene.dark) for role in ("softmax", "linear"))
    temperature, _ = _settings(scene)
    body = []
    for i in chosen:
        p, q, share = (float(x[i]) for x in (found.p, found.q, found.p - found.q))
        numbers = (float(found.scores[i]) / temperature, p, float(found.p[i].log()), q)
        cells = [markup.digits(number) for number in numbers]
        meter = markup.meter(p, warm)
        part = markup.digits(-q * numbers[2]) if q else "0"
        gradient = markup.meter(abs(share), warm if share > 0 else cold)
        name = f"<b>{i} ✓</b>" if i == found.right_class else str(i)
        body.append(
            f'<tr><td>{name}</td><td class="number">{cells[0]}</td>'
            f'<td class="number">{cells[1]}</td><td>{meter}</td>'
            f'<td class="number">{cells[2]}</td><td class="number">{cells[3]}</td>'
            f'<td class="number">{part}</td>'
            f'<td class="number">{markup.digits(share)}</td><td>{gradient}</td></tr>'
        )
    head = ("class", "a / τ", "p", "", "log p", "q", "− q log p", "p − q", "")
    return markup.table(head, body, numbers=(1, 2, 4, 5, 6, 7))


def _sum(scene: Scene, found: ExampleLoss, at: int) -> str:
    """Returns the loss of the example and of all, beside torch's, and what the gradient is."""
    temperature, smoothing = _settings(scene)
    gap = float((found.gradient - (found.p - found.q) / temperature).abs().max())
    mean = float(scene.trace.outputs[0])
    smooth = f", label_smoothing={smoothing:g}" if smoothing else ""
    scaled = f" / {temperature:g}" if temperature != 1 else ""
    over = f" over τ = {temperature:g}" if temperature != 1 else ""
    same = "✓ the same" if abs(found.loss - found.torch_loss) < 1e-9 else "not the same"
    return (
        f"<p>The loss of example {at + 1} is the sum of the column: <b>{found.loss:.4f}</b>; "
        f"<code>F.cross_entropy(scores{scaled}, class{smooth})</code> gives {same}. The mean of "
        f"all is {mean:.4f}.</p><p>Its gradient is <b>p − q</b>{over}: what is expected, less what "
        f"is asked for. By autograd it is at most {gap:.0e} off, and it sums to 0. "
        f"<span class='muted'>{numbers_origin(scene)}</span></p>"
    )


# --- The Overflow panel: the same loss in three ways, in several formats

TIMES = (1, 10, 30, 100, 300, 1000, 10_000)
SCALE = Range("times", range(len(TIMES)), 3)
FORMATS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
Loss = Callable[[Tensor, Tensor], Tensor]
WAYS: Mapping[str, Loss] = {
    "exp, sum, log": lambda a, right: -(a.exp()[right] / a.exp().sum()).log(),
    "softmax, then log": lambda a, right: -a.softmax(0)[right].log(),
    "cross_entropy": lambda a, right: F.cross_entropy(a, right),
}


LOSS_TEXT = (
    "exp is infinite above 88.7 in float32, and above 11.1 in float16: the share is then 0, or "
    "inf / inf, which is no number. A softmax subtracts the largest score first, so that it never "
    "overflows; but a chance may be too small to be told from 0, and the logarithm of 0 is "
    "infinite. As one op the chance is never made: log p = a − max − log Σ exp(a − max)."
)


def loss_and_gradient(way: str, scores: Tensor, right: int) -> tuple[float, Tensor]:
    """Returns the loss of scores (classes,) in one of the ways, and its gradient.

    >>> [loss_and_gradient(way, torch.tensor([200.0, 0.0]), 1)[0] for way in WAYS]
    [inf, inf, 200.0]
    """
    own = scores.detach().clone().requires_grad_()
    with torch.enable_grad():
        loss = WAYS[way](own, torch.tensor(right))
    (gradient,) = torch.autograd.grad(loss, own)
    return float(loss.detach()), gradient


def show_overflow(scene: Scene) -> None:
    """Shows the loss in three ways and four formats, of scores that are made larger."""
    scores, classes = scene.inputs
    surprise = F.cross_entropy(scores.detach(), classes, reduction="none")
    at = EXAMPLE.among(len(scores), int(surprise.argmax()))
    temperature, _ = _settings(scene)
    times = TIMES[SCALE.number]
    own = scores[at].detach().double().cpu() * times / temperature
    key = (*scene.run_key, at, times)
    body = cached_value("overflow", scene.term, *key, make=lambda: _ways(own, int(classes[at])))
    sliders = SCALE.html(f"scores times {times:,}") + EXAMPLE.html(
        f"example {at + 1}", len(scores), at
    )
    head = ("", *(str(kind).removeprefix("torch.") for kind in FORMATS))
    largest = f"{float(own.max()):,.1f}"
    html = (
        f'<div class="told">{sliders}</div>{markup.table(head, body)}'
        f"<p>The largest score is {largest}. {LOSS_TEXT}</p>"
    )
    html_panel.render(html, "overflow", OVERFLOW.controls)


OVERFLOW = Panel("Overflow", show_overflow, controls=(SCALE, EXAMPLE), follows_moves=True)


def _ways(scores: Tensor, right: int) -> list[str]:
    """Returns a row of the table for each way."""
    return [
        f"<tr><td>{way}</td>"
        + "".join(f"<td>{_result(way, scores.to(kind), right)}</td>" for kind in FORMATS)
        + "</tr>"
        for way in WAYS
    ]


def _result(way: str, scores: Tensor, right: int) -> str:
    loss, gradient = loss_and_gradient(way, scores, right)
    sound = bool(gradient.isfinite().all())
    found = "gradient p − q" if sound else "gradient nan"
    number = f"{loss + 0.0:,.4g}".replace("nan", "nan, no number")
    mark = "✓" if sound and abs(loss) != float("inf") and loss == loss else "✗"
    return f"{mark} <b>{number}</b><br><span class='muted'>{found}</span>"
