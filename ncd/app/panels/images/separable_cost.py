"""The Cost of both ways panel: a convolution at once beside one in two steps."""

from __future__ import annotations

from ncd.app.parts import html_panel
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state import knobs
from ncd.app.state.controls import slider
from ncd.circuit.circuit import Cell
from ncd.circuit.costs import cost_of
from ncd.circuit.elaborate import elaborate
from ncd.site import markup
from ncd.systems.images.convolution_layers import convolution

KEY = "both ways"


def show_both_ways(scene: Scene) -> None:
    """Shows the weights and the work of both ways, with the formula of their ratio."""
    own = scene.settings
    k, c, f = own["k"], own["c"], own["f"]
    dense = cost_of(elaborate(convolution(k=k, s=own["s"], p=k // 2, x=own["x"], c=c, f=f)))
    first, second = (cell for cell in scene.circuit.cells if cell.op.role == "convolution")
    once = dense.parameters - f  # without the biases, which neither step has
    steps = (_weights(first), _weights(second))
    rows = (
        ("at once", f"{k}²·{c}·{f}", once, dense.flops),
        ("in each channel", f"{k}²·{c}", steps[0], first.flops),
        ("across channels", f"{c}·{f}", steps[1], second.flops),
        ("both steps", f"{k}²·{c} + {c}·{f}", sum(steps), first.flops + second.flops),
    )
    colour = markup.colour("convolution", scene.dark)
    body = [
        f'<tr><td>{name}</td><td class="number">{formula}</td><td class="number"><b>{count:,}</b>'
        f'</td><td class="number">{flops:,}</td>'
        f"<td>{markup.share_bar(count / max(once, sum(steps)), colour)}</td></tr>"
        for name, formula, count, flops in rows
    ]
    table = markup.table(("", "weights", "number", "FLOPs", ""), body, numbers=(1, 2, 3))
    sliders = f'<div style="max-width:24rem">{_sliders(scene)}</div>'
    html = f"{sliders}{table}{_ratio(k, f, once, sum(steps))}"
    html_panel.render(html, KEY, on_pick=lambda picked: _pick(scene, picked))


BOTH_WAYS = Panel("Cost of both ways", show_both_ways, needs_run=False, follows_moves=True)


def _weights(cell: Cell) -> int:
    return sum(value.array.numel for value in cell.initial_values.values())


def _sliders(scene: Scene) -> str:
    """Returns the knobs that the count depends on."""
    return "".join(
        slider(f"{knob.help} {now}", knob.name, range(knob.min, knob.max + 1), now)
        for knob in scene.entry.knobs
        if knob.name in "kcf" and (now := scene.settings[knob.name])
    )


def _pick(scene: Scene, picked: str) -> None:
    """Sets a knob; a callback."""
    name, _, value = picked.partition("=")
    knob = next((knob for knob in scene.entry.knobs if knob.name == name), None)
    if knob is not None and value.isascii() and value.isdecimal() and len(value) < 6:
        knobs.set_values({name: knob.legal(int(value))})


def _ratio(k: int, f: int, once: int, apart: int) -> str:
    """Returns the share of the two steps, as numbers and as the formula that follows from them."""
    more = "fewer" if apart < once else "more"
    times = f"{max(apart, once) / min(apart, once):.3g} times {more}"
    return (
        f"<p>{apart:,} / {once:,} = 1/<i>f</i> + 1/<i>k</i>² = 1/{f} + 1/{k**2} = "
        f"<b>{100 * apart / once:.3g} %</b>: {times}. "
        "The number of channels that go in has no part in it.</p>"
    )
