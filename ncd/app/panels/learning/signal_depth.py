"""The Depth panel: how large numbers and gradients are after each layer, for each first weights."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from math import isfinite, sqrt

import torch

import ncd
from ncd.app.parts import html_panel
from ncd.app.parts.log_chart import ChartLine, log_chart
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state import knobs
from ncd.app.state.cache import cached_value
from ncd.run.module import CircuitModule
from ncd.run.seeding import generator
from ncd.site import markup
from ncd.systems.networks.weight_initialisation import ACTIVATIONS, INITS, RELU

COLOURS = ("#3d6fb6", "#2f958f", "#7a9a3a", "#c9732b", "#9a5fb0")  # of each of ``INITS``
LOST_FACTOR = 100  # times smaller or larger at the end than at the start: vanished or exploded


@dataclass(frozen=True)
class SignalDepth:
    """Deviations after each layer; inf or nan where numbers overflow.

    ``activations`` are of the layers' results, and ``gradients`` of the gradients with respect to
    them, if those of the last are standard normal. ``squares`` are the means of the squares that
    go into the first layer and leave the last; ``weight`` is the deviation of the weights.
    """

    activations: tuple[float, ...]
    gradients: tuple[float, ...]
    squares: tuple[float, float]
    weight: float

    @property
    def growth(self) -> float:
        """The mean factor by which a layer makes the root of the mean square larger."""
        first, last = self.squares
        return (last / first) ** (0.5 / len(self.activations)) if first else 0.0


def signal_depth(
    module: CircuitModule, x: torch.Tensor, seed: int, titles: Sequence[str] = ("Layer",)
) -> SignalDepth:
    """Returns the deviations of a run and of its gradients, layer by layer.

    Layers are the blocks that have one of the titles.

    >>> module = ncd.compile(ncd.catalogue["initialisation"].build(n=3, init=3), seed=0)
    >>> found = signal_depth(module, torch.randn(16, 64), seed=0)
    >>> len(found.activations), round(found.gradients[-1]), round(found.weight, 2)
    (3, 1, 0.18)
    """
    layers = [fence for fence in module.circuit.fences if fence.title in titles]
    with torch.enable_grad():
        trace = ncd.trace(module, x)
    values = [trace.values[fence.states[-1][0].id] for fence in layers]
    last = torch.randn(values[-1].shape, generator=generator(seed, "gradients")).to(x)
    gradients = torch.autograd.grad(values[-1], values, last)
    weights = [w.detach().std(correction=0) for w in module.parameters() if w.ndim > 1]
    first, last_square = (
        float(array.detach().double().square().mean()) for array in (x, values[-1])
    )
    return SignalDepth(
        _deviations(values),
        _deviations(gradients),
        (first, last_square),
        float(sum(weights)) / len(weights),
    )


def _deviations(arrays: Sequence[torch.Tensor]) -> tuple[float, ...]:
    return tuple(torch.stack([x.detach().std(correction=0) for x in arrays]).tolist())


# --- The panel


def show_depth(scene: Scene) -> None:
    """Shows both deviations as lines over the layers, with where they end as a table."""
    every = range(len(INITS)) if scene.is_quick else (scene.settings["init"],)
    found = {kind: _depth(_with_init(scene, kind)) for kind in every}
    html = (
        f'<div style="display:flex;flex-wrap:wrap;gap:0.4rem 1.6rem">{_charts(scene, found)}</div>'
        f"{_table(scene, found)}<p>{_reason(scene, found[scene.settings['init']])}</p>"
        f'<p class="muted">{DEPTH_TEXT} {numbers_origin(scene)}</p>'
    )
    html_panel.render(html, "depth", DEPTH.controls, partial(knobs.apply_pick, scene.entry))


DEPTH = Panel("Depth", show_depth, follows_moves=True)
DEPTH_TEXT = (
    "Scales are of powers of ten. The gradient is standard normal where it begins, at the last "
    "layer, and goes back to the first."
)


def _with_init(scene: Scene, kind: int) -> Scene:
    settings = {**scene.settings, "init": kind}
    return replace(scene, settings=settings, term=scene.entry.build(**settings))


def _depth(scene: Scene) -> SignalDepth:
    module, x = scene.module, scene.inputs[0]
    return cached_value(
        "signal depth",
        scene.term,
        *scene.run_key,
        make=lambda: scene.run_in_pool(lambda: signal_depth(module, x, scene.seed)),
    )


def _charts(scene: Scene, found: Mapping[int, SignalDepth]) -> str:
    chosen = scene.settings["init"]
    activations, gradients = (
        {
            INITS[kind]: ChartLine(getattr(own, name), COLOURS[kind], kind == chosen)
            for kind, own in found.items()
        }
        for name in ("activations", "gradients")
    )
    return log_chart("Deviation of what leaves a layer", activations, "layer") + log_chart(
        "Deviation of its gradient, on the way back", gradients, "layer", backwards=True
    )


def _table(scene: Scene, found: Mapping[int, SignalDepth]) -> str:
    """Returns a row for each choice of weights: its deviation, and what is left at both ends."""
    body = []
    for kind, own in found.items():
        pressed = str(kind == scene.settings["init"]).lower()
        numbers = (own.weight, own.activations[-1], own.gradients[0])
        cells = "".join(f'<td class="number">{markup.digits(number)}</td>' for number in numbers)
        body.append(
            f"<tr><td class='unbroken'><span style='color:{COLOURS[kind]}'>●</span> "
            f"<button type='button' class='plain' data-pick='init={kind}' "
            f"aria-pressed='{pressed}'>{INITS[kind]}</button></td>{cells}"
            f"<td>{verdict(own)}</td></tr>"
        )
    n = scene.settings["n"]
    head = ("weights", "σ", f"after layer {n}", "gradient at 1", "")
    return markup.table(head, body, numbers=(1, 2, 3))


def verdict(found: SignalDepth) -> str:
    """Returns what becomes of numbers and gradients on their way, in a few words.

    >>> verdict(SignalDepth((1.0, 1.2), (0.8, 1.0), (1.0, 1.0), 0.1))
    '✓ both arrive'
    >>> verdict(SignalDepth((1.0, 1e-9), (float("inf"), 1.0), (1.0, 1.0), 0.1))
    '✗ numbers vanish, gradients explode'
    """
    ends = {"numbers": found.activations[-1], "gradients": found.gradients[0]}
    lost = {
        what: "vanish" if end < 1 else "explode"
        for what, end in ends.items()
        if not 1 / LOST_FACTOR < end < LOST_FACTOR
    }
    if len(lost) == 2 and len({*lost.values()}) == 1:
        return f"✗ both {lost['numbers']}"
    return f"✗ {', '.join(map(' '.join, lost.items()))}" if lost else "✓ both arrive"


# --- Why it is so


def _reason(scene: Scene, found: SignalDepth) -> str:
    """Returns what a layer does to the size of numbers at these settings."""
    settings = scene.settings
    m, n, activation = settings["m"], settings["n"], ACTIVATIONS[settings["g"]]
    if settings["residual"]:
        return RESIDUAL_TEXT[settings["norm"]]
    if settings["norm"]:
        return NORM_TEXT
    if activation not in ("none", "relu"):
        return BENT_TEXT[activation]
    bent = settings["g"] == RELU
    expected = found.weight * sqrt(m / (2 if bent else 1))
    half = "; a ReLU halves their mean square" if bent else ""
    wanted = f"√(m / 2) σ = √({m} / 2)" if bent else f"√m σ = √{m}"
    measured = f"measured: {markup.digits(found.growth)}" if isfinite(found.growth) else "overflow"
    end = markup.digits(expected**n)
    return (
        f"A map adds up {markup.plural(m, 'product')}, each with a weight of deviation σ{half}. So "
        f"a layer makes numbers {wanted} × {markup.digits(found.weight)} = "
        f"<b>{markup.digits(expected)}</b> times as large ({measured}), and {n} of them make that "
        f"{markup.digits(expected)}<sup>{n}</sup> = <b>{end}</b>."
    )


NORM_TEXT = (
    "A norm makes what a map is given as large as before, whatever the map before it did: the size "
    "of the weights no longer matters. On the way back it divides the gradient by the deviation "
    "that it took away, so that there the weights cancel as well."
)
RESIDUAL_TEXT = (
    "A layer adds its input to its result: numbers and gradients pass unchanged beside the map, "
    "and cannot vanish. But each layer adds to them, and large weights still make them explode.",
    "The norm gives every map numbers of one size, and the sum passes everything on unchanged: "
    "each layer adds about as much as the next, so that numbers grow slowly, and nothing vanishes.",
)
BENT_TEXT = {
    "tanh": (
        "A tanh never gives more than 1, so that numbers cannot explode, whatever the weights are. "
        "A gradient can: it is multiplied by the weights, and by the slope of the tanh, which is 1 "
        "near 0 and almost 0 where its input is large."
    ),
    "gelu": (
        "A GELU is almost a ReLU where its input is large, and halves what is near 0: small "
        "numbers vanish even faster."
    ),
}
