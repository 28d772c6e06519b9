"""The legend as HTML: the drawer below a diagram, and the page of all signs."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

import streamlit as st

from ncd import catalogue
from ncd.app.parts import html_panel
from ncd.app.scene import url
from ncd.drawing.elements.primitives import DrawingData
from ncd.drawing.legend.legend import COLOURS, GROUPS, SIGNS, PlacedSign, legend_entries
from ncd.drawing.pipeline import draw
from ncd.site import markup
from ncd.site.markup import LEGEND_CSS
from ncd.site.page_tables import colour, places, row, rules

CSS = LEGEND_CSS
FAMILIAR_SIGNS = GROUPS["Axes and arrays"]
MAX_SIGN_PAGES = 3  # pages named with each sign


def legend_html(drawing: DrawingData, dark: bool) -> str:
    """Returns the signs of a drawing in a closed drawer; each highlights its places."""
    blocks = tuple((fence.role, fence.id) for fence in drawing.fences if not fence.brackets)
    return _drawer(legend_entries(drawing), blocks, dark)


@lru_cache(maxsize=256)
def _drawer(found: tuple[PlacedSign, ...], blocks: tuple[tuple[str, str], ...], dark: bool) -> str:
    """Returns the drawer for the signs and blocks found; cached, as sizes do not change it."""
    colours = _colours(blocks, dark)
    rows = "".join(
        row(each.sign, dark, places(each), colours if each.sign.name == "fence" else "")
        for each in sorted(
            found, key=lambda each: each.sign in FAMILIAR_SIGNS
        )  # the familiar signs last
    )
    count = markup.plural(len(found), "sign")
    return (
        f"{rules((each.sign for each in found), dark)}"
        f'<details class="key"><summary>Key to the {count} in this diagram</summary>'
        f'<div class="sheet"><ul class="signs">{rows}</ul>'
        '<p><a href="legend">All signs of the notation</a> · '
        '<a href="ninety-seconds">Read it in 90 seconds</a></p></div></details>'
    )


def _colours(blocks: Iterable[tuple[str, str]], dark: bool) -> str:
    """Returns the colours of a drawing's blocks, each highlighted with its blocks."""
    ids: dict[str, list[str]] = {}
    for role, id in blocks:
        ids.setdefault(role, []).append(id)
    chips = (
        f'<span data-fence="{" ".join(own)}">{colour(role, dark)}</span>'
        for role, own in ids.items()
    )
    return f'<p class="colours">{" ".join(chips)}</p>'


# --- the page ------------------------------------------------------------------------------------

TITLE = "Legend"
LEAD = """
A circuit is read from left to right, as the numbers go. Wires are the axes of arrays, and what
stands in them is done to the arrays. Below is every sign, drawn as in the circuits, with the line
of PyTorch or einops that does the same, and pages on which to see it.
"""
BEGINNERS_LINK = (
    "New to all of this? [Read it in 90 seconds](ninety-seconds): six steps on one picture."
)


def show() -> None:
    """Shows the page of all signs, by group."""
    url.load("legend")
    st.title(TITLE, anchor=False)
    st.markdown(LEAD)
    st.markdown(BEGINNERS_LINK)
    html_panel.render(all_signs(st.context.theme.type == "dark"), "legend")


@lru_cache(maxsize=2)
def all_signs(dark: bool) -> str:
    """Returns all signs by group, then the colours."""
    used = _sign_page_links()
    style = f"<style>{CSS}</style>{rules(SIGNS.values(), dark)}"
    groups = "".join(
        f"<h2>{name}</h2><ul class='signs'>"
        + "".join(row(sign, dark, {"id": sign.name}, used.get(sign.name, "")) for sign in group)
        + "</ul>"
        for name, group in GROUPS.items()
    )
    colours = "".join(f"<li>{colour(role, dark)}</li>" for role in COLOURS)
    return f"{style}{groups}<h2>Colours</h2><ul class='signs'>{colours}</ul>"


def _sign_page_links() -> dict[str, str]:
    """Returns links to the pages on which each sign occurs."""
    pages: dict[str, list[str]] = {}
    for entry in catalogue.values():
        for found in legend_entries(draw(entry.build())):
            page = f'<a href="{entry.name}">{markup.text(entry.title)}</a>'
            pages.setdefault(found.sign.name, []).append(page)
    return {
        name: f'<p class="used">{", ".join(links[:MAX_SIGN_PAGES])}</p>'
        for name, links in pages.items()
    }
