"""The state of a Mamba layer while tokens arrive, and the share of each that it still holds."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from ncd.app.panels.language_models.recurrent_states import (
    CHANGE,
    CONTROLS,
    HEAD,
    LONGEST,
    MOST,
    SHOWN,
    TOKEN,
    choices,
    focus,
    gallery,
)
from ncd.app.parts import map_component
from ncd.app.parts.map_component import AxisLabels
from ncd.app.scene import captions
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached
from ncd.circuit.circuit import Cell
from ncd.explain.equation_proof import max_difference
from ncd.site import markup
from ncd.systems.recurrent.selective_state import INPUTS, RATES, READS, STEPS, WRITES

SIDES = AxisLabels("feature d", "feature"), AxisLabels("number of its state s", "state number")


@dataclass(frozen=True)
class Layer:
    """One layer's recurrence: h ← decay · h + writes.

    Args:
        steps: The step of each feature at each position, (t, d).
        decays: The factor of the state at each position, (t, d, s).
        writes: What each position adds, (t, d, s).
        states: The state behind each position, (t, d, s).
        apart: How far what is read from the states is from the page's own run.
    """

    steps: Tensor
    decays: Tensor
    writes: Tensor
    states: Tensor
    apart: float


def show_selective_states(scene: Scene) -> None:
    """Shows the state of a layer behind the chosen token, and what it still holds of each."""
    layers = cached(
        "selective states",
        scene.term,
        *scene.run_key,
        make=lambda: scene.run_in_pool(partial(watched, scene)),
    )
    number = HEAD.among(len(layers))
    layer, t = layers[number], len(layers[number].states)
    at, change = TOKEN.among(t, t - 1), SHOWN.value == CHANGE
    before = torch.cat((torch.zeros_like(layer.states[:1]), layer.states[:-1]))
    pictures = layer.states - before if change else layer.states
    more = HEAD.html(f"layer {number + 1}", len(layers), number)
    map_component.render(
        "selective states",
        SELECTIVE_STATES.controls,
        head=choices(at, t, more, scene),
        side=gallery(pictures, at),
        map=focus(pictures, at, change, *SIDES),
        aside=_told(scene, layer, at),
    )


SELECTIVE_STATES = Panel("State", show_selective_states, controls=CONTROLS)


def watched(scene: Scene) -> list[Layer]:
    """Works out every state from the arrays of the page's run, and compares what is read."""
    return [_layer(scene, cells) for cells in _layers(scene)]


def left(layer: Layer, at: int) -> list[float]:
    """Returns the share of what each token wrote that the state behind token ``at`` still holds.

    The states are sums of what was written, each faded by all later factors; a share compares the
    lengths of the two.
    """
    writes = layer.writes[: at + 1].flatten(1)
    later = layer.decays[1 : at + 1].log().flip(0).cumsum(0).flip(0).exp().flatten(1)
    kept = torch.cat((writes[:-1] * later, writes[-1:]))
    shares: list[float] = (kept.norm(dim=1) / writes.norm(dim=1).clamp_min(1e-30)).tolist()
    return shares


def _layers(scene: Scene) -> list[dict[str, Cell]]:
    """Returns the ops of each layer that its recurrence follows from, by their names."""
    found: list[dict[str, Cell]] = []
    wanted = (STEPS, INPUTS, WRITES, READS, RATES, "skip")
    for cell in scene.circuit.cells:
        name = cell.name or cell.op.display_name.removeprefix("Map ")
        if name == INPUTS:
            found.append({})
        if found and name in wanted:
            found[-1][name] = cell
    return found


def _layer(scene: Scene, cells: dict[str, Cell]) -> Layer:
    """Returns the recurrence of one layer."""
    values = scene.trace.values

    def given(name: str) -> Tensor:
        return values[cells[name].outputs[0].id].detach().float().cpu()

    # the arrays that the skip adds: what the scan read, and the inputs
    read, inputs = (values[x.id].detach().float().cpu() for x in cells["skip"].inputs[:2])
    steps, rates = given(STEPS), given(RATES).exp()
    decays = torch.exp(-steps[..., None] * rates)
    writes = (steps * inputs)[..., None] * given(WRITES)[:, None]
    state, states = torch.zeros_like(writes[0]), []
    for decay, write in zip(decays, writes, strict=True):
        state = decay * state + write
        states.append(state)
    every = torch.stack(states)
    answers = torch.einsum("tds,ts->td", every, given(READS))
    return Layer(steps, decays, writes, every, max_difference(answers, read))


def _told(scene: Scene, layer: Layer, at: int) -> str:
    words = scene.axis_words("t")
    shares, steps = left(layer, at), layer.steps.mean(1).tolist()
    colour = markup.colour("einsum", scene.dark)
    rows = [
        f"<tr><td>{j}{f' {markup.text(words[j])}' if j < len(words) else ''}</td>"
        f'<td class="number">{markup.digits(steps[j])}</td>'
        f'<td>{markup.meter(share, colour, LONGEST)}</td><td class="number">{share:.0%}</td></tr>'
        for j, share in list(enumerate(shares))[::-1][:MOST]
    ]
    table = markup.table(("Token", "Step", "Still in the state", ""), rows, numbers=(1, 3))
    d, s = layer.states.shape[1:]
    return (
        f"<p>A layer keeps {d} × {s} numbers, however long the text is. A large step writes more, "
        "and fades more of what came before; the numbers of a feature fade at different rates.</p>"
        f'{table}<p class="muted">Steps are means over the features. What is read here and in the '
        f"page’s run is {markup.digits(layer.apart)} apart. {captions.numbers_origin(scene)}</p>"
    )
