"""The cards of the gallery: what a system is found by."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NotRequired, TypedDict

from ncd.drawing import Drawing
from ncd.key import key
from ncd.lang.circuits.elaborate import elaborate
from ncd.lang.terms.terms import Term
from ncd.models import Entry
from ncd.models.search_topics import topics
from ncd.static_site.page_prose import lead

FOLDER = Path(__file__).parent
GALLERY_CSS, GALLERY_JS = ((FOLDER / f"gallery.{end}").read_text() for end in ("css", "js"))
GALLERY_HTML = """<search><label>Search
<input type="search" placeholder="a name, an op, an axis"></label>
<span class="count" role="status"></span></search>
<div class="cards"></div>"""
MODULE = re.compile(r"\bnn\.\w+")


class Card(TypedDict):
    """A system in the gallery; it is found by its names, its ``ops`` and its ``axes``.

    ``also`` are published models with its sizes, and the modules of PyTorch that it uses;
    ``topics`` are what else it is searched for, with its place among the answers. ``svg`` is its
    picture, or ``picture`` the address of it; ``href`` is the address of its page if that is not
    its name.
    """

    name: str
    title: str
    section: str
    source: str
    lead: str
    ops: list[str]
    axes: list[str]
    also: list[str]
    topics: dict[str, int]
    svg: NotRequired[str]
    picture: NotRequired[str]
    href: NotRequired[str]


def card(entry: Entry, term: Term, drawing: Drawing) -> Card:
    """Returns the card of a system without its picture."""
    circuit = elaborate(term)
    labels = (cell.op.label for cell in circuit.cells)
    found = [one.sign for one in key(drawing) if one.ids("node")]
    modules = (name for sign in found for name in MODULE.findall(sign.code))
    return Card(
        name=entry.name,
        title=entry.title,
        section=entry.section,
        source=entry.source,
        lead=lead(entry),
        ops=list(dict.fromkeys((*labels, *(sign.title for sign in found)))),
        axes=list(dict.fromkeys(axis.name for axis in circuit.axes)),
        also=list(dict.fromkeys((*(preset.title for preset in entry.presets), *modules))),
        topics=topics(entry.name),
    )
