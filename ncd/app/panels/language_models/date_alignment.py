"""The Alignment panel: what a decoder writes of a date, and where it looked for each symbol."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from ncd.app.parts import heatmap, map_component
from ncd.app.parts import input_feed as typed
from ncd.app.parts.html_panel import read_static
from ncd.app.parts.map_component import AxisLabels, CellFrame, Heatmap
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.controls import Place
from ncd.explain.colour_scale import ColourRange
from ncd.site import markup
from ncd.systems.inputs.text_inputs import BLANK_SYMBOL, SymbolInput
from ncd.systems.training.written_dates import WRITTEN_SYMBOLS, iso_date

STEP = Place("written", None)  # the number of a written symbol
NEXT_DATE = "another"  # what a press asks for
CSS = f"<style>{read_static('panels/language_models/date_alignment.css')}</style>"
CLEAR = 0.1  # the least share of the weight that is told


@dataclass(frozen=True)
class WrittenDate:
    """The symbols that a decoder writes, the right ones, and the weights of its steps (t, s).

    ``answer`` is empty where nobody knows what is right, ``weights`` is None without attention.
    """

    read: SymbolInput
    symbols: str
    answer: str
    weights: Tensor | None

    def is_wrong(self, place: int) -> bool:
        """Returns whether the symbol at a place is known to be wrong."""
        return place < len(self.answer) and self.symbols[place] != self.answer[place]

    def looks(self, place: int) -> list[tuple[float, str]]:
        """Returns the largest weights of a step with the symbols that they are on."""
        if self.weights is None:
            return []
        best = self.weights[place].topk(min(3, self.weights.shape[1]))
        pairs = zip(best.values.tolist(), best.indices.tolist(), strict=True)
        return [(share, self.read.words[i]) for share, i in pairs if share >= CLEAR]


def written_date(scene: Scene, read: SymbolInput) -> WrittenDate:
    """Returns what the page's run writes of a text."""
    scores, *weights = (output.detach().float().cpu() for output in scene.trace.outputs)
    numbers = scores.argmax(-1).tolist()
    written = "".join(WRITTEN_SYMBOLS[i] if i < len(WRITTEN_SYMBOLS) else "?" for i in numbers)
    right = iso_date("".join(read.words[: read.length]))[: len(written)]
    return WrittenDate(read, written, right, weights[0] if weights else None)


def show_alignment(scene: Scene) -> None:
    """Shows the date as it is read and as it is written, and the map of the weights."""
    given = typed.date(scene.settings, scene.seed)
    if given is None or not scene.inputs_spec.numbers:
        map_component.render("alignment", head="<p>Dates are read and written in a few places.</p>")
        return
    found = written_date(scene, given.read)
    at = STEP.among(len(found.symbols), 0)
    map_component.render(
        "alignment",
        ALIGNMENT.controls,
        _pick,
        head=f"{CSS}{_field(given.read)}{_lines(scene, found, at)}<p>{_summary(found, at)}</p>",
        map=_map(found, at) if found.weights is not None else None,
        foot=f'<p class="muted">{numbers_origin(scene)}</p>',
    )


ALIGNMENT = Panel(
    "Alignment",
    show_alignment,
    controls=(typed.SEQUENCE, typed.TURN, STEP),
    follows_moves=True,
)


def _pick(name: str, value: str) -> None:
    """Takes another date; a callback."""
    if name == NEXT_DATE:
        typed.TURN.put(str(int(typed.TURN.value or 0) + 1))
        typed.SEQUENCE.put("")


def _field(read: SymbolInput) -> str:
    """Returns the field for a date, and what is wrong with what was typed."""
    text = markup.text("".join(read.words[: read.length]))
    wrong = f"<p><b>{markup.text(read.error_text)}</b> Below stands an example.</p>"
    return (
        f'<p class="text"><label>A date <input type="text" maxlength="40" value="{text}" '
        f'data-set="{typed.SEQUENCE.name}"></label> '
        f'<button type="button" class="plain" data-pick="{NEXT_DATE}=">Another date</button></p>'
        f"{wrong if read.error_text else ''}"
    )


def _lines(scene: Scene, found: WrittenDate, at: int) -> str:
    """Returns the symbols that are read, shaded where a step looks, and those that are written."""
    looks = [0.0] * len(found.read.words) if found.weights is None else found.weights[at].tolist()
    colour = markup.colour("softmax", scene.dark)
    read = "".join(
        f'<i style="--look:{100 * share:.0f}%" title="weight {share:.2f}">{_cell(symbol)}</i>'
        for symbol, share in zip(found.read.words, looks, strict=True)
    )
    written = "".join(
        f'<button type="button" data-pick="{STEP.action(i)}" '
        f'aria-pressed="{str(i == at).lower()}"{_mark(found, i)}>{markup.text(symbol)}</button>'
        for i, symbol in enumerate(found.symbols)
    )
    return (
        f'<div class="aligned" style="--bar:{colour}"><span class="muted">read</span>'
        f'<div>{read}</div><span class="muted">written</span><div>{written}</div></div>'
    )


def _cell(symbol: str) -> str:
    return "&nbsp;" if symbol in (" ", BLANK_SYMBOL) else markup.text(symbol)


def _mark(found: WrittenDate, place: int) -> str:
    if not found.is_wrong(place):
        return ""
    return f' class="wrong" title="right is {markup.text(found.answer[place])}"'


def _summary(found: WrittenDate, at: int) -> str:
    """Returns what a step looks at, and whether the date is right."""
    symbol = markup.text(found.symbols[at])
    looks = found.looks(at)
    if found.weights is None:
        where = (
            f"When it writes <b>{symbol}</b>, it sees nothing of what was read: all that it knows "
            "is in the last state of the encoder"
        )
    elif looks:
        told = ", ".join(f"{share:.0%} on {_symbol_name(symbol)}" for share, symbol in looks)
        where = f"When it writes <b>{symbol}</b>, its weight is {told}"
    else:
        where = f"When it writes <b>{symbol}</b>, it looks nowhere in particular"
    return f"{where}. {_verdict(found)}"


def _symbol_name(symbol: str) -> str:
    if symbol in (" ", BLANK_SYMBOL):
        return "a blank"
    return f"“{markup.text(symbol)}”"


def _verdict(found: WrittenDate) -> str:
    if not found.answer:
        return "Nothing says what is right here: it has learned other ways to write a date."
    count = sum(found.is_wrong(i) for i in range(len(found.symbols)))
    if not count:
        return "The date is right."
    return f"Right is <b>{found.answer}</b>; {markup.plural(count, 'symbol')} of it went wrong."


def _map(found: WrittenDate, at: int) -> Heatmap:
    assert found.weights is not None
    grid = found.weights.numpy().astype(np.float32)
    named = tuple("␣" if symbol == " " else symbol for symbol in found.read.words)
    return Heatmap(
        f"alignment {grid.shape}",
        "How much each step of the decoder looks at each symbol that was read",
        heatmap.pool(grid, heatmap.LARGE),
        ColourRange(0.0, 1.0),
        AxisLabels("written", "written", tuple(found.symbols), STEP),
        AxisLabels("read", "read", named),
        value_label="weight",
        square_cells=True,
        marks=(CellFrame("row", at),),
    )
