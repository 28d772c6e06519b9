"""The live diagram of the first page: trained attention that reads a visitor's sentence."""

from __future__ import annotations

import streamlit as st

import ncd
from ncd.export import markup
from ncd.export.page import legend_rows
from ncd.inputs.proofread_sentence import PAGE, doubt
from ncd.inputs.run_inputs import Feed
from ncd.inputs.symbol_input import known_words
from ncd.models import CATALOGUE
from ncd.train.learned_weights import proofreading
from ncd.train.proofreader_weights import LONGEST, roles
from ncd.train.sentence_patterns import ARE, IS, WORDS
from ncd.view.base import html_panel, selection
from ncd.view.base.cache import remember
from ncd.view.base.heatmap import Grid
from ncd.view.base.static_files import static
from ncd.view.panels.attention.attention_maps import weights
from ncd.view.session.scene import Scene

SENTENCE, HEADS, ASKS = "first sentence", "first heads", "first word"  # session keys
SAMPLE = "Anna Hill said , “ the keys by the door are old ” ."
USUAL, MOST = 4, 8  # heads
CSS = static("page/first_diagram.css")


@st.fragment
def show() -> None:
    """Shows the diagram beside a sentence, a slider, and where each head looks."""
    with st.container(key="first"):
        drawing, reading = st.columns([3, 2], gap="large")
        with reading:
            words = _sentence()
            h = st.slider("h · heads", 1, MOST, USUAL, key=HEADS)
            row = _asking(words)
            scene = _scene(words, h)
        with drawing:
            last = "" if scene.runs else html_panel.OPENS
            html_panel.show(f"<style>{CSS}</style>{_drawing(scene)}{last}", "first diagram")
        if not scene.runs:  # by the limits of this server
            return
        with reading:
            html = f"<style>{CSS}</style>{_looks(scene, words, row)}{html_panel.OPENS}"
            html_panel.show(html, "first looks", on_pick=_ask)


def _sentence() -> list[str]:
    """Shows the field for the sentence; returns its words, or those of the sample."""
    text = st.text_input(
        "A sentence, read by a small trained model",
        SAMPLE,
        key=SENTENCE,
        max_chars=300,
        help=f"The words that it knows: {' '.join(WORDS)}",
    )
    words = known_words(text, WORDS)[:LONGEST]
    if why := doubt(words):
        st.caption(why)
    return words or known_words(SAMPLE, WORDS)


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
    feed = Feed({"y": tuple(words), "x": tuple(words)}, trained=True)
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
        notes=False,
        wide=wide,
        learned=proofreading(h, 0),
    )


def _drawing(scene: Scene) -> str:
    """Returns the diagram, and a line on what the number of heads has changed."""
    svg = remember(
        "first diagram",
        scene.term,
        scene.dark,
        scene.width,
        make=lambda: legend_rows.inert(ncd.draw(scene.term, **scene.look).svg(fonts=False)),
    )
    h, k, m = (scene.settings[name] for name in "hkm")
    line = (
        f"<b>{markup.counted(h, 'head')}</b> of {k} features each: {scene.cost.parameters:,} "
        f"parameters, {4 * m * k:,} for each head. What comes out has the same {m} features "
        "for each word, however many heads there are."
    )
    return f'<div class="figure">{svg}</div><p role="status">{line}</p>'


def _looks(scene: Scene, words: list[str], row: int) -> str:
    """Returns a line for each head: the words, shaded by the attention weights of the query."""
    (cell,) = (cell for cell in scene.circuit.cells if cell.op.role == "softmax")
    maps = scene.work(lambda: weights(cell, scene.trace.values[cell.outputs[0].id])).maps
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


def _shaded(row: Grid, words: list[str]) -> str:
    """Returns the words with their weights as shades."""
    return " ".join(
        f'<span style="--weight:{60 * share:.0f}%" title="{share:.2f}">{markup.text(word)}</span>'
        for share, word in zip(row.tolist(), words, strict=True)
    )
