"""A trained system's answers to a typed sequence, and where its heads look."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import numpy as np
import streamlit as st
import torch
from numpy.typing import NDArray
from torch import Tensor

from ncd.app.panels.attention.attention_maps import HEAD, MAP, SOFTMAX, choose
from ncd.app.panels.learning import mistakes
from ncd.app.parts import heatmap, html_panel, map_component
from ncd.app.parts import input_feed as typed
from ncd.app.parts.html_panel import read_static
from ncd.app.parts.map_component import AxisLabels, CellFrame, Heatmap
from ncd.app.runtime import scheduler
from ncd.app.runtime.scheduler import run_in_thread
from ncd.app.scene.panel import Panel
from ncd.app.scene.scene import Scene, numbers_origin
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Place, Switches, TextControl
from ncd.explain.colour_scale import CellGrid, ColourRange
from ncd.run.head_switches import Head, find_attention
from ncd.site import markup
from ncd.systems.inputs.text_inputs import SymbolInput, symbol
from ncd.systems.training.head_analysis import HeadReport, run, skill, with_heads_off
from ncd.systems.training.sequence_data import NOT_ASKED, SEQUENCES
from ncd.systems.training.tasks import task

# --- The answers of a system to a sequence, and its skill on unseen sequences

T = TypeVar("T")
TRIED, LEAST = 512, 16  # test sequences: at most, and at least for a score without each head
UNTRAINED_TRIALS = 64  # at most of weights that have learned nothing: a guess needs no exact score


@dataclass(frozen=True)
class Look:
    """A sequence with the scores (t, v) and right answers at its positions, and the map of each
    head.

    ``cells`` (t, t) marks where each row finds its answer; ``disabled_heads`` lists the heads
    switched off, ``in_doubt`` the positions whose right answer is not known.
    """

    read: SymbolInput
    scores: Tensor
    answers: tuple[int, ...]
    maps: dict[Head, CellGrid]
    cells: Tensor
    disabled_heads: frozenset[Head]
    in_doubt: frozenset[int] = frozenset()

    def finds(self, head: Head, row: int) -> float:
        """Returns how much weight a row of a head's map has on the cells with its answer."""
        return float(self.maps[head][row] @ self.cells[row].numpy())

    @property
    def heads(self) -> tuple[Head, ...]:
        return tuple(self.maps)

    @property
    def names(self) -> dict[Head, str]:
        """The names of the heads: the layer, and a number if the layer has several."""
        layers = list(dict.fromkeys(head.softmax for head in self.heads))
        several = any(head.number for head in self.heads)
        return {
            head: f"Layer {layers.index(head.softmax) + 1}" + f", head {head.number}" * several
            for head in self.heads
        }

    @property
    def question_positions(self) -> tuple[int, ...]:
        """The positions with a question; all positions if there are no questions."""
        found = tuple(i for i, answer in enumerate(self.answers) if answer != NOT_ASKED)
        return found or tuple(range(self.read.length))


def heads(scene: Scene) -> tuple[Head, ...]:
    """Returns all heads of a system, layer by layer."""
    return tuple(head for found in find_attention(scene.circuit) for head in found.heads)


def head_look(scene: Scene, read: SymbolInput, off: frozenset[Head]) -> Look:
    """Runs the input sequence with some heads off, and returns the typed part."""
    key = (*scene.run_key, tuple(sorted(off)))
    scores, maps = cached_value(
        "reading", scene.term, *key, make=lambda: scene.run_in_pool(lambda: _run(scene, off))
    )
    n, tokens = read.length, torch.tensor(read.numbers)
    own = SEQUENCES[scene.entry.name]
    answers = own.answers(tokens[None])[0].tolist()[:n]
    shown = {head: each[:n, :n] for head, each in maps.items()}
    doubt = frozenset(own.in_doubt(tokens)[:n].nonzero().flatten().tolist())
    return Look(read, scores[:n], tuple(answers), shown, own.looks(tokens)[:n, :n], off, doubt)


def _run(scene: Scene, off: frozenset[Head]) -> tuple[Tensor, dict[Head, CellGrid]]:
    found: dict[Head, Tensor] = {}
    scores = run(scene.module, scene.inputs[0], off, found)
    return scores.float(), {head: each.float().numpy() for head, each in found.items()}


def measure_skill(scene: Scene, off: frozenset[Head]) -> HeadReport:
    """Measures the system's skill on unseen sequences of its task."""
    own, kept = (
        task(scene.entry.name),
        partial(cached_value, "skill", scene.term, *scene.weights_key),
    )
    affordable = 4 * mistakes.budget(scene) // max(1, scene.cost.flops)
    every = len(heads(scene))
    each = affordable // (every + 2) >= LEAST  # whether there is time to score it without each head
    most = TRIED if scene.loaded_weights else UNTRAINED_TRIALS
    count = max(1, min(most, affordable // (every + 2 if each else 2)))

    def unseen() -> tuple[Tensor, Tensor]:
        given = mistakes.examples(scene, own)
        return given.unseen[:count].to(scene.device), given.answers[:count]

    def tried() -> tuple[Tensor, Tensor]:
        return kept("sequences", make=lambda: _run_out_of_turn(unseen))

    whole = kept(make=lambda: _run_out_of_turn(lambda: skill(scene.module, own, *tried(), each)))
    if not off:
        return whole
    some = partial(with_heads_off, whole, scene.module, own, off=off)
    return kept(tuple(sorted(off)), make=lambda: _run_out_of_turn(lambda: some(*tried())))


def _run_out_of_turn(make: Callable[[], T]) -> T:
    """Computes ``make()`` while other visitors have the turn."""
    with scheduler.yielded_turn():
        return run_in_thread(make, long=True)


def seen_cells(found: CellGrid) -> CellGrid:
    """Returns a map with masked cells as NaN."""
    return np.where(_unmasked_cells(found), found, np.nan).astype(np.float32)


def _unmasked_cells(found: CellGrid) -> NDArray[np.bool_]:
    """Returns which cells of maps (…, t, t) are not masked: all, or those up to the diagonal."""
    every = np.ones_like(found, bool)
    return every if np.triu(found, 1).any() else np.tril(every)


def covered_cells(found: CellGrid) -> Any:
    """Returns a map that hides the weights: light cells can have a weight, dark ones cannot."""
    least, more, masked = (84, 14, 36) if heatmap.DARK.get() else (205, 18, 90)
    board = least + more * (np.indices(found.shape).sum(0) % 2)
    shade = np.where(_unmasked_cells(found), board, masked).astype(np.uint8)
    return np.repeat(shade[:, :, None], 3, axis=2)


# --- A table of a sequence: the symbol, the prediction and the right answer at each position

WORDS = 12  # the greatest number of words in a row of the table
NOT_KNOWN_HTML = '<span class="muted">not known</span>'


def html(
    read: SymbolInput,
    scores: Tensor,
    answers: Sequence[int],
    row: int,
    in_doubt: Collection[int] = (),
) -> str:
    """Returns the table; each position is a button that picks its row, and ``row`` is highlighted.

    A long sequence of words continues in a second table below. Nothing is called right or wrong at
    the positions ``in_doubt``, where the right answer is not known.
    """
    words = any(len(symbol) > 1 for symbol in read.symbols)
    each = WORDS if words else max(1, read.length)
    runs = (range(i, min(i + each, read.length)) for i in range(0, read.length, each))
    tables = "".join(_table(read, scores, answers, row, in_doubt, run) for run in runs)
    return f'<div class="scroll">{tables}</div>'


def _table(
    read: SymbolInput,
    scores: Tensor,
    answers: Sequence[int],
    row: int,
    in_doubt: Collection[int],
    places: range,
) -> str:
    """Returns the table of some positions."""
    chances = scores.softmax(-1)
    said = [int(i) for i in chances.argmax(-1)]
    heads = "".join(
        f'<th><button type="button" data-pick="row={i}" '
        f'aria-pressed="{str(i == row).lower()}">{i}</button></th>'
        for i in places
    )
    reads = "".join(f"<td>{markup.text(read.words[i])}</td>" for i in places)
    says = "".join(
        _unknown_answer_cell(read, said[i])
        if i in in_doubt
        else _prediction_cell(read, said[i], float(chances[i, said[i]]), answers[i])
        for i in places
    )
    right = "".join(
        f"<td>{NOT_KNOWN_HTML if i in in_doubt else _symbol(read, answers[i])}</td>" for i in places
    )
    rows = (
        f"<tr><td>place</td>{heads}</tr>",
        f'<tr class="read"><td>reads</td>{reads}</tr>',
        f"<tr><td>says</td>{says}</tr>",
        f"<tr><td>right is</td>{right}</tr>",
    )
    return f'<table class="strip">{"".join(rows)}</table>'


def count_correct(scores: Tensor, answers: Sequence[int]) -> tuple[int, int]:
    """Returns the numbers of right answers and of questions.

    >>> count_correct(torch.eye(3), (0, 2, NOT_ASKED))
    (1, 2)
    """
    said = scores.argmax(-1)[: len(answers)]
    wanted = torch.tensor(answers)
    return int((said == wanted).sum()), int((wanted != NOT_ASKED).sum())


def _prediction_cell(read: SymbolInput, said: int, chance: float, answer: int) -> str:
    """Returns a cell of the prediction: right, wrong, or without a question."""
    if answer == NOT_ASKED:
        return '<td class="idle" title="nothing is asked here">·</td>'
    text = markup.text(symbol(read.symbols, said))
    kind, sign = ("right", "✓") if said == answer else ("wrong", "✗")
    return f'<td class="{kind}" title="{kind}, with a chance of {chance:.0%}">{text}<br>{sign}</td>'


def _unknown_answer_cell(read: SymbolInput, said: int) -> str:
    """Returns a cell of the prediction where the right answer is not known."""
    text = markup.text(symbol(read.symbols, said))
    return f'<td class="idle" title="no answer is known here">{text}</td>'


def _symbol(read: SymbolInput, answer: int) -> str:
    return "" if answer == NOT_ASKED else markup.text(symbol(read.symbols, answer))


# --- The Reading panel: a trained system's answers to a typed sequence, and where its heads look

ALL_MAPS = "all"  # stored instead of a guess: all maps are shown
HEAD_SWITCHES = Switches("off", longest=200)  # the numbers of heads
ROW, GUESS = Place("row", None), TextControl("guess", f"{ALL_MAPS}|[0-9]{{1,4}}")
MAX_HEADS = 48  # the greatest number of heads in the list
CSS = read_static("panels/attention/sequence_reading.css")
LITTLE = 0.1  # a share of a head's weight; this much above chance means nothing


@dataclass(frozen=True)
class HeadQuestion:
    """A question about a head: the row, and the position that the visitor clicked, if any.

    The maps are hidden until they are ``is_revealed``.
    """

    head: Head
    row: int
    is_revealed: bool
    guess: int | None


def show_sequence_reading(scene: Scene) -> None:
    """Shows the field, the answers, the question, the map and the heads."""
    read = typed.read(scene.entry.name, scene.settings, scene.seed)
    if read is None:
        html_panel.render(
            f"<p>Up to {typed.MAX_SYMBOLS} places and symbols are read here.</p>", "reading long"
        )
        return
    _field(read)
    off = _disabled_heads(heads(scene))
    look, able = head_look(scene, read, off), measure_skill(scene, off)
    asked = _current_question(look)
    map_component.render(
        "reading",
        (HEAD_SWITCHES, GUESS),
        partial(_pick, asked),
        head=f"<style>{CSS}</style>"
        + _score_status(look, able, bool(scene.loaded_weights))
        + html(read, look.scores, look.answers, asked.row, look.in_doubt)
        + f'<div class="question">{_question(look, asked)}</div>',
        side=_heads(look, asked, able) + _does(asked, able),
        map=_map(look, asked),
        foot=f'<p class="muted">{numbers_origin(scene)}</p>',
    )


SEQUENCE_READING = Panel(
    "Reading",
    show_sequence_reading,
    controls=(typed.SEQUENCE, typed.TURN, HEAD_SWITCHES, ROW, GUESS, HEAD, SOFTMAX),
)


# --- what the session asks -----------------------------------------------------------------------


def _disabled_heads(every: tuple[Head, ...]) -> frozenset[Head]:
    """Returns the heads that are switched off."""
    return frozenset(head for n, head in enumerate(every) if str(n) in HEAD_SWITCHES.names)


def _current_question(look: Look) -> HeadQuestion:
    """Returns the question; by default about the last layer's best head."""
    last = look.heads[-1].softmax
    softmax, guess, length = SOFTMAX.value, GUESS.value, look.read.length
    own = [head for head in look.heads if head.softmax == softmax]
    own = own or [head for head in look.heads if head.softmax == last]
    row = ROW.among(length, look.question_positions[2 * len(look.question_positions) // 3])
    best, chosen = max(own, key=lambda head: look.finds(head, row)), HEAD.among(len(own))
    return HeadQuestion(
        own[chosen] if softmax else best,
        row,
        bool(guess),
        min(int(guess), length - 1) if guess.isdecimal() else None,
    )


# --- what is typed -------------------------------------------------------------------------------


def _field(read: SymbolInput) -> None:
    """Shows a field for a sequence, and a button for another example."""
    with st.container(horizontal=True, vertical_alignment="bottom", key="typing"):
        st.text_input(
            "A sequence",
            key=typed.SEQUENCE.name,
            max_chars=2 * typed.MAX_SYMBOLS,
            placeholder=" ".join(read.words),
            help=f"Symbols: {' '.join(read.symbols)}. Left empty, it is an example of the task.",
            on_change=_hide_answer,
        )
        st.button("Another example", key="another", on_click=_choose_next_example)
    if read.error_text:
        st.warning(f"{read.error_text} Below stands an example.")


def _choose_next_example() -> None:
    """Chooses the next example of the seed; a callback."""
    typed.TURN.put(str(int(typed.TURN.value or 0) + 1))
    typed.SEQUENCE.put("")
    _hide_answer()


def _hide_answer() -> None:
    """Hides the answer for the next question, unless all maps are shown; a callback."""
    _ask("", GUESS.value if GUESS.value == ALL_MAPS else "")


def _ask(row: str, guess: str) -> None:
    """Asks about a row, or answers with a guess; a callback."""
    ROW.put(row)
    GUESS.put(guess)


# --- what is shown -------------------------------------------------------------------------------


def _score_status(look: Look, able: HeadReport, learned: bool = True) -> str:
    """Returns the system's score on this sequence and on unseen ones."""
    hits, due = count_correct(look.scores, look.answers)
    by = "" if learned else ", by weights that are not trained"
    doubt = _doubt(look)
    here = f"{hits} of {due} right here{by}. " if due else "Nothing is asked here. "
    here = "" if doubt and not due else here
    off = len(look.disabled_heads)
    tried, right = f"{able.sequence_count:,} sequences", f"<b>{able.full_score:.1%}</b> are right"
    now = f", <b>{able.current_score:.1%}</b> with {markup.plural(off, 'head')} off" if off else ""
    return (
        f'<p role="status">{here}{doubt}Of all answers in {tried} that it '
        f"has not learned from, {right}{now}.</p>"
    )


def _doubt(look: Look) -> str:
    """Returns a sentence about the positions whose right answer is not known."""
    words = dict.fromkeys(look.read.words[i] for i in sorted(look.in_doubt))
    if not words:
        return ""
    named = ", ".join(f"“{markup.text(word)}”" for word in words)
    return f"No answer is known for {named}: the sentences it has learned are built otherwise. "


def _map(look: Look, asked: HeadQuestion) -> Heatmap:
    """Returns the large map; before the guess it shows only which cells can have a weight."""
    found, name = look.maps[asked.head], look.names[asked.head]
    marks = [CellFrame("row", asked.row)]
    if asked.is_revealed:
        marks.append(CellFrame("looks", asked.row, int(found[asked.row].argmax())))
    if asked.guess is not None:
        marks.append(CellFrame("guess", asked.row, asked.guess))
    words = look.read.words[: look.read.length]
    return Heatmap(
        f"{asked.head} {found.shape}",
        f"Weights of every place on every other, {name}",
        heatmap.pool(seen_cells(found), heatmap.LARGE),
        ColourRange(0.0, float(found.max()) or 1.0),
        AxisLabels("who looks", "place", words),
        AxisLabels(f"where it looks, {name.lower()}", "at place", words),
        value_label="weight",
        square_cells=True,
        pixels=None if asked.is_revealed else covered_cells(found),
        marks=tuple(marks),
        cell_action=map_component.CELL,
    )


def _question(look: Look, asked: HeadQuestion) -> str:
    """Returns the question, or after the guess its answer."""
    said = markup.text(look.read.words[asked.row])
    if not asked.is_revealed:
        return (
            f"<h2>Where will row {asked.row} look?</h2>"
            f"<p>At place {asked.row} it reads <b>{said}</b>. What must it know to answer? Click "
            "the cell of this row that you think has the largest weight, or "
            f"{GUESS.button(ALL_MAPS, 'just see it')}</p>"
        )
    weights = look.maps[asked.head][asked.row]
    best = int(weights.argmax())
    told = (
        f"Row {asked.row}, <b>{said}</b>, looks most at place {best}, "
        f"<b>{markup.text(look.read.words[best])}</b>, with {weights[best]:.2f} of its weight."
    )
    if asked.guess is not None:
        told = _verdict(asked.guess, best, weights) + told
    more = f"ask={_next_row(look.question_positions, asked.row)}"
    button = f'<button type="button" class="plain" data-pick="{more}">Ask me another</button>'
    return f"<h2>Where row {asked.row} looks</h2><p>{told} {button}</p>"


def _verdict(guess: int, best: int, weights: CellGrid) -> str:
    """Returns a comment on a guess; half of the largest weight counts as right."""
    if guess == best:
        return "✓ <b>As you said.</b> "
    if not weights[guess]:
        return f"✗ <b>You said place {guess}</b>, which it cannot see (dashed). "
    sign = "✓" if weights[guess] >= weights[best] / 2 else "✗"
    return f"{sign} <b>You said place {guess}</b>, which gets {weights[guess]:.2f} (dashed). "


def _next_row(rows: tuple[int, ...], row: int) -> int:
    """Returns another row with an answer, which is not adjacent.

    >>> _next_row((0, 1, 2, 3), 1), _next_row((5,), 5)
    (0, 5)
    """
    own = rows.index(row) if row in rows else 0
    return rows[(own + len(rows) // 2 + 1) % len(rows)]


def _does(asked: HeadQuestion, able: HeadReport) -> str:
    """Returns how much of the head's weight is on the cells with the answer."""
    if not asked.is_revealed:
        return ""
    found = able.attention_shares[asked.head]
    rows = "".join(
        f'<tr><td>{name}</td><td class="number">{share:.2f}</td>'
        f"<td>{markup.meter(share, 'var(--st-primary-color)', 4)}</td></tr>"
        for name, share in sorted(found.items(), key=lambda item: -item[1])
    )
    told = "Its weight on …, the mean over such sequences"
    return f'<table class="shares"><caption>{told}</caption>{rows}</table>'


def _heads(look: Look, asked: HeadQuestion, able: HeadReport) -> str:
    """Returns a row for each head: its map, its behaviour, the score without it, a switch."""
    run = heatmap.visible_range(len(look.heads), look.heads.index(asked.head), MAX_HEADS)
    rows = "".join(_head(i, look, asked, able) for i in run)
    return f'<div class="readers"><table>{rows}</table></div>'


def _head(i: int, look: Look, asked: HeadQuestion, able: HeadReport) -> str:
    head = look.heads[i]
    name, on = look.names[head], head not in look.disabled_heads
    small = heatmap.pool(look.maps[head], heatmap.SMALL).maps
    picture, does = '<span class="cover">?</span>', "looks at …"
    if asked.is_revealed:
        ends = ColourRange(0.0, float(small.max()) or 1.0)
        picture = f'<img alt="" src="{heatmap.data_url(seen_cells(small), ends)}">'
        what, share = able.does(head)
        clear = share - able.even[what] > LITTLE
        does = f"{what} {share:.2f}" if clear else "nothing in particular"
    switch = "on" if on else "off"
    less = (
        f"right without it: {able.scores_without_head[head]:.1%}"
        if head in able.scores_without_head
        else ""
    )
    return (
        f'<tr{"" if on else " class=idle"}><td><button type="button" data-pick="map={head.softmax}.'
        f'{head.number}" aria-pressed="{str(head == asked.head).lower()}" '
        f'aria-label="{name}">{picture}</button></td>'
        f"<td><b>{name}</b><br>{does}<br>"
        f'<span class="muted">{less}</span></td>'
        f'<td><button type="button" class="plain" role="switch" aria-checked="{str(on).lower()}" '
        f'aria-label="{switch}: {name}" '
        f'data-pick="{HEAD_SWITCHES.action(i)}">{switch}</button></td></tr>'
    )


# --- what is clicked -----------------------------------------------------------------------------


def _pick(asked: HeadQuestion, name: str, value: str) -> None:
    """Applies a click; a callback."""
    if name == MAP:
        choose(value)
    elif name == map_component.CELL:
        row, _, column = value.partition(",")
        _ask(row, ALL_MAPS if asked.is_revealed else column)
    elif name == ROW.name:
        _ask(value, ALL_MAPS if asked.is_revealed else "")
    elif name == "ask":
        _ask(value, "")
