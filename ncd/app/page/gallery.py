"""The first page: a live diagram, and a gallery to search by name, op and axis."""

from __future__ import annotations

import streamlit as st

import ncd
from ncd import catalogue
from ncd.app.page import navigation, own_page
from ncd.app.page.first_diagram import show_first_diagram
from ncd.app.page.own_page import OPENING
from ncd.app.scene import url
from ncd.app.scene.own_entry import prepare
from ncd.app.state import link_text
from ncd.app.state.cache import cached_value
from ncd.language.terms import Term
from ncd.site import entry_page
from ncd.site.entry_page import GALLERY_CSS, GALLERY_HTML, Card
from ncd.site.page_tables import inert
from ncd.site.scripts import script
from ncd.systems.catalogue_entry import Entry

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
