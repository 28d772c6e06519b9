"""The first page: a gallery of all systems that can be searched by name, op and axis."""

from __future__ import annotations

import streamlit as st

import ncd
from ncd import catalogue
from ncd.export.page import legend_rows
from ncd.lang.terms.terms import Term
from ncd.models import Entry
from ncd.static_site import gallery_cards
from ncd.static_site.gallery_cards import GALLERY_CSS, GALLERY_HTML, GALLERY_JS, Card
from ncd.view.base.cache import remember
from ncd.view.page import first_diagram, navigation, own_page
from ncd.view.page.own_examples import OPENING
from ncd.view.session import link_text, own_entry, pasted_source, url

LEAD = """
Deep learning systems drawn as circuits, and run: every wire is an axis of an array, every shape is
an operation. This is attention with four heads that have learned to correct sentences. Change the
sentence, ask another word, give it fewer heads or more.
"""

DOORS = """
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
    url.take("home")
    st.title(navigation.TITLE, anchor=False)
    st.markdown(LEAD)
    first_diagram.show()
    _door()
    st.markdown(DOORS)
    dark = st.context.theme.type == "dark"
    _gallery(key="gallery", data=[card(entry, dark) for entry in catalogue.values()])


def _door() -> None:
    """Shows a field for a text, with which the page Yours opens."""
    pasted_source.prepare()
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
        st.session_state[own_entry.TEXT] = own_page.edited(text) or OPENING
        st.switch_page(YOURS)


def card(entry: Entry, dark: bool) -> Card:
    """Returns the card of a system at its defaults."""
    term = entry.build()
    return remember("card", term, entry.name, dark, make=lambda: _card(entry, term, dark))


def _card(entry: Entry, term: Term, dark: bool) -> Card:
    drawing = ncd.draw(term, dark=dark, **entry.look({}, notes=False))
    found = gallery_cards.card(entry, term, drawing)
    return {**found, "svg": legend_rows.inert(drawing.svg(fonts=False))}
