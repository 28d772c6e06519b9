"""The presenter view and its buttons: one component at the head of a page.

The browser alone walks through the views. Each view is the address of a page, so the page itself
needs no code for it.
"""

from __future__ import annotations

from functools import cache

import streamlit as st

from ncd.drawing.base import style
from ncd.models import CATALOGUE, Entry
from ncd.view.base.static_files import static

# Hides the menu before the first paint.
EARLY = """<script>
const presented = new URLSearchParams(location.search);
if (presented.has("present"))
  document.documentElement.dataset.present = presented.get("with") === "panel" ? "panel" : "alone";
</script>"""

JS = ("page/copy_link.js", "presenter/print.js", "presenter/view_list.js", "presenter/presenter.js")

_present = st.components.v2.component(
    "ncd_present",
    html=static("presenter/presenter.html"),
    css=static("presenter/presenter.css"),
    js=static(*JS),
)


def show(entry: Entry) -> None:
    """Shows the figure's source and the buttons: copy link, present, add this view."""
    _present(key="present", data={"source": entry.source, **_known()}, width="content")


@cache
def _known() -> dict[str, dict[str, str]]:
    """Returns the titles of all pages, and the print colour for each colour of a dark drawing."""
    names = (*style.COLOURS, *style.ROLES)
    return {
        "pages": {entry.name: entry.title for entry in CATALOGUE.values()},
        "light": {style.paint(name, dark=True): style.paint(name) for name in names},
    }
