"""The bytes that a stack of layers saves against what it calculates twice, with a budget."""

from __future__ import annotations

import plotly.graph_objects as go

from ncd.export import markup
from ncd.run.execution.recompute import segments
from ncd.run.limits.checkpoint_plans import Checkpoints, plans
from ncd.view.arrays import charts
from ncd.view.base import html_panel
from ncd.view.base.cache import remember
from ncd.view.base.controls import slider
from ncd.view.learning import saved_table
from ncd.view.session.scene import Scene

BUDGET = "budget"
FEW = 4  # the greatest number of layers or groups that are named
DOTS = 60  # the greatest number of points that are dots as well
NOTE = (
    "Each point of the curve is the best of all ways to save some layers and to calculate others "
    "again, alone or as a group of neighbours; layers 0, 1 and 2 as one group are 0:3. A group "
    "saves only what it takes. Its own arrays come back all at once in the backward pass, when "
    "those of later layers are already free (Chen et al. 2016, whose √n equal groups are among "
    "these ways)."
)


def show(scene: Scene) -> None:
    """Shows a slider for the budget and the curve; nothing without layers to choose from."""
    every = remember(
        "checkpoints", scene.term, scene.formats, make=lambda: plans(scene.term, scene.formats)
    )
    if len(every) < 2:
        return
    now = _now(scene, every)
    html_panel.show(_html(scene, every, now), "budget", on_pick=lambda picked: _pick(picked, every))
    said = f"Extra FLOPs for each budget, {len(every)} steps; {_words(every, now)}"
    charts.show(curve(every, now), "budget curve", said)


def _now(scene: Scene, every: tuple[Checkpoints, ...]) -> int | None:
    """Returns which choice is in force; None if the switches say something else."""
    found = {*segments(scene.circuit, saved_table.chosen(scene))}
    alike = (
        n
        for n, one in enumerate(every)
        if len(one.recompute) == len(found) and {*segments(scene.circuit, one.recompute)} == found
    )
    return next(alike, None)


def _html(scene: Scene, every: tuple[Checkpoints, ...], now: int | None) -> str:
    one = every[now or 0]
    last = len(every) - 1
    named = f"budget {markup.amount(one.bytes, 'B')}"
    budget = slider(named, BUDGET, range(last + 1), last - (now or 0))
    return (
        f'<h2>Where to save under a budget</h2><div class="told">{budget}</div>'
        f'<p role="status">{_told(scene, every, now)}</p><p class="muted">{NOTE}</p>'
    )


def _told(scene: Scene, every: tuple[Checkpoints, ...], now: int | None) -> str:
    if now is None:
        return "What is recomputed now is no point of the curve. The slider replaces it."
    one, whole = every[now], saved_table.both_passes(scene)
    peak = f"<b>{markup.amount(one.bytes, 'B')}</b> at one time"
    if not one.recompute:
        return f"Every layer is saved: {peak}, and nothing is calculated twice."
    more = len(one.recompute) - FEW
    names = ", ".join(f"<code>{markup.text(name)}</code>" for name in one.recompute[:FEW])
    names += f" and {more} more" if more > 0 else ""
    share = markup.digits(100 * one.flops / whole) if whole else "0"
    between = f", {markup.amount(one.kept, 'B')} between the passes" * (one.kept < one.bytes)
    return (
        f"Calculated again: {names}. {peak}{between}, instead of "
        f"{markup.amount(every[0].bytes, 'B')}, for {share} % more FLOPs in both passes."
    )


def _words(every: tuple[Checkpoints, ...], now: int | None) -> str:
    """Returns the two ends of the curve and the place on it, for a screen reader."""
    first, last = every[-1], every[0]
    at = "" if now is None else f", now {markup.amount(every[now].bytes, 'B')}"
    return (
        f"{markup.amount(first.flops, 'FLOP')} at {markup.amount(first.bytes, 'B')} to none at "
        f"{markup.amount(last.bytes, 'B')}{at}"
    )


def curve(every: tuple[Checkpoints, ...], now: int | None) -> go.Figure:
    """Returns the fewest FLOPs that are spent again at each budget, with the chosen one marked."""
    xs, ys = [one.bytes for one in every], [one.flops for one in every]
    figure = go.Figure()
    look = {"color": charts.COLOURS[0], "width": 2, "shape": "vh"}
    hover = "%{x:.3s}B: %{y:.3s}FLOP<extra></extra>"
    dots = "lines+markers" if len(every) <= DOTS else "lines"
    figure.add_scatter(x=xs, y=ys, mode=dots, line=look, hovertemplate=hover, cliponaxis=False)
    if now is not None:
        mark = {"size": 15, "symbol": "star", "color": "#c0392b"}
        at = {"x": [xs[now]], "y": [ys[now]]}
        figure.add_scatter(**at, mode="markers", marker=mark, hovertemplate=hover, cliponaxis=False)
    axis = {"rangemode": "tozero", "exponentformat": "SI"}
    return figure.update_layout(
        height=charts.HEIGHT,
        showlegend=False,
        margin={"l": 60, "r": 12, "t": 12, "b": 44},
        xaxis={**axis, "title": "saved at one time (B)"},
        yaxis={**axis, "title": "calculated again (FLOP)"},
    )


def _pick(picked: str, every: tuple[Checkpoints, ...]) -> None:
    name, _, value = picked.partition("=")
    if name == BUDGET and value.isdecimal() and len(value) < 4:
        at = max(len(every) - 1 - int(value), 0)
        saved_table.RECOMPUTE.set(every[at].recompute)
