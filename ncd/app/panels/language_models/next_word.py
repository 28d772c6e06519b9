"""Next word: a text, the words that may follow, and how the guess forms from layer to layer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import streamlit as st
import torch

import ncd
from ncd.app.parts import heatmap, html_panel, map_component
from ncd.app.parts import input_feed as typed
from ncd.app.parts.html_panel import read_static
from ncd.app.parts.map_component import AxisLabels, CellFrame, Heatmap
from ncd.app.scene.panel import Panel, about_output
from ncd.app.scene.scene import Scene, build_term, numbers_origin
from ncd.app.state import knobs
from ncd.app.state.cache import cached_value
from ncd.app.state.controls import Choice, Place
from ncd.explain.colour_scale import ColourRange
from ncd.explain.text_reading import TextReading, choice_probabilities, drawn_word, read_text
from ncd.run.head_switches import Head
from ncd.run.seeding import generator
from ncd.site import markup
from ncd.systems.inputs.text_inputs import SymbolInput, as_text, known_words, symbol
from ncd.systems.training.story_grammar import END
from ncd.systems.training.tasks import task

POSITION, HEAD = Place("next_after", None), Place("next_head", None)
TEMPERATURE = Choice("temperature", ("0.1", "0.3", "0.5", "0.7", "1", "1.5", "2", "3"), "1")
ALL_WORDS = "all"
TOP_K = Choice("top_k", ("1", "2", "3", "5", "10", "20", ALL_WORDS), "10")
LIST_LENGTH = 10  # words in the list
SMALLEST = 0.001  # a probability that has a bar
LONGEST = 7.0  # the longest bar, in em
ADD = "add"  # what a press on a word of the list asks for
WRITING = "writing"  # the session key of the words while they are written
BETWEEN_WORDS = 0.6  # seconds
CSS = read_static("panels/language_models/next_word.css")


def show_next_word(scene: Scene) -> None:
    """Shows the text, the likeliest next words, and what each layer would have guessed."""
    read = typed.read(scene.entry.name, scene.settings, scene.seed)
    if read is None:
        more = f"<p>Up to {typed.MAX_SYMBOLS} positions and words are read here.</p>"
        html_panel.render(more, "next word long")
        return
    writer = scene_of_length(scene, longest_text(scene))
    written = st.session_state.get(WRITING)
    _field(scene, read, writer.can_run, written is not None)
    with st.container(horizontal=True, key="choosing"):
        _slider(TEMPERATURE, "Temperature", "Below 1 the likeliest words gain, above 1 the others.")
        _slider(TOP_K, "Top-k", "Only so many words can be chosen: the likeliest.")
    if written is None:
        _show(scene, read)
        return
    _show_writing(writer, written)


NEXT_WORD = Panel(
    "Next word",
    show_next_word,
    controls=(typed.SEQUENCE, typed.TURN, TEMPERATURE, TOP_K, POSITION, HEAD),
    about=about_output,
)


def reading(scene: Scene, read: SymbolInput) -> TextReading:
    """Returns what the run of a scene says of its text."""
    return cached_value(
        "text reading",
        scene.term,
        *scene.run_key,
        read.length,
        make=lambda: scene.run_in_pool(lambda: read_text(scene.module, scene.trace, read.length)),
    )


# --- The text: typed, and add_next_word word by word


def longest_text(scene: Scene) -> int:
    """Returns how many words are written at most: so many as the model has learned to read."""
    learned = task(scene.entry.name).training_sizes["t"]
    return min(learned, scene.settings.get("u", learned))


def scene_of_length(scene: Scene, t: int) -> Scene:
    """Returns the same system with its weights, for a text of t words."""
    settings = {**scene.settings, "t": t}
    term, refusal = build_term(scene.entry, settings)
    return replace(scene, settings=settings, term=term or scene.term, build_refusal=refusal)


def _field(scene: Scene, read: SymbolInput, writes: bool, writing: bool) -> None:
    """Shows the field of the text, and the buttons that continue it."""
    words, most = _words(read), longest_text(scene)
    full = len(words) >= most or not writes
    st.text_input(
        "A text",
        key=typed.SEQUENCE.name,
        max_chars=2 * typed.MAX_SYMBOLS,
        placeholder=as_text(words),
        help=f"The words that it knows: {' '.join(sorted(read.symbols))}",
        on_change=partial(_fit_length, scene, read.symbols),
        disabled=writing,
    )
    with st.container(horizontal=True, key="continuing"):
        if writing:
            st.button("Stop", key="stop writing", on_click=stop_writing)
        else:
            add = partial(_add_word, scene, read)
            st.button("Add word", key="add word", on_click=add, disabled=full)
            begin = partial(st.session_state.__setitem__, WRITING, words)
            st.button("Write on", key="write on", on_click=begin, disabled=full)
            st.button("Another text", key="another text", on_click=_take_another)
    if read.error_text:
        st.warning(f"{read.error_text} Below stands an example.")


def _slider(control: Choice, label: str, help: str) -> None:
    st.select_slider(label, [*control.options], control.default, key=control.name, help=help)


def _words(read: SymbolInput) -> tuple[str, ...]:
    """Returns the words of the text, without the empty places behind it."""
    return read.words[: read.length]


def _fit_length(scene: Scene, symbols: Sequence[str]) -> None:
    """Sets the positions to the words that were typed, if all are known; a callback."""
    words = known_words(typed.SEQUENCE.value, symbols)[: longest_text(scene)]
    if words and set(words) <= set(symbols):
        _put(words)


def _take_another() -> None:
    """Takes the beginning of another story; a callback."""
    typed.TURN.put(str(int(typed.TURN.value or 0) + 1))
    typed.SEQUENCE.put("")
    POSITION.put("")


def _put(words: Sequence[str]) -> None:
    """Sets the text and the positions, and looks behind the last word; for use in callbacks."""
    typed.SEQUENCE.put(as_text(words))
    knobs.set_values({"t": len(words)})
    POSITION.put("")


def next_number(scene: Scene, found: TextReading) -> int:
    """Returns the number of a word to add, drawn from the seed and the length of the text."""
    chances = choice_probabilities(found.scores[-1], *_choice(len(found.scores[-1])))
    return drawn_word(chances, generator(scene.seed, f"word {len(found.scores)}"))


def _choice(words: int) -> tuple[float, int]:
    """Returns the temperature, and how many words can be chosen."""
    return float(TEMPERATURE.value), words if TOP_K.value == ALL_WORDS else int(TOP_K.value)


def _add_word(scene: Scene, read: SymbolInput) -> None:
    """Adds the next word to the text; a callback."""
    _append(read, next_number(scene, reading(scene, read)))


def _append(read: SymbolInput, number: int) -> None:
    _put((*_words(read), symbol(read.symbols, number)))


def stop_writing() -> None:
    """Keeps what has been written as the text; a callback."""
    words = st.session_state.pop(WRITING, None)
    if words:
        _put(words)


def _show_writing(writer: Scene, words: Sequence[str]) -> None:
    """Shows the text while it is written, with one word more each time it draws itself again.

    Only then: while the whole page is drawn, its field and its sliders cannot be set.
    """
    first_time = [True]

    def draw() -> None:
        now = tuple(st.session_state.get(WRITING, words))
        if first_time:
            first_time.clear()
        elif WRITING in st.session_state:
            now = add_next_word(writer, now)
            st.session_state[WRITING] = now
            if is_complete(writer, now):
                stop_writing()
                st.rerun()
        read = padded_input(writer, now)
        found = writer.run_in_pool(partial(_run, writer, read))
        _show_reading(writer, read, found, len(now) - 1)

    with st.container():  # a fragment needs a container to draw itself again
        st.fragment(draw, run_every=BETWEEN_WORDS)()


def add_next_word(writer: Scene, words: Sequence[str]) -> tuple[str, ...]:
    """Returns a text with the word that the seed chooses for it."""
    read = padded_input(writer, words)
    number = next_number(writer, writer.run_in_pool(partial(_run, writer, read)))
    return (*words, symbol(read.symbols, number))


def is_complete(writer: Scene, words: Sequence[str]) -> bool:
    """Returns whether a story has ended, or has no more room."""
    return words[-1] == END or len(words) >= writer.settings["t"]


def padded_input(scene: Scene, words: Sequence[str]) -> SymbolInput:
    """Returns a text as the input of a scene, whose last places are empty."""
    symbols = tuple(typed.SEQUENCES[scene.entry.name].symbols(scene.settings["v"]))
    numbers = [symbols.index(word) for word in words]
    room = scene.settings["t"] - len(numbers)
    return SymbolInput(symbols, (*numbers, *[0] * room), len(numbers))


def _run(scene: Scene, read: SymbolInput) -> TextReading:
    text = torch.tensor(read.numbers, device=scene.device)
    with torch.no_grad():
        return read_text(scene.module, ncd.trace(scene.module, text), read.length)


# --- What is shown of it


def _show(scene: Scene, read: SymbolInput) -> None:
    """Shows what the page's run says of the text."""
    _show_reading(scene, read, reading(scene, read), POSITION.among(read.length, read.length - 1))


def _show_reading(scene: Scene, read: SymbolInput, found: TextReading, at: int) -> None:
    heads = tuple(found.maps)
    number = HEAD.among(len(heads), opening_head(found, at))
    words = tuple(markup.text(word) for word in _words(read))
    layers = list(dict.fromkeys(head.softmax for head in heads))
    head = heads[number]
    said = f"layer {layers.index(head.softmax) + 1}, head {head.number}"

    def picked(name: str, value: str) -> None:
        if name == ADD and value.isdecimal() and int(value) < len(read.symbols):
            st.session_state.pop(WRITING, None)
            _append(read, int(value))

    map_component.render(
        "next word",
        NEXT_WORD.controls,
        picked,
        head=f"<style>{CSS}</style>{_text_html(read, found, at, head)}"
        f'<div class="told">{HEAD.html(said, len(heads), number)}'
        f"<span>Shaded: how much this head looks from <b>{words[at]}</b> at each word.</span>"
        "</div>",
        side=_choices_html(scene, read, found, at),
        map=_map(read, found, at),
        foot=_notes_html(scene),
    )


def opening_head(found: TextReading, at: int) -> int:
    """Returns the head that looks most at one word before the one that a position holds."""
    if not at:
        return 0
    clear = [float(weights[at, :at].max()) for weights in found.maps.values()]
    return int(np.argmax(clear))


def _text_html(read: SymbolInput, found: TextReading, at: int, head: Head) -> str:
    """Returns the words as buttons, shaded where the head looks from the chosen one."""
    weights = found.maps[head][at].tolist()
    chances = [None, *found.word_probabilities(read.numbers[: read.length])]
    words = "".join(
        f'<button type="button" data-pick="{POSITION.action(i)}" '
        f'aria-pressed="{str(i == at).lower()}" style="--look:{100 * weight:.0f}%" '
        f'title="{_word_title(i, chance, weight)}">{markup.text(word)}</button> '
        for i, (word, chance, weight) in enumerate(zip(_words(read), chances, weights, strict=True))
    )
    return f'<p class="words">{words}</p>'


def _word_title(i: int, chance: float | None, weight: float) -> str:
    """Returns what is told of a word under the pointer."""
    before = "the first word" if chance is None else f"{chance:.1%} likely after the words before"
    return f"position {i}: {before}; weight {weight:.2f}"


def _choices_html(scene: Scene, read: SymbolInput, found: TextReading, at: int) -> str:
    """Returns the likeliest words as bars, each a button that adds it to the text."""
    scores = found.scores[at]
    chances = choice_probabilities(scores, *_choice(len(scores)))
    best = scores.topk(min(LIST_LENGTH, len(scores))).indices.tolist()
    colour, most = markup.colour("softmax", scene.dark), max(float(chances.max()), 1e-9)
    last = at == read.length - 1
    rows = [
        f"<tr{'' if share >= SMALLEST else ' class=idle'}><td>{_word_cell(read, i, last)}</td>"
        f"<td>{markup.meter(share / most if share >= SMALLEST else 0, colour, LONGEST)}</td>"
        f'<td class="number">{_percent(share)}</td></tr>'
        for i, share in ((i, float(chances[i])) for i in best)
    ]
    table = markup.table(("Next word", "", "probability"), rows, numbers=(2,))
    return f'<div class="next">{table}</div>'


def _percent(share: float) -> str:
    """Returns a probability in words: left out, small, or in per cent.

    >>> _percent(0), _percent(1e-5), _percent(0.25)
    ('left out', '&lt; 0.1%', '25.0%')
    """
    if not share:
        return "left out"
    return markup.text("< 0.1%") if share < SMALLEST else f"{share:.1%}"


def _word_cell(read: SymbolInput, number: int, last: bool) -> str:
    """Returns a word of the list; behind the last word of the text, a button that adds it."""
    word = markup.text(symbol(read.symbols, number))
    if not last or number >= len(read.symbols):
        return word
    return (
        f'<button type="button" class="plain" data-pick="{ADD}={number}" '
        f'title="add this word">{word}</button>'
    )


def _map(read: SymbolInput, found: TextReading, at: int) -> Heatmap:
    best = found.scores.argmax(-1)
    grid = found.probabilities[:, torch.arange(len(best)), best].numpy().astype(np.float32)
    names = [f"layer {i + 1}" for i in range(len(grid))]
    return Heatmap(
        f"next word {grid.shape}",
        "The probability that each layer gives to the model's guess",
        heatmap.pool(grid, heatmap.LARGE),
        ColourRange(0.0, 1.0),
        AxisLabels("after layer", "layer", names),
        AxisLabels("position", "position", _words(read), POSITION),
        value_label="probability",
        marks=tuple(CellFrame("one", row, at) for row in range(len(grid))[-1:]),
    )


def _notes_html(scene: Scene) -> str:
    return (
        "<p>The scores of a position are divided by the temperature, and of the k best a softmax "
        "makes probabilities. The map shows the model’s guess behind every word, and the "
        "probability that it already has after each layer: the last norm and the table of words "
        "are applied to what the layers have added up so far.</p>"
        f'<p class="muted">{numbers_origin(scene)}</p>'
    )
