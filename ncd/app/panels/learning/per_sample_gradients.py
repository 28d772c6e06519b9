"""The Per sample panel: the gradient of each example, and their sum."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.func import functional_call, grad, vmap

import ncd
from ncd.app.panels.learning.two_codes import refuse
from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, with_tooltip
from ncd.app.state.cache import cached_value
from ncd.errors import LimitError, NCDError
from ncd.explain.equation_proof import max_difference
from ncd.run.limits import Limits
from ncd.site import markup
from ncd.systems.training.module_or_functional import Weights, houses, loss_of, network

MAX_EXAMPLES = 64  # the greatest number of examples
WIDEST = 10.0  # the longest bar, in em
BAR = "var(--st-primary-color)"
CODE = "vmap(grad(loss_of), in_dims=(None, None, 0, 0))(weights, model, x, y)"


@dataclass(frozen=True)
class Samples:
    """For each example: answer, prediction, loss, gradient norm, and share of the mean gradient.

    A share is the part of the mean gradient that an example contributes along its direction; the
    shares sum to 1. ``norm`` is the norm of the mean gradient, and ``gradient_difference`` its
    difference from the gradient of the batch.
    """

    answers: tuple[float, ...]
    predictions: tuple[float, ...]
    losses: tuple[float, ...]
    norms: tuple[float, ...]
    shares: tuple[float, ...]
    norm: float
    gradient_difference: float


def show_per_sample_gradients(scene: Scene) -> None:
    """Shows a row for each example, and the sum of the gradients."""
    try:
        found = cached_value(
            "per sample",
            scene.term,
            *scene.weights_key,
            make=lambda: scene.run_in_pool(lambda: samples(scene)),
        )
    except NCDError as error:
        refuse(error)
        return
    html_panel.render(_code() + _table(found) + _summary_html(scene, found), "per sample")


PER_SAMPLE_GRADIENTS = Panel("Per sample", show_per_sample_gradients, follows_moves=True)


def samples(scene: Scene) -> Samples:
    """Computes the gradient of every example separately, and that of the batch.

    Raises SizeError if there are too few features in the data, LimitError for too many weights.
    """
    settings, seed = scene.settings, scene.seed
    own = houses(settings["i"], seed)
    model = ncd.compile(network(settings, 1), seed)
    held = dict(scene.module.named_parameters()) or dict(model.named_parameters())
    weights = {name: w.detach().cpu() for name, w in held.items()}
    count = min(settings["b"], MAX_EXAMPLES, len(own.inputs))
    _check(weights, count)
    x, y = own.inputs[:count, None], own.targets[:count, None]
    each = vmap(grad(loss_of), in_dims=(None, None, 0, 0))(weights, model, x, y)
    batch = grad(loss_of)(weights, model, x, y)
    with torch.no_grad():
        found = functional_call(model, weights, (x,))
    return _gradient_summary(y.flatten(), found.flatten(), _flat(each, count), _flat(batch, 1)[0])


def _check(weights: Weights, count: int) -> None:
    need, most = 12 * count * sum(w.numel() for w in weights.values()), Limits.from_environment()
    if need > most.bytes:
        raise LimitError(
            f"the gradients of {count} examples take {need:,} bytes of memory, and the limit "
            f"NCD_MAX_BYTES is {most.bytes:,}",
            cure="a smaller h",
        )


def _flat(gradients: Weights, count: int) -> Tensor:
    """Returns all gradients of each example as one row."""
    return torch.cat([g.reshape(count, -1) for g in gradients.values()], 1)


def _gradient_summary(answers: Tensor, found: Tensor, each: Tensor, batch: Tensor) -> Samples:
    mean = each.mean(0)
    along = each @ mean / (mean.square().sum() * len(each))
    return Samples(
        tuple(answers.tolist()),
        tuple(found.tolist()),
        tuple((found - answers).square().tolist()),
        tuple(each.norm(dim=1).tolist()),
        tuple(along.nan_to_num().tolist()),
        float(mean.norm()),
        max_difference(mean, batch),
    )


# --- as HTML -------------------------------------------------------------------------------------


def _code() -> str:
    return (
        f"<p><code>{markup.text(CODE)}</code> takes the gradient of one example, and "
        "<code>vmap</code> lets that pass over all, as in the module’s diagram the wire <i>b</i> "
        "runs straight over both maps. <code>backward()</code> leaves only their mean.</p>"
    )


def _table(found: Samples) -> str:
    longest = max(found.norms) or 1.0
    columns = zip(
        found.answers, found.predictions, found.losses, found.norms, found.shares, strict=True
    )
    rows = [
        f'<tr><td class="number">{n}</td>{"".join(map(_number, (answer, said, loss)))}'
        f"<td>{markup.meter(norm / longest, BAR, WIDEST)} {markup.digits(norm)}</td>"
        f'<td class="number">{_percent(share)}</td></tr>'
        for n, (answer, said, loss, norm, share) in enumerate(columns)
    ]
    head = ("b", "answer", "prediction", "loss", "norm of its gradient", "share of the mean")
    return markup.table(head, rows, numbers=(0, 1, 2, 3, 5))


def _number(number: float) -> str:
    return f'<td class="number">{f"{number:.3f}".replace("-", "−")}</td>'


def _percent(share: float) -> str:
    return f"{share:.1%}".replace("-", "−")


def _summary_html(scene: Scene, found: Samples) -> str:
    count, total = len(found.norms), sum(found.norms)
    kept = found.norm * count / total if total else 0.0
    share = with_tooltip(
        "share", "how far it goes along the mean gradient, of what all go together"
    )
    weights = (
        scene.loaded_weights.summary
        if scene.loaded_weights
        else f"drawn from seed {scene.seed}, untrained"
    )
    more = "" if scene.settings["b"] == count else f" The first {count} of them."
    return (
        "<p>Their mean is the gradient of the whole batch: "
        f"<b>{markup.digits(found.gradient_difference)}</b> "
        f"from what one backward pass over all gives. The norms sum to {markup.digits(total)}, "
        f"but the gradients sum to one of norm {markup.digits(found.norm * count)}: {kept:.0%} is "
        f"left, as they pull in different directions. An example with a negative {share} pulls "
        "against the rest.</p>"
        f'<p class="muted">Weights {markup.text(weights)}, on the first examples that are learned '
        f"from.{more} Train both in <b>Side by side</b>, and see what is left of them.</p>"
    )
