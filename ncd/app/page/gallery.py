"""The first page: a sentence in trained attention, and a gallery to search by name, op and axis."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import streamlit as st
import torch
from torch import Tensor

import ncd
from ncd import catalogue
from ncd.app.page import navigation, own_page
from ncd.app.page.own_page import OPENING
from ncd.app.panels.attention.attention_maps import weights
from ncd.app.parts import html_panel
from ncd.app.parts.html_panel import read_static
from ncd.app.scene import url
from ncd.app.scene.own_entry import prepare
from ncd.app.scene.scene import Scene
from ncd.app.state import link_text, selection
from ncd.app.state.cache import CACHE, cached_value, get_or_make
from ncd.drawing.elements.primitives import Thumbnail
from ncd.errors import LimitError
from ncd.explain.colour_scale import CellGrid
from ncd.explain.thumbnails import thumbnails
from ncd.language.terms import Term
from ncd.run.head_switches import Head, disable_heads, find_attention
from ncd.run.module import CircuitModule, Trace
from ncd.site import entry_page, markup
from ncd.site.entry_page import GALLERY_CSS, GALLERY_HTML, Card
from ncd.site.page_tables import inert
from ncd.site.scripts import script
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.inputs.text_inputs import PAGE, doubt, known_words
from ncd.systems.training.head_analysis import run
from ncd.systems.training.sequence_data import (
    ARE,
    IS,
    NOT_ASKED,
    NUMBER,
    PROOFREADER_WORDS,
    SEQUENCES,
)
from ncd.systems.training.trained_weights import (
    LONGEST,
    proofreading,
    read_weights,
    roles,
    shipped_weights,
)

# --- The diagram of the first page: a sentence runs through trained attention, which corrects it


SENTENCE, HEADS, ASKS, CUT = "first sentence", "first heads", "first word", "first cut"
SAMPLE = "the keys by the door is old ."
USUAL, MOST = 4, 8  # heads
PHONE = selection.WIDTHS[0]
PICTURED_ROLES = ("input", "linear", "softmax")  # the roles of what makes the arrays with pictures
READER = CATALOGUE["proofreader"]
CSS = read_static("page/first_diagram.css")


@st.fragment
def show_first_diagram() -> None:
    """Shows the sentence, the diagram that it runs through, and where each head looks."""
    with st.container(key="first"):
        field, slider = st.columns([3, 2], gap="large")
        with field:
            words = _sentence()
        with slider:
            h = st.slider("h · heads", 1, MOST, USUAL, key=HEADS)
        scene, row, cut = _scene(words, h), _asking(words), _cut(h)
        parts = [_drawing(scene, row, cut), _sizes(scene)]
        if scene.can_run:  # by the limits of this server
            parts = [
                _word_buttons(words, row, h, cut),
                parts[0],
                _looks(scene, words, row, cut),
                parts[1],
            ]
        html = f"<style>{CSS}</style>{''.join(parts)}{html_panel.OPENS}"
        html_panel.render(html, "first looks", on_pick=_pick)


def _sentence() -> list[str]:
    """Shows the field for the sentence; returns its words, or those of the sample."""
    text = st.text_input(
        "A sentence, with a mistake or without",
        SAMPLE,
        key=SENTENCE,
        max_chars=300,
        help=f"The words that it knows: {' '.join(PROOFREADER_WORDS)}",
    )
    words = known_words(text, PROOFREADER_WORDS)[:LONGEST]
    if why := doubt(words):
        st.caption(why)
    return words or known_words(SAMPLE, PROOFREADER_WORDS)


def _asking(words: list[str]) -> int:
    """Returns the position of the query word: the one picked, or the verb."""
    picked = st.session_state.get(ASKS)
    if isinstance(picked, int) and picked < len(words):
        return picked
    return next((i for i, word in enumerate(words) if word in (*IS, *ARE)), len(words) - 1)


def _cut(h: int) -> frozenset[int]:
    """Returns the heads that are switched off, of those that there are."""
    picked = st.session_state.get(CUT, frozenset())
    return frozenset(n for n in picked if n < h) if isinstance(picked, frozenset) else frozenset()


def _pick(value: str) -> None:
    """Picks a word, or switches a head off or on; a callback."""
    kind, _, text = value.rpartition("=")
    number = int(text) if text.isdecimal() and len(text) < 4 else None
    if kind == "cut" and number is not None:
        st.session_state[CUT] = _cut(MOST) ^ {number}
    elif not kind:
        st.session_state[ASKS] = number


def _scene(words: list[str], h: int) -> Scene:
    """Returns multi-head attention with h heads on the words, with the trained weights."""
    entry = CATALOGUE[PAGE]
    settings = entry.settings({"h": h, "y": len(words), "x": len(words)})
    feed = InputSpec({"y": tuple(words), "x": tuple(words)}, trained=True)
    return Scene(
        entry,
        settings,
        0,
        "cpu",
        feed,
        st.context.theme.type == "dark",
        "names",
        "",
        entry.build(**settings),
        show_callouts=False,
        column_width=PHONE if selection.width() == PHONE else None,
        loaded_weights=proofreading(h, 0),
    )


# --- What the heads do


class WrittenWord(NamedTuple):
    """The word that the proofreader writes at a position, and its probability."""

    word: str
    chance: float


def readings(words: Sequence[str], h: int, cut: frozenset[int]) -> list[WrittenWord | None]:
    """Returns what the proofreader writes with its first h heads but for some.

    It has learned to write verbs, pronouns, names and quotes; for other words there is None, and
    for all where this server's limits allow no run of it.

    >>> said = readings("the keys is old .".split(), 4, frozenset())
    >>> said[1], said[2].word
    (None, 'are')
    """
    key = ("first reading", *words, h, *sorted(cut))
    return get_or_make(CACHE, key, lambda: _readings(words, h, cut))


def _readings(words: Sequence[str], h: int, cut: frozenset[int]) -> list[WrittenWord | None]:
    try:
        module = get_or_make(CACHE, ("first reader",), _reader)
    except LimitError:
        return [None] * len(words)
    (attention,) = find_attention(module.circuit)
    off = [head for head in attention.heads if head.number >= h or head.number in cut]
    stop = NUMBER["."]
    tokens = [NUMBER.get(word, stop) for word in words] + [stop] * (LONGEST - len(words))
    chances = run(module, torch.tensor(tokens), off).softmax(-1)
    asked = SEQUENCES[READER.name].answers(torch.tensor([tokens]))[0] != NOT_ASKED
    every = zip(*chances.max(-1), asked.tolist(), strict=True)
    read = [
        WrittenWord(PROOFREADER_WORDS[int(n)], float(p)) if own else None for p, n, own in every
    ]
    return read[: len(words)] if not doubt(words) else [None] * len(words)


def _reader() -> CircuitModule:
    module = ncd.compile(READER.build())
    known = shipped_weights(READER, READER.settings({}))
    assert known is not None
    return read_weights(module, known.weights)


def _trace(scene: Scene, cut: frozenset[int]) -> Trace:
    """Returns the values of a run with some heads switched off."""
    if not cut:
        return scene.trace
    key = (*scene.run_key, *sorted(cut))
    return cached_value(
        "cut",
        scene.term,
        *key,
        make=lambda: scene.run_in_pool(lambda: _run_without_heads(scene, cut)),
    )


def _run_without_heads(scene: Scene, cut: frozenset[int]) -> Trace:
    circuit, values = scene.circuit, dict[str, Tensor]()
    (attention,) = find_attention(circuit)
    heads = [Head(attention.softmax.id, number) for number in cut]
    with torch.no_grad():
        watch = disable_heads(circuit, heads)
        outputs = scene.module.execute(scene.inputs, keep=values, watch=watch)
    return Trace(outputs, values)


# --- The parts of the page


def _word_buttons(words: list[str], row: int, h: int, cut: frozenset[int]) -> str:
    """Returns the words as buttons, each wrong one with the word that the heads put there."""
    written = readings(words, h, cut)
    buttons = "".join(
        f'<button type="button" data-pick="{i}" aria-pressed="{str(i == row).lower()}">'
        f"{_correction_html(word, read)}</button>"
        for i, (word, read) in enumerate(zip(words, written, strict=True))
    )
    return f'<p class="asked">{buttons}<span class="hint">Press a word to follow it.</span></p>'


def _correction_html(word: str, read: WrittenWord | None) -> str:
    if read is None or read.word == word:
        return markup.text(word)
    title = f"{read.word}, with probability {read.chance:.2f}"
    new = f'<ins title="{markup.text(title)}">{markup.text(read.word)}</ins>'
    return f"<del>{markup.text(word)}</del> {new}"


def _drawing(scene: Scene, row: int, cut: frozenset[int]) -> str:
    """Returns the diagram."""
    key = (*scene.run_key, scene.can_run, row, *sorted(cut), scene.dark, scene.width)
    svg = cached_value("first diagram", scene.term, *key, make=lambda: _svg(scene, row, cut))
    return f'<div class="figure">{svg}</div>'


def _sizes(scene: Scene) -> str:
    """Returns a line on what the number of heads has changed."""
    h, k, m = (scene.settings[name] for name in "hkm")
    line = (
        f"<b>{markup.plural(h, 'head')}</b> of {k} features each: {scene.cost.parameters:,} "
        f"parameters, {4 * m * k:,} for each head. What comes out has the same {m} features "
        "for each word, however many heads there are."
    )
    return f'<p class="line" role="status">{line}</p>'


def _svg(scene: Scene, row: int, cut: frozenset[int]) -> str:
    """Returns the diagram with the values of the sentence, where there is room for them."""
    pictures: dict[str, Thumbnail] = {}
    if scene.can_run and not scene.narrow:
        every = thumbnails(scene.module, _trace(scene, cut), dark=scene.dark, marked={"y": row})
        roles = {id: cell.op.role for id, cell in scene.circuit.producers.items()}
        pictures = {
            id: own for id, own in every.items() if roles.get(id, "input") in PICTURED_ROLES
        }
    drawing = ncd.draw(scene.term, **{**scene.draw_options, "thumbnails": pictures})
    return inert(drawing.svg(fonts=False))


def _looks(scene: Scene, words: list[str], row: int, cut: frozenset[int]) -> str:
    """Returns a card for each head: where the query word looks, and what happens without it."""
    (cell,) = (cell for cell in scene.circuit.cells if cell.op.role == "softmax")
    maps = scene.run_in_pool(lambda: weights(cell, scene.trace.values[cell.outputs[0].id])).maps
    known = roles() if not doubt(words) else [f"head {i}" for i in range(len(roles()))]
    titles = (*known, *["not trained"] * MOST)
    cards = (
        _head_card(
            n,
            titles[n],
            _shaded_words(map[row], words),
            _effect(words, row, len(maps), cut, n),
            cut,
        )
        for n, map in enumerate(maps)
    )
    name = 'tabindex="0" role="group" aria-label="Where each head looks"'
    return f'<div class="looks" {name}>{"".join(cards)}</div>'


def _head_card(n: int, title: str, look: str, effect: str, cut: frozenset[int]) -> str:
    word, pressed, kind = ("Put back", "true", ' class="cut"') if n in cut else ("Cut", "false", "")
    button = (
        f'<button type="button" data-pick="cut={n}" aria-pressed="{pressed}" '
        f'aria-label="{word} head {n + 1}">{word}</button>'
    )
    return (
        f'<section{kind}><p class="head">{n + 1} {markup.text(title)}{button}</p>'
        f'<p>{look}</p><p class="effect">{effect}</p></section>'
    )


def _effect(words: list[str], row: int, h: int, cut: frozenset[int], n: int) -> str:
    """Returns what the query word becomes where this head is cut, or comes back."""
    before, after = readings(words, h, cut)[row], readings(words, h, cut ^ {n})[row]
    if before is None or after is None:
        return "What it writes here is not known."
    lead = "With it" if n in cut else "Without it"
    still = " still" if before.word == after.word else ""
    return f"{lead}{still} <b>{markup.text(after.word)}</b> ({after.chance:.0%})"


def _shaded_words(row: CellGrid, words: list[str]) -> str:
    """Returns the words with their weights as shades."""
    return " ".join(
        f'<span style="--weight:{60 * share:.0f}%" title="{share:.2f}">{markup.text(word)}</span>'
        for share, word in zip(row.tolist(), words, strict=True)
    )


# --- The first page: a live diagram, and a gallery to search by name, op and axis


LEAD = """
Deep learning systems drawn as circuits, and run. A wire is an axis of an array, a shape an
operation; the pictures are the arrays of this sentence.
"""

# Beside the title, so that it takes no room from the diagram.
NINETY_SECONDS = """
<style>
.ninety {
  display: inline-block; padding: 0.5rem 1.1rem; border-radius: 0.6rem;
  font-weight: 600; text-decoration: none; color: #fff !important; background: #2b6a99;
}
.ninety:is(:hover, :focus-visible) { background: #1f527a; }
</style>
<a class="ninety" href="ninety-seconds">New here? Read it in 90 seconds</a>
"""
START_LINKS = """
**New here?** [Read it in 90 seconds](ninety-seconds), then
[multi-head attention](multi-head-attention?panel=Step) step by step; the [legend](legend) has every
sign. **You teach?** Every page has a lesson with questions, and a code that opens it on
phones: [see one](multi-head-attention?present=lesson), or [a quiz](multi-head-attention?quiz=1).
"""
PASTE = "Paste your own PyTorch, and see what comes out of it, or what fails and its cure"
PASTE_KEY = "paste"  # a session key
YOURS = "pages/yours.py"

_gallery = st.components.v2.component(
    "ncd_gallery", html=GALLERY_HTML, css=GALLERY_CSS, js=script("app/page/gallery.js")
)


def show() -> None:
    """Shows a title, a live diagram and the gallery."""
    url.load("home")
    with st.container(horizontal=True, vertical_alignment="center", key="head"):
        st.title(navigation.TITLE, anchor=False, width="content")
        st.markdown(LEAD)
        st.html(NINETY_SECONDS, width="content")
    show_first_diagram()
    _door()
    st.markdown(START_LINKS)
    dark = st.context.theme.type == "dark"
    _gallery(key="gallery", data=[card(entry, dark) for entry in catalogue.values()])


def _door() -> None:
    """Shows a field for a text, with which the page Yours opens."""
    prepare()
    with st.container(horizontal=True, vertical_alignment="bottom", key="door"):
        text = st.text_area(
            PASTE,
            key=PASTE_KEY,
            height=80,
            max_chars=link_text.LONGEST,
            placeholder="class Net(nn.Module): …   or nn.Conv2d(3, 64, 7), or an einsum",
        )
        pressed = st.button("Read it")
    if text.strip() or pressed:
        own_page.take_text(text or OPENING)
        st.switch_page(YOURS)


def card(entry: Entry, dark: bool) -> Card:
    """Returns the card of a system at its defaults."""
    term = entry.build()
    return cached_value("card", term, entry.name, dark, make=lambda: _card(entry, term, dark))


def _card(entry: Entry, term: Term, dark: bool) -> Card:
    drawing = ncd.draw(term, dark=dark, **entry.look({}, notes=False))
    found = entry_page.card(entry, term, drawing)
    return {**found, "svg": inert(drawing.svg(fonts=False))}
