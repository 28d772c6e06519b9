"""The Unrolled panel: a recurrence step by step, and how much of a gradient comes back so far."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial

import torch

from ncd.app.figure.diagram import terms_in_a_row
from ncd.app.parts import html_panel
from ncd.app.parts.log_chart import ChartLine, log_chart
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state import knobs
from ncd.app.state.cache import cached_value
from ncd.run.module import CircuitModule
from ncd.run.seeding import generator
from ncd.site import markup
from ncd.systems.recurrent.plain_recurrence import GAINS, unrolled_rnn

COLOURS = ("#3d6fb6", "#2f958f", "#7a9a3a", "#c9732b", "#9a5fb0")  # of each of ``GAINS``
MOST_STEPS = 3  # that are drawn one by one
LOST_FACTOR = 100  # times smaller or larger than at the last position: vanished or exploded


def gradient_reach(module: CircuitModule, x: torch.Tensor, seed: int) -> tuple[float, ...]:
    """Returns the size of the gradient at each input, as a share of that at the last one.

    The gradient is standard normal at the last state, where it begins.

    >>> import ncd
    >>> module = ncd.compile(ncd.catalogue["rnn"].build(t=3, gain=0), seed=0)
    >>> shares = gradient_reach(module, torch.randn(3, 16), seed=0)
    >>> shares[0] < shares[1] < shares[2] == 1
    True
    """
    x = x.detach().clone().requires_grad_()
    with torch.enable_grad():
        last = module(x)[-1]
    begin = torch.randn(last.shape, generator=generator(seed, "gradients")).to(last)
    (gradient,) = torch.autograd.grad(last, x, begin)
    sizes = gradient.double().norm(dim=1)
    shares: list[float] = (sizes / sizes[-1]).tolist()
    return tuple(shares)


def show_gradient_reach(scene: Scene) -> None:
    """Shows the first steps one after the other, and the gradient at every position."""
    chosen = scene.settings["gain"]
    every = range(len(GAINS)) if scene.is_quick else (chosen,)
    found = {kind: _reach(_with_gain(scene, kind)) for kind in every}
    lines = {
        GAINS[kind]: ChartLine(own, COLOURS[kind], kind == chosen) for kind, own in found.items()
    }
    title = "Gradient of the last state at each input"
    chart = log_chart(title, lines, "position", backwards=True)
    html = (
        f"<p>{_steps_sentence(scene)}</p>{_steps_drawing(scene)}"
        f'<div style="display:flex;flex-wrap:wrap;gap:0.4rem 1.6rem;align-items:center">{chart}'
        f"<div>{_table(scene, found)}</div></div>"
        f'<p class="muted">Shares of the gradient at the last position, on a scale of powers of '
        f"ten. {numbers_origin(scene)}</p>"
    )
    html_panel.render(
        html, "unrolled", UNROLLED_STEPS.controls, partial(knobs.apply_pick, scene.entry)
    )


UNROLLED_STEPS = Panel("Unrolled", show_gradient_reach, follows_moves=True)


def _steps_drawing(scene: Scene) -> str:
    """Returns the first steps, one after the other."""
    steps = min(scene.settings["t"], MOST_STEPS)
    return terms_in_a_row(
        (unrolled_rnn(steps, scene.settings["m"], scene.settings["h"]),), "=", scene
    )


def _steps_sentence(scene: Scene) -> str:
    t = scene.settings["t"]
    few = f"the first {MOST_STEPS} of its {t} steps" if t > MOST_STEPS else "its steps"
    return (
        f"The loop unrolled, {few}: each has the same weights. Back from the last state, a "
        "gradient passes the map of the state once for each step."
    )


def _with_gain(scene: Scene, kind: int) -> Scene:
    settings = {**scene.settings, "gain": kind}
    return replace(scene, settings=settings, term=scene.entry.build(**settings))


def _reach(scene: Scene) -> tuple[float, ...]:
    module, x = scene.module, scene.inputs[0]
    return cached_value(
        "gradient reach",
        scene.term,
        *scene.run_key,
        make=lambda: scene.run_in_pool(lambda: gradient_reach(module, x, scene.seed)),
    )


def _table(scene: Scene, found: Mapping[int, tuple[float, ...]]) -> str:
    """Returns what is left at the first position, for each size of the first weights."""
    rows = []
    for kind, own in found.items():
        pressed = str(kind == scene.settings["gain"]).lower()
        rows.append(
            f"<tr><td><span style='color:{COLOURS[kind]}'>●</span> <button type='button' "
            f"class='plain' data-pick='gain={kind}' aria-pressed='{pressed}'>{GAINS[kind]}"
            f"</button></td><td class='number'>{markup.digits(own[0])}</td>"
            f"<td>{verdict(own[0])}</td></tr>"
        )
    return markup.table(("gain", "at position 1", ""), rows, numbers=(1,))


def verdict(share: float) -> str:
    """Returns what has become of a gradient.

    >>> verdict(1e-4), verdict(0.3), verdict(1e5)
    ('vanished', 'arrives', 'exploded')
    """
    if share < 1 / LOST_FACTOR:
        return "vanished"
    return "arrives" if share <= LOST_FACTOR else "exploded"
