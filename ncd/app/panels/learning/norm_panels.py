"""Batch norm beside layer norm, and layer norm by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isfinite
from operator import le

import streamlit as st
import torch
from torch import Tensor, nn

from ncd.app.parts import map_component
from ncd.app.parts.log_chart import one_below_another
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state import selection
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Place, Range
from ncd.explain.equation_proof import max_difference
from ncd.run.seeding import generator
from ncd.site import markup

# --- The Statistics panel: batch norm in training and in evaluation, beside layer norm

STEPS = 40  # the number of batches for the running mean
MOMENTUM = 0.1  # torch's default
MAX_CHANNELS = 8  # the greatest number of channels that are shown
LARGEST = (64, 32, 32, 32)  # images, channels, rows, columns: the ends of the sliders
GAMMA, BETA = Range("gamma", range(31), 10), Range("beta", range(-20, 21), 0)  # in tenths
WIDE, TALL = 360, 130  # of the chart
COLOURS = ("#4a7ba7", "#a8597b", "#6f8f3a", "#b0762c")
AVERAGED_AXES = {"batch norm": "b,x", "layer norm": "c"}

Moments = tuple[tuple[float, float], ...]  # mean and deviation: before, by batch and by layer norm


@dataclass(frozen=True)
class NormStatistics:
    """Statistics of each channel before and after both norms, and of three experiments.

    ``places`` are the statistics over the channels, at the first pixel of each image. ``running``
    is the running mean after each batch, (steps, channels).
    """

    channels: tuple[Moments, ...]
    places: tuple[Moments, ...]
    running: tuple[tuple[float, ...], ...]
    means: tuple[float, ...]
    train: float
    use: float
    bias: float


def show_norm_statistics(scene: Scene) -> None:
    """Shows the statistics of every channel, a chart of the running mean, and three experiments."""
    gamma, beta = (control.number / 10 for control in (GAMMA, BETA))
    key = (*scene.run_key, gamma, beta)
    found = cached_value(
        "batch statistics",
        scene.term,
        *key,
        make=lambda: scene.run_in_pool(
            lambda: statistics(scene.inputs[0], scene.seed, gamma, beta)
        ),
    )
    sliders = GAMMA.html(f"γ = {markup.digits(gamma)}") + BETA.html(f"β = {markup.digits(beta)}")
    head = f"{_buttons()}{sliders}{_statistics_table(found)}"
    map_component.render(
        "statistics", NORM_STATISTICS.controls, _pick, head=head, foot=_experiments(scene, found)
    )


NORM_STATISTICS = Panel("Statistics", show_norm_statistics, controls=(GAMMA, BETA))


def _pick(name: str, value: str) -> None:
    if name == selection.AXES:
        st.session_state[selection.AXES] = value


def statistics(x: Tensor, seed: int, gamma: float, beta: float) -> NormStatistics:
    """Runs torch's norms on images ``b c h w``, with this γ and β for every channel.

    It draws ``STEPS`` further batches of this shape, so the shape is cut to at most ``LARGEST``.
    """
    x = x[tuple(map(slice, LARGEST))].detach().cpu()
    channels = x.shape[1]
    offsets = 2 * torch.randn(channels, generator=generator(seed, "offsets"))
    layer = nn.BatchNorm2d(channels, momentum=MOMENTUM)
    nn.init.constant_(layer.weight, gamma)
    nn.init.constant_(layer.bias, beta)
    random, running = generator(seed, "batches"), []
    with torch.no_grad():
        shifted = x + offsets[:, None, None]
        y = layer(shifted)
        other = gamma * nn.functional.layer_norm(shifted.movedim(1, -1), (channels,)) + beta
        arrays = (shifted, y, other.movedim(-1, 1))
        bias = torch.randn(channels, generator=random)[:, None, None]
        moved = max_difference(layer(shifted + bias), y)
        layer.reset_running_stats()
        for _ in range(STEPS):
            batch = torch.randn(x.shape, generator=random) + offsets[:, None, None]
            layer(batch)
            mean = layer.get_buffer("running_mean")
            running.append(tuple(mean.tolist()[:MAX_CHANNELS]))
        one = torch.cat((shifted[:1], batch[1:]))
        train = max_difference(layer(shifted)[0], layer(one)[0])
        layer.eval()
        use = max_difference(layer(shifted)[0], layer(one)[0])
    means = tuple(offsets.tolist()[:MAX_CHANNELS])
    every = tuple(zip(*(_moments(a.transpose(0, 1).flatten(1)) for a in arrays), strict=True))
    places = tuple(zip(*(_moments(a.flatten(2)[..., 0]) for a in arrays), strict=True))
    return NormStatistics(every, places, tuple(running), means, train, use, moved)


def _moments(x: Tensor) -> Moments:
    """Returns the mean and deviation of each row."""
    pairs = zip(x.mean(1).tolist(), x.std(1, correction=0).tolist(), strict=True)
    return tuple(pairs)[:MAX_CHANNELS]


def _buttons() -> str:
    lit = str(st.session_state.get(selection.AXES, ""))
    buttons = "".join(
        f'<button type="button" class="plain" aria-pressed="{str(lit == axes).lower()}" '
        f'data-pick="{selection.AXES}={axes}">what {name} averages over: '
        f"{axes.replace(',', ' and ')}</button> "
        for name, axes in AVERAGED_AXES.items()
    )
    return f"<p>Light {buttons}</p>"


def _statistics_table(found: NormStatistics) -> str:
    """Returns a table of each norm's statistics, over a channel or over a position."""
    head = (
        "",
        "mean before",
        "deviation",
        "by batch norm",
        "deviation",
        "by layer norm",
        "deviation",
    )
    parts = (
        ("Each channel, over all images and places", "c", found.channels),
        ("The first place of each image, over all channels", "b", found.places),
    )
    return "".join(
        f"<h2>{title}</h2>{markup.table(head, _rows(name, every), numbers=range(1, 7))}"
        for title, name, every in parts
    )


def _rows(name: str, every: tuple[Moments, ...]) -> list[str]:
    return [
        f"<tr><td><i>{name}</i> = {i}</td>"
        f"{''.join(_number(number) for pair in moments for number in pair)}</tr>"
        for i, moments in enumerate(every)
    ]


def _number(number: float) -> str:
    small = 0.0 if abs(number) < 5e-4 else number
    return f'<td class="number">{f"{small:.3f}".replace("-", "−")}</td>'


def _experiments(scene: Scene, found: NormStatistics) -> str:
    return (
        f"<h2>The running mean</h2>{chart(found)}"
        f"<p>After each of {STEPS} batches, the running mean of a channel moves a tenth of the way "
        "to the batch’s own mean; dashed is the mean that the batches are drawn with.</p>"
        "<h2>What else is in the batch</h2>"
        f"<p>The first image in two batches: in training its output differs by up to "
        f"<b>{markup.digits(found.train)}</b>, in use by <b>{markup.digits(found.use)}</b>.</p>"
        "<h2>A bias before it</h2><p>A bias of its own added to every channel changes the output "
        f"by at most <b>{markup.digits(found.bias)}</b>: rounding. The mean takes it away.</p>"
        '<p class="muted">Each channel of the images is shifted by a number of its own, '
        f"from seed {scene.seed}, so that there is something to see. {_cut(scene)}"
        f"{numbers_origin(scene)}</p>"
    )


def _cut(scene: Scene) -> str:
    """Returns a sentence about the part of the images that is used, if not all."""
    if all(map(le, scene.inputs[0].shape, LARGEST)):
        return ""
    return f"Of the images at most {' × '.join(map(str, LARGEST))} numbers are taken. "


def chart(found: NormStatistics) -> str:
    """The running mean of the first channels over the steps, as SVG."""
    count = min(len(COLOURS), len(found.means))
    numbers = [*found.means[:count], *(n for step in found.running for n in step[:count]), 0.0]
    low, high = min(numbers), max(numbers)

    def place(value: float) -> float:
        return 8 + (TALL - 16) * (high - value) / (high - low)

    labels = one_below_another([place(mean) for mean in found.means[:count]], TALL - 4)
    lines = "".join(_line(found, c, place, labels[c]) for c in range(count))
    zero = f'<path d="M0 {place(0):.1f}H{WIDE}" stroke="currentColor" opacity="0.3"/>'
    return (
        f'<svg viewBox="0 0 {WIDE + 60} {TALL}" width="{WIDE + 60}" height="{TALL}" role="img" '
        f'style="max-width:100%" aria-label="Running means over {STEPS} batches">'
        f"{zero}{lines}</svg>"
    )


def _line(found: NormStatistics, c: int, place: Callable[[float], float], label: float) -> str:
    values = [0.0, *(step[c] for step in found.running)]
    points = " ".join(f"{WIDE * i / STEPS:.1f},{place(v):.1f}" for i, v in enumerate(values))
    goal, colour = place(found.means[c]), COLOURS[c]
    return (
        f'<path d="M0 {goal:.1f}H{WIDE}" stroke="{colour}" stroke-dasharray="4 4" opacity="0.8"/>'
        f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="1.8"/>'
        f'<text x="{WIDE + 6}" y="{label + 4:.1f}" font-size="12" fill="currentColor">'
        f"c = {c}</text>"
    )


# --- The By hand panel: layer norm with the biased and the unbiased variance, against torch's

POSITION = Place("position")
MAX_FEATURES = 12  # the greatest number of features that are shown
EPS = 1e-5

Numbers = tuple[float, ...]


@dataclass(frozen=True)
class Norms:
    """One position's numbers, mean and both variances, and the results of each way."""

    x: Numbers
    mean: float
    biased_variance: float
    unbiased_variance: float
    torch: Numbers
    rows: tuple[Numbers, Numbers]  # by hand, with the biased and the unbiased variance
    differences: tuple[float, float]  # from torch's, over all positions


def show_norm_by_hand(scene: Scene) -> None:
    """Shows the statistics of the chosen position, and three ways to normalise it."""
    size = scene.settings["t"]
    at = POSITION.among(size)
    key = (*scene.run_key, at)
    found = cached_value(
        "norms", scene.term, *key, make=lambda: scene.run_in_pool(lambda: norms(scene, at))
    )
    slider = POSITION.html(f"position t = {at}", size, at)
    map_component.render(
        "by hand", NORM_BY_HAND.controls, head=slider + _by_hand_table(scene, found)
    )


NORM_BY_HAND = Panel("By hand", show_norm_by_hand, controls=(POSITION,), follows_moves=True)


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
        _first_features(row),
        float(row.mean()),
        total / m,
        total / (m - 1) if m > 1 else float("nan"),
        _first_features(theirs[at]),
        (_first_features(hand[0][at]), _first_features(hand[1][at])),
        (one, two),
    )


def _first_features(row: Tensor) -> Numbers:
    return tuple(row[:MAX_FEATURES].tolist())


def _by_hand_table(scene: Scene, found: Norms) -> str:
    m = scene.settings["m"]
    rows = (
        _row("x", found.x, None),
        _row("nn.LayerNorm", found.torch, None),
        _row("by hand, biased", found.rows[0], found.differences[0]),
        _row("by hand, unbiased", found.rows[1], found.differences[1]),
    )
    n = len(found.x)
    more = f" The first {n} of {m} features." if m > n else ""
    head = ("", *map(str, range(n)), "apart from torch’s")
    return (
        f"<p>Mean {markup.digits(found.mean)}; variance "
        f"{markup.digits(found.biased_variance)} over m = {m}"
        f" (biased), {_number_or_undefined(found.unbiased_variance)} over m − 1 = {m - 1} "
        f"(unbiased).{more}</p>"
        f"{markup.table(head, rows, numbers=range(1, n + 2))}"
        f'<p class="muted">ε = 10⁻⁵ keeps the root from zero. Apart: the largest difference in any '
        f"position. gamma is 1 and beta 0, as before training. {numbers_origin(scene)}</p>"
    )


def _number_or_undefined(number: float) -> str:
    return markup.digits(number) if isfinite(number) else "not defined"


def _row(name: str, numbers: Numbers, apart: float | None) -> str:
    cells = "".join(f'<td class="number">{_cell(number)}</td>' for number in numbers)
    last = "" if apart is None else _number_or_undefined(apart)
    return f'<tr><td>{name}</td>{cells}<td class="number">{last}</td></tr>'


def _cell(number: float) -> str:
    return "–" if number != number else f"{number:.3f}".replace("-", "−")
