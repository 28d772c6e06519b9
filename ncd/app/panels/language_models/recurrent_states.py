"""The state of a recurrence after each token."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

import ncd
from ncd.app.parts import heatmap, map_component
from ncd.app.parts.map_component import AxisLabels, Heatmap
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Choice, Place
from ncd.circuit.circuit import Cell
from ncd.explain.colour_scale import ColourRange
from ncd.explain.equation_proof import max_difference
from ncd.language.terms import Term
from ncd.site import markup
from ncd.systems.recurrent.selective_state import INPUTS, RATES, READS, STEPS, WRITES

# --- The State panel: the matrix of a recurrence after each token, and what can be recalled

TOKEN, HEAD = Place("after_token", None), Place("state_head")
CHANGE = "change"
STATE_VIEW = Choice(
    "state_shown", {"state": "the state", CHANGE: "what the token changes"}, default="state"
)
CONTROLS = (TOKEN, HEAD, STATE_VIEW)
MAX_PICTURES = 24  # the greatest number of small pictures, and of tokens with a bar
LONGEST = 8.0  # the longest bar, in em
MATRIX_AXES = (
    AxisLabels("feature of a key", "key feature"),
    AxisLabels("feature of a value", "value feature"),
)


@dataclass(frozen=True)
class RecordedStates:
    """The states after each token (t h k v), the keys and values, and a check of the outputs."""

    states: Tensor
    keys: Tensor
    values: Tensor
    difference: float


def state_pictures(build: Callable[..., Term]) -> Panel:
    """Returns the State panel of a page.

    Args:
        build: The function of the system, which with ``watched`` gives its states as well.
    """
    return Panel("State", partial(show_states, build), controls=CONTROLS)


def show_states(build: Callable[..., Term], scene: Scene) -> None:
    """Shows the state after the chosen token, and what it recalls for each key so far."""
    found = cached_value(
        "states",
        scene.term,
        *scene.run_key,
        make=lambda: scene.run_in_pool(lambda: record_states(scene, build)),
    )
    t, heads = found.states.shape[:2]
    at, head = TOKEN.among(t, t - 1), HEAD.among(heads)
    change = STATE_VIEW.value == CHANGE
    states = found.states[:, head]
    before = torch.cat((torch.zeros_like(states[:1]), states[:-1]))
    pictures = states - before if change else states
    map_component.render(
        "states",
        CONTROLS,
        head=choices(at, t, HEAD.html(f"head {head}", heads, head), scene),
        side=gallery(pictures, at),
        map=focus(pictures, at, change, *MATRIX_AXES),
        aside=_states_summary(scene, found, at, head),
    )


def record_states(scene: Scene, build: Callable[..., Term]) -> RecordedStates:
    """Runs the term with its own weights and inputs, and records every state."""
    with torch.no_grad():
        module = ncd.compile(build(**scene.settings, watched=True), scene.seed, scene.device)
        module.load_state_dict(scene.module.state_dict())
        states, keys, values, out = module(*scene.inputs)
        off = max_difference(out, scene.trace.outputs[0])
    states, keys, values = (x.detach().float().cpu() for x in (states, keys, values))
    return RecordedStates(states, keys, values, off)


def recall(found: RecordedStates, at: int, head: int) -> list[float]:
    """Returns how well the state after a token recalls the value of each key so far.

    It is the cosine of the recalled and the true value: 1 for the same direction, 0 for unrelated
    ones.
    """
    keys, values = found.keys[: at + 1, head], found.values[: at + 1, head]
    answers = keys @ found.states[at, head]
    cosines: list[float] = torch.cosine_similarity(answers, values, dim=-1).tolist()
    return cosines


def choices(at: int, t: int, more: str, scene: Scene) -> str:
    """Returns the slider of the token, another one, and what is shown of a state."""
    words = scene.axis_words("t")
    word = f" ({markup.text(words[at])})" if at < len(words) else ""
    sliders = TOKEN.html(f"after token {at}{word}", t, at) + more
    return f'<div class="told">{sliders}<span>{STATE_VIEW.html()}</span></div>'


def gallery(pictures: Tensor, at: int) -> str:
    """Returns a small picture of every token's state."""
    run = heatmap.visible_range(len(pictures), at, MAX_PICTURES)
    maps = pictures[run.start : run.stop].numpy()
    small = heatmap.pool(maps, heatmap.SMALL).maps
    sheet = heatmap.sprite_sheet(
        small, ColourRange.from_numbers(maps, signed=True), heatmap.scale(signed=True)
    )
    names = [(TOKEN.action(i), str(i)) for i in run]
    return map_component.sprite_buttons(sheet, names, TOKEN.action(at)) + map_component.pager(
        TOKEN.name, run, len(pictures)
    )


def focus(
    pictures: Tensor, at: int, change: bool, rows: AxisLabels, columns: AxisLabels
) -> Heatmap:
    """Returns the picture of one state, or of its change, in the colours of all of them."""
    grid = pictures[at].numpy().astype(np.float32)
    return Heatmap(
        f"state {grid.shape}",
        "The change by a token" if change else "The state after a token",
        heatmap.pool(grid, heatmap.LARGE),
        ColourRange.from_numbers(pictures.numpy(), signed=True),
        rows,
        columns,
        value_label="change" if change else "state",
        square_cells=True,
    )


def _states_summary(scene: Scene, found: RecordedStates, at: int, head: int) -> str:
    numbers = recall(found, at, head)
    rows = [
        f"<tr><td>{j}</td><td>"
        f"{markup.meter(max(number, 0.0), markup.colour('softmax', scene.dark), LONGEST)}"
        f'</td><td class="number">{number:.2f}</td></tr>'.replace("-", "−")
        for j, number in list(enumerate(numbers))[::-1][:MAX_PICTURES]
    ]
    table = markup.table(("Token", "answered", ""), rows, numbers=(2,))
    k, v = found.states.shape[2:]
    return (
        f"<p>The state has {k} × {v} numbers, however long the text is. Asked the key of a token, "
        f"does it answer its value? 1 is the right direction.</p>{table}"
        f'<p class="muted">The outputs of this run and of the page’s are '
        f"{markup.digits(found.difference)} apart. {numbers_origin(scene)}</p>"
    )


# --- The state of a Mamba layer while tokens arrive, and the share of each that it still holds

SELECTIVE_AXES = (
    AxisLabels("feature d", "feature"),
    AxisLabels("number of its state s", "state number"),
)


@dataclass(frozen=True)
class Recurrence:
    """One layer's recurrence: h ← decay · h + writes.

    Args:
        steps: The step of each feature at each position, (t, d).
        decays: The factor of the state at each position, (t, d, s).
        writes: What each position adds, (t, d, s).
        states: The state behind each position, (t, d, s).
        difference: How far what is read from the states is from the page's own run.
    """

    steps: Tensor
    decays: Tensor
    writes: Tensor
    states: Tensor
    difference: float


def show_selective_states(scene: Scene) -> None:
    """Shows the state of a layer behind the chosen token, and what it still holds of each."""
    layers = cached_value(
        "selective states",
        scene.term,
        *scene.run_key,
        make=lambda: scene.run_in_pool(partial(selective_layers, scene)),
    )
    number = HEAD.among(len(layers))
    layer, t = layers[number], len(layers[number].states)
    at, change = TOKEN.among(t, t - 1), STATE_VIEW.value == CHANGE
    before = torch.cat((torch.zeros_like(layer.states[:1]), layer.states[:-1]))
    pictures = layer.states - before if change else layer.states
    more = HEAD.html(f"layer {number + 1}", len(layers), number)
    map_component.render(
        "selective states",
        SELECTIVE_STATES.controls,
        head=choices(at, t, more, scene),
        side=gallery(pictures, at),
        map=focus(pictures, at, change, *SELECTIVE_AXES),
        aside=_selective_summary(scene, layer, at),
    )


SELECTIVE_STATES = Panel("State", show_selective_states, controls=CONTROLS, follows_moves=True)


def selective_layers(scene: Scene) -> list[Recurrence]:
    """Works out every state from the arrays of the page's run, and compares what is read."""
    return [_layer(scene, cells) for cells in _layers(scene)]


def remaining_shares(layer: Recurrence, at: int) -> list[float]:
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


def _layer(scene: Scene, cells: dict[str, Cell]) -> Recurrence:
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
    return Recurrence(steps, decays, writes, every, max_difference(answers, read))


def _selective_summary(scene: Scene, layer: Recurrence, at: int) -> str:
    words = scene.axis_words("t")
    shares, steps = remaining_shares(layer, at), layer.steps.mean(1).tolist()
    colour = markup.colour("einsum", scene.dark)
    rows = [
        f"<tr><td>{j}{f' {markup.text(words[j])}' if j < len(words) else ''}</td>"
        f'<td class="number">{markup.digits(steps[j])}</td>'
        f'<td>{markup.meter(share, colour, LONGEST)}</td><td class="number">{share:.0%}</td></tr>'
        for j, share in list(enumerate(shares))[::-1][:MAX_PICTURES]
    ]
    table = markup.table(("Token", "Step", "Still in the state", ""), rows, numbers=(1, 3))
    d, s = layer.states.shape[1:]
    return (
        f"<p>A layer keeps {d} × {s} numbers, however long the text is. A large step writes more, "
        "and fades more of what came before; the numbers of a feature fade at different rates.</p>"
        f'{table}<p class="muted">Steps are means over the features. What is read here and in the '
        f"page’s run is {markup.digits(layer.difference)} apart. {numbers_origin(scene)}</p>"
    )
