"""The first page: every system of the catalogue, drawn small, with a link to its page."""

from __future__ import annotations

from base64 import b64encode

import streamlit as st

import ncd
from ncd import catalogue
from ncd.export import markup
from ncd.models import Entry
from ncd.view import menu, page_style
from ncd.view.cache import remember

LEAD = """
Deep learning systems drawn as circuits: every wire is an axis of an array, every shape is an
operation. Each page is made from one definition: the drawing, the shapes, the run and the source
always agree.
"""


def show() -> None:
    """A title, a sentence, and the gallery."""
    with st.sidebar:
        page_style.show()
    st.title(menu.TITLE, anchor=False)
    st.markdown(LEAD)
    dark = st.context.theme.type == "dark"
    for entry in catalogue.values():
        with st.container(border=True):
            st.page_link(menu.file(entry), label=f"**{entry.title}** · {entry.source}")
            st.html(picture(entry, dark))


def picture(entry: Entry, dark: bool) -> str:
    """The drawing of a system at its defaults, as an image."""
    term = entry.build()

    def draw() -> str:
        return ncd.draw(term, dark=dark).svg()

    data = b64encode(remember("gallery", term, dark, make=draw).encode()).decode()
    alt = f"The circuit of {markup.text(entry.title)}"
    style = "max-height:240px;max-width:100%"
    return f'<img alt="{alt}" src="data:image/svg+xml;base64,{data}" style="{style}">'
