"""The first page: every system of the catalogue, drawn, to be searched by name, op and axis."""

from __future__ import annotations

from typing import TypedDict

import streamlit as st

import ncd
from ncd import catalogue
from ncd.key import key
from ncd.lang.elaborate import elaborate
from ncd.lang.terms import Term
from ncd.models import Entry
from ncd.view import legend, link, menu
from ncd.view.cache import remember
from ncd.view.panel import FOLDER

LEAD = """
Deep learning systems drawn as circuits: every wire is an axis of an array, every shape is an
operation. Each page is made from one definition, so the drawing, the shapes, the run and the source
always agree. New to the signs? The [Legend](legend) has them all, and every page has a key to its
own.
"""

_gallery = st.components.v2.component(
    "ncd_gallery",
    html="""<search><label>Search <input type="search" placeholder="a name, an op, an axis"></label>
<span class="count" role="status"></span></search>
<div class="cards"></div>""",
    css=(FOLDER / "home.css").read_text(),
    js=(FOLDER / "home.js").read_text(),
)


class Card(TypedDict):
    """A system in the gallery; ``ops`` and ``axes`` are what it is found by besides its name."""

    name: str
    title: str
    section: str
    source: str
    lead: str
    ops: list[str]
    axes: list[str]
    svg: str


def show() -> None:
    """A title, a sentence, and the gallery."""
    link.take("home")
    st.title(menu.TITLE, anchor=False)
    st.markdown(LEAD)
    dark = st.context.theme.type == "dark"
    _gallery(key="gallery", data=[card(entry, dark) for entry in catalogue.values()])


def card(entry: Entry, dark: bool) -> Card:
    """A system at its defaults."""
    term = entry.build()
    return remember("card", term, entry.name, dark, make=lambda: _card(entry, term, dark))


def _card(entry: Entry, term: Term, dark: bool) -> Card:
    circuit, drawing = elaborate(term), ncd.draw(term, dark=dark, **entry.look({}, notes=False))
    labels = (cell.op.label for cell in circuit.cells)
    signs = (found.sign.title for found in key(drawing) if found.ids("node"))
    return Card(
        name=entry.name,
        title=entry.title,
        section=entry.section,
        source=entry.source,
        lead=menu.lead(entry),
        ops=list(dict.fromkeys((*labels, *signs))),
        axes=list(dict.fromkeys(axis.name for axis in circuit.axes)),
        svg=legend.still(drawing.svg(fonts=False)),
    )
