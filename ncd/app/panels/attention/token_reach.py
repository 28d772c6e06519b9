"""Panels about the tokens that reach a position: by layer, by window, from both sides."""

from __future__ import annotations

from functools import partial

import numpy as np
import torch
from torch import Tensor

import ncd
from ncd.answers.model_memory import cached_numbers_by_window, layer_windows
from ncd.app.panels.attention.kv_cache import CONTEXT
from ncd.app.parts import heatmap, map_component
from ncd.app.parts.map_component import AxisLabels, CellFrame, Heatmap
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.cache import CACHE, cached_value, get_or_make
from ncd.app.state.controls import Place
from ncd.circuit.costs import cached_numbers, in_bytes
from ncd.explain.colour_scale import CellGrid, ColourRange
from ncd.language.number_formats import PLAIN_FORMATS
from ncd.run.seeding import generator
from ncd.site import markup

# --- The Reach panel: which tokens influence a position, measured layer by layer

UP_TO, AT = Place("up_to_layer", None), Place("reach_from", None)
POSITIONS, LAYERS = 64, 8  # the greatest numbers that are measured
REACH_SIZES = {"h": 1, "k": 4}  # the reach does not depend on these sizes
MIN_CHANGE = 1e-12  # smaller changes are rounding errors


def show_token_reach(scene: Scene) -> None:
    """Shows after how many layers each token influences each position."""
    n, t = min(scene.settings["n"], LAYERS), min(scene.settings["t"], POSITIONS)
    found = reach(scene, n, t)
    layers, at = UP_TO.among(n, n - 1) + 1, AT.among(t, t - 1)
    felt = np.where(found <= layers, found, np.nan).astype(np.float32)
    sliders = UP_TO.html(f"after layer {layers} of {n}", n, layers - 1)
    sliders += AT.html(f"at position {at}", t, at)
    map_component.render(
        "reach",
        TOKEN_REACH.controls,
        head=f'<div class="told">{sliders}</div>',
        map=_reach_map(felt, n, at, scene),
        aside=_reach_summary(scene, found, layers, at),
    )


TOKEN_REACH = Panel("Reach", show_token_reach, controls=(UP_TO, AT))


def reach(scene: Scene, layers: int, positions: int) -> CellGrid:
    """Returns the first layer after which each token influences each position.

    Rows are positions, columns tokens; infinite if a token has no influence after all layers. It is
    measured once for each window, as no layer and no position knows how many come after it.
    """
    key = ("reach", scene.entry.name, scene.settings["w"], scene.seed)
    whole: CellGrid = get_or_make(
        CACHE, key, lambda: scene.run_in_pool(lambda: _layer_reach(scene))
    )
    found = whole[:positions, :positions]
    return np.where(found <= layers, found, np.float32(np.inf))


def _layer_reach(scene: Scene) -> CellGrid:
    """Returns the reach of the most layers; each token is changed separately, all in one run."""
    sizes = {**scene.settings, **REACH_SIZES, "n": LAYERS, "t": POSITIONS}
    module = ncd.compile(scene.entry.build(**sizes), scene.seed).double()
    given = torch.randn(
        POSITIONS, REACH_SIZES["k"], generator=generator(scene.seed, "reach")
    ).double()
    changed = given + torch.eye(POSITIONS).double()[..., None]
    with torch.no_grad():
        run = ncd.trace(module, torch.cat((given[None], changed)))
    ends = [cell.outputs[0].id for cell in module.circuit.cells if cell.op.role == "residual"]
    first = np.full((POSITIONS, POSITIONS), np.inf, np.float32)
    for layer, id in reversed([*enumerate(ends, 1)]):
        value = run.values[id]
        far = (value[1:] - value[:1]).abs().amax(-1).T.numpy()
        first[far > MIN_CHANGE] = layer
    return first


def _reach_map(felt: CellGrid, layers: int, at: int, scene: Scene) -> Heatmap:
    words = scene.axis_words("t")
    return Heatmap(
        f"reach {felt.shape}",
        "The layers that it takes until a token is felt at a position",
        heatmap.pool(felt, heatmap.LARGE),
        ColourRange(0.0, float(layers), 0, float(layers)),
        AxisLabels("position that knows", "position", words, AT),
        AxisLabels("token that is changed", "token", words),
        value_label="layers",
        square_cells=True,
        marks=(CellFrame("row", at),),
    )


def _reach_summary(scene: Scene, found: CellGrid, layers: int, at: int) -> str:
    w, t, n = (scene.settings[name] for name in "wtn")
    rows = [
        f'<tr{" class=chosen" if layer == layers else ""}><td>{layer}</td><td class="number">'
        f'{int((found[at] <= layer).sum())}</td><td class="number">'
        f"{min(at + 1, 1 + layer * (w - 1))}</td></tr>"
        for layer in range(1, min(n, LAYERS) + 1)
    ]
    table = markup.table(("After layer", "felt", "1 + layer · (w − 1)"), rows, numbers=(1, 2))
    cut = f" The first {POSITIONS} of {t:,} positions." if t > POSITIONS else ""
    cut += f" The first {LAYERS} of {n} layers." if n > LAYERS else ""
    return (
        f"<p>Position {at} feels so many tokens, itself among them:</p>{table}"
        '<p class="muted">Measured: each token is changed in turn, and where an output moves it is '
        "felt. One head of 4 features, as neither heads nor weights say what reaches what. Hatched "
        f"is what is not reached.{cut}</p>"
    )


# --- The layers of a model: windows or the whole text, and what windows save in the cache

USUAL_CACHE_FORMAT = "bfloat16"
WINDOW_BAR_LENGTH = 10.0  # the longest bar, in em
MAX_LAYER_ROWS = 48  # rows


def kept_positions(scene: Scene, context: int) -> int:
    """Returns the numbers that a cache holds of a text: all positions, or those of a window."""
    kept = cached_numbers_by_window(scene.circuit, scene.entry.cached)
    return sum(n * min(context, window or context) for window, n in kept.items())


def show_layer_windows(scene: Scene) -> None:
    """Shows what each layer keeps of a text, and the sum beside that of whole layers."""
    context = 1 << CONTEXT.number
    local = tuple(map(bool, layer_windows(scene.circuit)))
    slider = CONTEXT.html(f"a text of {context:,} tokens")
    map_component.render(
        "layers",
        LAYER_WINDOWS.controls,
        head=f'<div class="told">{slider}</div>{_windows_summary(scene, local, context)}',
        foot=_rows(scene, local, context),
    )


LAYER_WINDOWS = Panel(
    "Layers", show_layer_windows, needs_run=False, controls=(CONTEXT,), follows_moves=True
)


def _windows_summary(scene: Scene, local: tuple[bool, ...], context: int) -> str:
    name = USUAL_CACHE_FORMAT if scene.formats.cache == PLAIN_FORMATS else scene.formats.cache
    numbers = cached_numbers(scene.circuit, scene.entry.cached)
    here, whole = (
        markup.amount(in_bytes(n, name), "B")
        for n in (kept_positions(scene, context), numbers * context)
    )
    near = f"{sum(local)} of {len(local)} layers {'sees' if sum(local) == 1 else 'see'}"
    share = kept_positions(scene, context) / (numbers * context)
    return (
        f"<p>{near} the last "
        f"{scene.settings['w']:,} tokens only. A text of {context:,} keeps <b>{here}</b> of keys "
        f"and values ({share:.0%}); if all layers saw the whole text, {whole} ({name}).</p>"
    )


def _rows(scene: Scene, local: tuple[bool, ...], context: int) -> str:
    colours = {
        near: markup.colour("window" if near else "softmax", scene.dark) for near in (True, False)
    }
    short = min(context, scene.settings["w"])
    rows = []
    for i, near in enumerate(local[:MAX_LAYER_ROWS]):
        read = short if near else context
        meter = markup.meter(read / context, colours[near], WINDOW_BAR_LENGTH)
        rows.append(
            f'<tr><td class="number">{i + 1}</td><td>{"window" if near else "whole text"}</td>'
            f'<td>{meter}</td><td class="number">{read:,}</td></tr>'
        )
    more = (
        ""
        if len(local) <= MAX_LAYER_ROWS
        else f'<p class="muted">The first {MAX_LAYER_ROWS} layers.</p>'
    )
    return markup.table(("Layer", "sees", "", "tokens kept"), rows, numbers=(0, 3)) + more


# --- The words that a hidden position depends on, found by exchanging each of them

HIDDEN_POSITION = Place("masked", None)
TEXTS = 128  # that are run at once
MAX_MASKING_FLOPS = 1_200_000_000  # FLOPs for all of them: some hundredths of a second
MASKING_BAR_LENGTH = 8.0  # the longest bar, in em


def show_both_sides(scene: Scene) -> None:
    """Shows how far a hidden word's vector moves if another word is exchanged."""
    t = len(scene.inputs[0])
    at = HIDDEN_POSITION.among(t, t // 2)
    hidden = _hidden(scene, t, at)
    given = *scene.run_key, hidden.start
    make = partial(scene.run_in_pool, lambda: moves(scene, hidden))
    found = cached_value("both sides", scene.term, *given, make=make)
    words = scene.axis_words("t")
    said = f" ({markup.text(words[at])})" if at < len(words) else ""
    slider = HIDDEN_POSITION.html(f"hidden: position {at}{said}", t, at)
    map_component.render(
        "both sides",
        BOTH_SIDES.controls,
        head=f'<div class="told">{slider}</div>',
        map=_masking_map(scene, found, at),
        aside=_masking_summary(scene, found, at),
    )


BOTH_SIDES = Panel("Both sides", show_both_sides, controls=(HIDDEN_POSITION,), follows_moves=True)


def _hidden(scene: Scene, t: int, at: int) -> range:
    """Returns the positions that are hidden in turn: all, or of a large model those around one."""
    count = min(t, max(1, MAX_MASKING_FLOPS // ((t + 1) * max(1, scene.cost.flops))))
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
        texts = torch.cat([_perturbed_texts(words, at, v) for at in places.tolist()])
        out = scene.module(texts, *(x.expand(len(texts), *x.shape) for x in rest))
        every = (out[0] if isinstance(out, tuple) else out).float().chunk(len(places))
        for at, vectors in zip(places.tolist(), every, strict=True):
            grid[at] = (vectors[1:, at] - vectors[:1, at]).norm(dim=-1).cpu().numpy()
    np.fill_diagonal(grid, np.nan)  # the hidden word itself is not there to be exchanged
    return grid


def _perturbed_texts(words: Tensor, at: int, v: int) -> Tensor:
    """Returns the text with one word hidden, then the same with each word exchanged in turn."""
    hidden, places = words.clone(), torch.arange(len(words))
    hidden[at] = 0
    texts = hidden.repeat(len(words) + 1, 1)
    texts[places + 1, places] = (texts[places + 1, places] + 1 + v // 2) % v
    return texts


def _masking_map(scene: Scene, found: CellGrid, at: int) -> Heatmap:
    words = scene.axis_words("t")
    return Heatmap(
        f"both sides {found.shape}",
        "How far a hidden position moves with each other word",
        heatmap.pool(found, heatmap.LARGE),
        ColourRange.from_numbers(np.nan_to_num(found), signed=False),
        AxisLabels("hidden word", "hidden word", words, HIDDEN_POSITION),
        AxisLabels("word that is exchanged", "exchanged word", words),
        value_label="moves by",
        square_cells=True,
        marks=(CellFrame("row", at),),
    )


def _masking_summary(scene: Scene, found: CellGrid, at: int) -> str:
    row, words = np.nan_to_num(found[at]), scene.axis_words("t")
    most, colour = float(row.max()) or 1.0, markup.colour("softmax", scene.dark)
    lines = [
        f"<tr><td>{j}{f' {markup.text(words[j])}' if j < len(words) else ''}</td>"
        + (
            '<td class="muted">hidden</td>'
            if j == at
            else f"<td>{markup.meter(float(n) / most, colour, MASKING_BAR_LENGTH)}</td>"
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
        f"{numbers_origin(scene)}</p>"
    )


def _others(found: CellGrid) -> str:
    """Returns what the rows without numbers are, if there are any."""
    empty = bool(np.isnan(found).all(1).any()) and len(found) > 1
    return "A row without numbers is measured once its word is near the hidden one. " * empty
