"""The first page: a live diagram and the gallery."""

from __future__ import annotations

import streamlit as st

import ncd
from ncd import catalogue
from ncd.app.page import navigation, own_page
from ncd.app.page.own_page import OPENING
from ncd.app.panels.attention.attention_maps import weights
from ncd.app.parts import html_panel
from ncd.app.parts.heatmap import CellGrid
from ncd.app.parts.html_panel import read_static
from ncd.app.scene import own_entry, url
from ncd.app.scene.own_entry import prepare
from ncd.app.scene.scene import Scene
from ncd.app.state import link_text, selection
from ncd.app.state.cache import cached
from ncd.language.terms import Term
from ncd.site import entry_page, markup
from ncd.site.entry_page import GALLERY_CSS, GALLERY_HTML, GALLERY_JS, Card
from ncd.site.page_tables import inert
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.catalogue_entry import Entry
from ncd.systems.inputs.run_inputs import InputSpec
from ncd.systems.inputs.text_inputs import PAGE, doubt, known_words
from ncd.systems.training.sequence_data import ARE, IS, PROOFREADER_WORDS
from ncd.systems.training.trained_weights import LONGEST, proofreading, roles

# --- The live diagram of the first page: trained attention that reads a visitor's sentence

SENTENCE, HEADS, ASKS = "first sentence", "first heads", "first word"  # session keys
SAMPLE = "Anna Hill said , “ the keys by the door are old ” ."
USUAL, MOST = 4, 8  # heads
CSS = read_static("page/first_diagram.css")


@st.fragment
def show_first_diagram() -> None:
    """Shows the diagram beside a sentence, a slider, and where each head looks."""
    with st.container(key="first"):
        drawing, reading = st.columns([3, 2], gap="large")
        with reading:
            words = _sentence()
            h = st.slider("h · heads", 1, MOST, USUAL, key=HEADS)
            row = _asking(words)
            scene = _scene(words, h)
        with drawing:
            last = "" if scene.can_run else html_panel.OPENS
            html_panel.render(f"<style>{CSS}</style>{_drawing(scene)}{last}", "first diagram")
        if not scene.can_run:  # by the limits of this server
            return
        with reading:
            html = f"<style>{CSS}</style>{_looks(scene, words, row)}{html_panel.OPENS}"
            html_panel.render(html, "first looks", on_pick=_ask)


def _sentence() -> list[str]:
    """Shows the field for the sentence; returns its words, or those of the sample."""
    text = st.text_input(
        "A sentence, read by a small trained model",
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


def _ask(value: str) -> None:
    """Picks a word; a callback."""
    st.session_state[ASKS] = int(value) if value.isdecimal() and len(value) < 4 else None


def _scene(words: list[str], h: int) -> Scene:
    """Returns multi-head attention with h heads on the words, with the trained weights."""
    entry = CATALOGUE[PAGE]
    settings = entry.settings({"h": h, "y": len(words), "x": len(words)})
    wide = min(selection.width(), selection.WIDTHS[-2])  # beside the sentence, or above it
    feed = InputSpec({"y": tuple(words), "x": tuple(words)}, trained=True)
    return Scene(
        entry,
        settings,
        0,
        "cpu",
        feed,
        st.context.theme.type == "dark",
        "names" if wide == selection.WIDTHS[0] else "both",
        "",
        entry.build(**settings),
        show_callouts=False,
        column_width=wide,
        loaded_weights=proofreading(h, 0),
    )


def _drawing(scene: Scene) -> str:
    """Returns the diagram, and a line on what the number of heads has changed."""
    svg = cached(
        "first diagram",
        scene.term,
        scene.dark,
        scene.width,
        make=lambda: inert(ncd.draw(scene.term, **scene.draw_options).svg(fonts=False)),
    )
    h, k, m = (scene.settings[name] for name in "hkm")
    line = (
        f"<b>{markup.plural(h, 'head')}</b> of {k} features each: {scene.cost.parameters:,} "
        f"parameters, {4 * m * k:,} for each head. What comes out has the same {m} features "
        "for each word, however many heads there are."
    )
    return f'<div class="figure">{svg}</div><p role="status">{line}</p>'


def _looks(scene: Scene, words: list[str], row: int) -> str:
    """Returns a line for each head: the words, shaded by the attention weights of the query."""
    (cell,) = (cell for cell in scene.circuit.cells if cell.op.role == "softmax")
    maps = scene.run_in_pool(lambda: weights(cell, scene.trace.values[cell.outputs[0].id])).maps
    known = roles() if not doubt(words) else [f"head {i}" for i in range(len(roles()))]
    said = (*known, *["not trained"] * MOST)
    lines = (
        f"<tr><th>{markup.text(name)}</th><td>{_shaded(map[row], words)}</td></tr>"
        for map, name in zip(maps, said, strict=False)
    )
    buttons = " ".join(
        f'<button type="button" data-pick="{i}" aria-pressed="{str(i == row).lower()}">'
        f"{markup.text(word)}</button>"
        for i, word in enumerate(words)
    )
    asked = f'<p class="asked">Where does a word look? {buttons}</p>'
    table = f'<table class="looks">{"".join(lines)}</table>'
    name = 'tabindex="0" role="group" aria-label="Where each head looks"'
    return f'{asked}<div class="rows" {name}>{table}</div>'


def _shaded(row: CellGrid, words: list[str]) -> str:
    """Returns the words with their weights as shades."""
    return " ".join(
        f'<span style="--weight:{60 * share:.0f}%" title="{share:.2f}">{markup.text(word)}</span>'
        for share, word in zip(row.tolist(), words, strict=True)
    )


# --- The first page: a gallery of all systems that can be searched by name, op and axis

LEAD = """
Deep learning systems drawn as circuits, and run: every wire is an axis of an array, every shape is
an operation. This is attention with four heads that have learned to correct sentences. Change the
sentence, ask another word, give it fewer heads or more.
"""

START_LINKS = """
**New here?** [How to read a diagram](legend), then [multi-head attention](multi-head-attention)
step by step. **You teach?** Every page has a lesson with questions, and a code that opens it on
phones: [see one](multi-head-attention?present=lesson), or [a quiz](multi-head-attention?quiz=1).
"""
PASTE = "Paste your own PyTorch, and see what comes out of it, or what fails and its cure"
PASTED = "paste"  # a session key
YOURS = "pages/yours.py"

_gallery = st.components.v2.component(
    "ncd_gallery", html=GALLERY_HTML, css=GALLERY_CSS, js=GALLERY_JS
)


def show() -> None:
    """Shows a title, a live diagram and the gallery."""
    url.load("home")
    st.title(navigation.TITLE, anchor=False)
    st.markdown(LEAD)
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
            key=PASTED,
            height=80,
            max_chars=link_text.LONGEST,
            placeholder="class Net(nn.Module): …   or nn.Conv2d(3, 64, 7), or an einsum",
        )
        pressed = st.button("Read it")
    if text.strip() or pressed:
        st.session_state[own_entry.TEXT_KEY] = own_page.edited(text) or OPENING
        st.switch_page(YOURS)


def card(entry: Entry, dark: bool) -> Card:
    """Returns the card of a system at its defaults."""
    term = entry.build()
    return cached("card", term, entry.name, dark, make=lambda: _card(entry, term, dark))


def _card(entry: Entry, term: Term, dark: bool) -> Card:
    drawing = ncd.draw(term, dark=dark, **entry.look({}, notes=False))
    found = entry_page.card(entry, term, drawing)
    return {**found, "svg": inert(drawing.svg(fonts=False))}
