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
from ncd.view.page import first_diagram, navigation
from ncd.view.session import url

LEAD = """
Deep learning systems drawn as circuits, and run: every wire is an axis of an array, every shape is
an operation. This is attention with four heads that have learned to correct sentences. Change the
sentence, ask another word, give it fewer heads or more.
"""

DOORS = """
**New here?** [How to read a diagram](legend), then [multi-head attention](multi-head-attention)
step by step. **You teach?** Every page has a lesson with questions, and a code that opens it on
phones: [see one](multi-head-attention?present=lesson), or [a quiz](multi-head-attention?quiz=1).
**Your own?** [Type a line of PyTorch, an einsum or a system](yours), and see what comes out.
"""

_gallery = st.components.v2.component(
    "ncd_gallery", html=GALLERY_HTML, css=GALLERY_CSS, js=GALLERY_JS
)


def show() -> None:
    """Shows a title, a live diagram and the gallery."""
    url.take("home")
    st.title(navigation.TITLE, anchor=False)
    st.markdown(LEAD)
    first_diagram.show()
    st.markdown(DOORS)
    dark = st.context.theme.type == "dark"
    _gallery(key="gallery", data=[card(entry, dark) for entry in catalogue.values()])


def card(entry: Entry, dark: bool) -> Card:
    """Returns the card of a system at its defaults."""
    term = entry.build()
    return remember("card", term, entry.name, dark, make=lambda: _card(entry, term, dark))


def _card(entry: Entry, term: Term, dark: bool) -> Card:
    drawing = ncd.draw(term, dark=dark, **entry.look({}, notes=False))
    found = gallery_cards.card(entry, term, drawing)
    return {**found, "svg": legend_rows.inert(drawing.svg(fonts=False))}
