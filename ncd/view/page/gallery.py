"""The first page: a gallery of all systems that can be searched by name, op and axis."""

from __future__ import annotations

import re
from typing import TypedDict

import streamlit as st

import ncd
from ncd import catalogue
from ncd.key import key
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.terms.terms import Term
from ncd.models import Entry
from ncd.view.base.cache import remember
from ncd.view.base.static_files import static
from ncd.view.diagram import legend
from ncd.view.page import first_diagram, navigation
from ncd.view.session import url

LEAD = """
Deep learning systems drawn as circuits, and run: every wire is an axis of an array, every shape is
an operation. This is attention with four heads that have learned to correct sentences. Change the
sentence, ask another word, take a head away.
"""

DOORS = """
**New here?** [How to read a diagram](legend), then [multi-head attention](multi-head-attention)
step by step. **You teach?** [A quiz on it](multi-head-attention?quiz=1), or *Present* on any page.
**Your own?** [Type a line of PyTorch, an einsum or a system](yours), and see what comes out.
"""

MODULE = re.compile(r"\bnn\.\w+")

_gallery = st.components.v2.component(
    "ncd_gallery",
    html="""<search><label>Search <input type="search" placeholder="a name, an op, an axis"></label>
<span class="count" role="status"></span></search>
<div class="cards"></div>""",
    css=static("page/gallery.css"),
    js=static("page/gallery.js"),
)


class Card(TypedDict):
    """A system in the gallery; it is found by its names, its ``ops`` and its ``axes``.

    ``also`` are published models with its sizes, and the modules of PyTorch that it uses.
    """

    name: str
    title: str
    section: str
    source: str
    lead: str
    ops: list[str]
    axes: list[str]
    also: list[str]
    svg: str


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
    circuit, drawing = elaborate(term), ncd.draw(term, dark=dark, **entry.look({}, notes=False))
    labels = (cell.op.label for cell in circuit.cells)
    found = [one.sign for one in key(drawing) if one.ids("node")]
    modules = (name for sign in found for name in MODULE.findall(sign.code))
    return Card(
        name=entry.name,
        title=entry.title,
        section=entry.section,
        source=entry.source,
        lead=navigation.lead(entry),
        ops=list(dict.fromkeys((*labels, *(sign.title for sign in found)))),
        axes=list(dict.fromkeys(axis.name for axis in circuit.axes)),
        also=list(dict.fromkeys((*(preset.title for preset in entry.presets), *modules))),
        svg=legend.inert(drawing.svg(fonts=False)),
    )
