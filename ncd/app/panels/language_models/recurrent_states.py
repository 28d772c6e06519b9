"""The State panel: the matrix of a recurrence after each token, and what can be recalled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from torch import Tensor

import ncd
from ncd.app.parts import heatmap, map_component
from ncd.app.parts.heatmap import ColourRange
from ncd.app.parts.map_component import AxisLabels, Heatmap
from ncd.app.scene import captions
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached
from ncd.app.state.controls import Choice, Place
from ncd.explain.equation_proof import max_difference
from ncd.language.terms import Term
from ncd.site import markup

TOKEN, HEAD = Place("after_token", None), Place("state_head")
CHANGE = "change"
SHOWN = Choice(
    "state_shown", {"state": "the state", CHANGE: "what the token changes"}, default="state"
)
CONTROLS = (TOKEN, HEAD, SHOWN)
MOST = 24  # the greatest number of small pictures, and of tokens with a bar
LONGEST = 8.0  # the longest bar, in em
SIDES = (
    AxisLabels("feature of a key", "key feature"),
    AxisLabels("feature of a value", "value feature"),
)


@dataclass(frozen=True)
class Watched:
    """The states after each token (t h k v), the keys and values, and a check of the outputs."""

    states: Tensor
    keys: Tensor
    values: Tensor
    apart: float


def state_pictures(build: Callable[..., Term]) -> Panel:
    """Returns the State panel of a page.

    Args:
        build: The function of the system, which with ``watched`` gives its states as well.
    """
    return Panel("State", partial(show_states, build), controls=CONTROLS)


def show_states(build: Callable[..., Term], scene: Scene) -> None:
    """Shows the state after the chosen token, and what it recalls for each key so far."""
    found = cached(
        "states",
        scene.term,
        *scene.run_key,
        make=lambda: scene.run_in_pool(lambda: watched(scene, build)),
    )
    t, heads = found.states.shape[:2]
    at, head = TOKEN.among(t, t - 1), HEAD.among(heads)
    change = SHOWN.value == CHANGE
    states = found.states[:, head]
    before = torch.cat((torch.zeros_like(states[:1]), states[:-1]))
    pictures = states - before if change else states
    map_component.render(
        "states",
        CONTROLS,
        head=choices(at, t, HEAD.html(f"head {head}", heads, head), scene),
        side=gallery(pictures, at),
        map=focus(pictures, at, change, *SIDES),
        aside=_told(scene, found, at, head),
    )


def watched(scene: Scene, build: Callable[..., Term]) -> Watched:
    """Runs the term with its own weights and inputs, and records every state."""
    with torch.no_grad():
        module = ncd.compile(build(**scene.settings, watched=True), scene.seed, scene.device)
        module.load_state_dict(scene.module.state_dict())
        states, keys, values, out = module(*scene.inputs)
        off = max_difference(out, scene.trace.outputs[0])
    states, keys, values = (x.detach().float().cpu() for x in (states, keys, values))
    return Watched(states, keys, values, off)


def recall(found: Watched, at: int, head: int) -> list[float]:
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
    return f'<div class="told">{sliders}<span>{SHOWN.html()}</span></div>'


def gallery(pictures: Tensor, at: int) -> str:
    """Returns a small picture of every token's state."""
    run = heatmap.visible_range(len(pictures), at, MOST)
    maps = pictures[run.start : run.stop].numpy()
    small = heatmap.pool(maps, heatmap.SMALL).maps
    sheet = heatmap.sprite_sheet(
        small, ColourRange.of(maps, signed=True), heatmap.scale(signed=True)
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
        ColourRange.of(pictures.numpy(), signed=True),
        rows,
        columns,
        value_label="change" if change else "state",
        square_cells=True,
    )


def _told(scene: Scene, found: Watched, at: int, head: int) -> str:
    numbers = recall(found, at, head)
    rows = [
        f"<tr><td>{j}</td><td>"
        f"{markup.meter(max(number, 0.0), markup.colour('softmax', scene.dark), LONGEST)}"
        f'</td><td class="number">{number:.2f}</td></tr>'.replace("-", "−")
        for j, number in list(enumerate(numbers))[::-1][:MOST]
    ]
    table = markup.table(("Token", "answered", ""), rows, numbers=(2,))
    k, v = found.states.shape[2:]
    return (
        f"<p>The state has {k} × {v} numbers, however long the text is. Asked the key of a token, "
        f"does it answer its value? 1 is the right direction.</p>{table}"
        f'<p class="muted">The outputs of this run and of the page’s are '
        f"{markup.digits(found.apart)} apart. {captions.numbers_origin(scene)}</p>"
    )
