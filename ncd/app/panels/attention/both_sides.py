"""The words that a hidden position depends on, found by exchanging each of them."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor

from ncd.app.parts import heatmap, map_component
from ncd.app.parts.heatmap import CellGrid, ColourRange
from ncd.app.parts.map_component import AxisLabels, CellFrame, Heatmap
from ncd.app.scene import captions
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene
from ncd.app.state.cache import cached
from ncd.app.state.controls import Place
from ncd.site import markup

MASKED = Place("masked", None)
TEXTS = 128  # that are run at once
MOST = 1_200_000_000  # FLOPs for all of them: some hundredths of a second
LONGEST = 8.0  # the longest bar, in em


def show_both_sides(scene: Scene) -> None:
    """Shows how far a hidden word's vector moves if another word is exchanged."""
    t = len(scene.inputs[0])
    at = MASKED.among(t, t // 2)
    hidden = _hidden(scene, t, at)
    given = *scene.run_key, hidden.start
    make = partial(scene.run_in_pool, lambda: moves(scene, hidden))
    found = cached("both sides", scene.term, *given, make=make)
    words = scene.axis_words("t")
    said = f" ({markup.text(words[at])})" if at < len(words) else ""
    slider = MASKED.html(f"hidden: position {at}{said}", t, at)
    map_component.render(
        "both sides",
        BOTH_SIDES.controls,
        head=f'<div class="told">{slider}</div>',
        map=_map(scene, found, at),
        aside=_told(scene, found, at),
    )


BOTH_SIDES = Panel("Both sides", show_both_sides, controls=(MASKED,))


def _hidden(scene: Scene, t: int, at: int) -> range:
    """Returns the positions that are hidden in turn: all, or of a large model those around one."""
    count = min(t, max(1, MOST // ((t + 1) * max(1, scene.cost.flops))))
    first = min(max(0, at - count // 2), t - count)
    return range(first, first + count)


@torch.no_grad()
def moves(scene: Scene, hidden: range) -> CellGrid:
    """Returns how far the vector of each position moves if one word is exchanged.

    Rows are positions whose own word is hidden (replaced by word 0), columns the exchanged words.
    Rows that are not ``hidden`` have no numbers.
    """
    words, *rest = scene.inputs
    t, v = len(words), scene.settings["v"]
    grid = np.full((t, t), np.nan, np.float32)
    for places in torch.tensor(hidden).split(max(1, TEXTS // (t + 1))):
        texts = torch.cat([_exchanged(words, at, v) for at in places.tolist()])
        out = scene.module(texts, *(x.expand(len(texts), *x.shape) for x in rest))
        every = (out[0] if isinstance(out, tuple) else out).float().chunk(len(places))
        for at, vectors in zip(places.tolist(), every, strict=True):
            grid[at] = (vectors[1:, at] - vectors[:1, at]).norm(dim=-1).cpu().numpy()
    np.fill_diagonal(grid, np.nan)  # the hidden word itself is not there to be exchanged
    return grid


def _exchanged(words: Tensor, at: int, v: int) -> Tensor:
    """Returns the text with one word hidden, then the same with each word exchanged in turn."""
    hidden, places = words.clone(), torch.arange(len(words))
    hidden[at] = 0
    texts = hidden.repeat(len(words) + 1, 1)
    texts[places + 1, places] = (texts[places + 1, places] + 1 + v // 2) % v
    return texts


def _map(scene: Scene, found: CellGrid, at: int) -> Heatmap:
    words = scene.axis_words("t")
    return Heatmap(
        f"both sides {found.shape}",
        "How far a hidden position moves with each other word",
        heatmap.pool(found, heatmap.LARGE),
        ColourRange.of(np.nan_to_num(found), signed=False),
        AxisLabels("hidden word", "hidden word", words, MASKED),
        AxisLabels("word that is exchanged", "exchanged word", words),
        value_label="moves by",
        square_cells=True,
        marks=(CellFrame("row", at),),
    )


def _told(scene: Scene, found: CellGrid, at: int) -> str:
    row, words = np.nan_to_num(found[at]), scene.axis_words("t")
    most, colour = float(row.max()) or 1.0, markup.colour("softmax", scene.dark)
    lines = [
        f"<tr><td>{j}{f' {markup.text(words[j])}' if j < len(words) else ''}</td>"
        + (
            '<td class="muted">hidden</td>'
            if j == at
            else f"<td>{markup.meter(float(n) / most, colour, LONGEST)}</td>"
        )
        + f'<td class="number">{"" if j == at else markup.digits(float(n))}</td></tr>'
        for j, n in enumerate(row)
    ]
    before, after = int((row[:at] > 0).sum()), int((row[at + 1 :] > 0).sum())
    table = markup.table(("Word", "moves it by", ""), lines, numbers=(2,))
    return (
        f"<p>The word at position {at} is hidden. What stands there in the end depends on "
        f"<b>{markup.plural(before, 'word')}</b> before it and <b>{after}</b> behind it; a model "
        f"that writes, such as GPT-2, would depend on those before it only.</p>{table}"
        f'<p class="muted">Measured: every word is exchanged in turn. {_others(found)}'
        f"{captions.numbers_origin(scene)}</p>"
    )


def _others(found: CellGrid) -> str:
    """Returns what the rows without numbers are, if there are any."""
    empty = bool(np.isnan(found).all(1).any()) and len(found) > 1
    return "A row without numbers is measured once its word is near the hidden one. " * empty
