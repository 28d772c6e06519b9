"""Next word: the scores as probabilities, and how the guess forms from layer to layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ncd.app.parts import heatmap, map_component
from ncd.app.parts.map_component import AxisLabels, CellFrame, Heatmap
from ncd.app.scene.panel import Panel, about_output
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Place
from ncd.explain.colour_scale import ColourRange
from ncd.site import markup

POSITION = Place("next_after", None)
BEST = 8  # words in the list
LONGEST = 8.0  # the longest bar, in em


@dataclass(frozen=True)
class Guesses:
    """The probabilities of the next word after each layer, (layers, positions, words)."""

    layers: Tensor

    @property
    def final_probabilities(self) -> Tensor:
        """The probabilities that the model gives, (positions, words)."""
        return self.layers[-1]


def show_next_word(scene: Scene) -> None:
    """Shows the best next words after a position, and what each layer would have guessed."""
    found = cached_value(
        "next word",
        scene.term,
        *scene.run_key,
        make=lambda: scene.run_in_pool(lambda: guesses(scene)),
    )
    t = found.final_probabilities.shape[0]
    at = POSITION.among(t, t - 1)
    word = scene.axis_words("t")
    said = f" ({markup.text(word[at])})" if at < len(word) else ""
    map_component.render(
        "next word",
        NEXT_WORD.controls,
        head=f'<div class="told">{POSITION.html(f"after position {at}{said}", t, at)}</div>',
        map=_map(scene, found, at),
        aside=_summary_html(scene, found, at),
    )


NEXT_WORD = Panel("Next word", show_next_word, controls=(POSITION,), about=about_output)


@torch.no_grad()
def guesses(scene: Scene) -> Guesses:
    """Returns what the last norm and the table of words make of the stream after each layer.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens".
    """
    cells = scene.circuit.cells
    values = scene.trace.values
    sums = [
        cell.outputs[0].id for cell in cells if cell.op.display_name == "Add" and cell.module_path
    ]
    norm = next(cell for cell in cells if cell.name == "ln_f")
    table = scene.module.get_parameter("wte")
    layer = scene.module.get_submodule(norm.path)
    made = [F.linear(layer(values[id]), table).softmax(-1) for id in sums[1::2]]
    return Guesses(torch.stack(made).float().cpu())


def _map(scene: Scene, found: Guesses, at: int) -> Heatmap:
    best = found.final_probabilities.argmax(-1)
    grid = found.layers[:, torch.arange(len(best)), best].numpy().astype(np.float32)
    names = [f"layer {i + 1}" for i in range(len(grid))]
    return Heatmap(
        f"next word {grid.shape}",
        "The probability that each layer gives to the model's guess",
        heatmap.pool(grid, heatmap.LARGE),
        ColourRange.from_numbers(grid, signed=False),
        AxisLabels("after layer", "layer", names),
        AxisLabels("position", "position", scene.axis_words("t"), POSITION),
        value_label="probability",
        marks=tuple(CellFrame("one", row, at) for row in range(len(grid))[-1:]),
    )


def _summary_html(scene: Scene, found: Guesses, at: int) -> str:
    shares, ids = found.final_probabilities[at].topk(min(BEST, found.final_probabilities.shape[-1]))
    colour, most = markup.colour("softmax", scene.dark), float(shares[0])
    named = {i: w for w, i in zip(scene.axis_words("t"), _ids(scene), strict=False)}
    rows = [
        f"<tr><td>{markup.text(named.get(i, f'word {i}'))}</td>"
        f"<td>{markup.meter(share / most, colour, LONGEST)}</td>"
        f'<td class="number">{share:.2%}</td></tr>'
        for share, i in zip(shares.tolist(), ids.tolist(), strict=True)
    ]
    table = markup.table(("Next word", "probability", ""), rows, numbers=(2,))
    even = 1 / found.final_probabilities.shape[-1]
    return (
        f"<p>The scores of a position become probabilities by a softmax. If all words were alike, "
        f"each would have {even:.2%}.</p>{table}"
        "<p>The map shows the model’s guess at every position, and the probability that it already "
        "has after each layer: the last norm and the table of words are applied to what the layers "
        f'have added up so far.</p><p class="muted">{numbers_origin(scene)}</p>'
    )


def _ids(scene: Scene) -> list[int]:
    return [int(i) for i in scene.inputs[0].flatten().tolist()]
