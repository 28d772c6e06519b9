"""The presenter's view, and the buttons that lead to it: one component in the head of a page.

The browser alone walks the views: each is the address of a page, and a page is opened by its
address. So no run of a page has anything to do with it.
"""

from __future__ import annotations

from functools import cache

import streamlit as st

from ncd.drawing.base import style
from ncd.models import CATALOGUE, Entry
from ncd.view.base.static_files import static

# Before anything is shown: else the menu would be seen for a moment.
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
    """The source of the figure, and the buttons: copy the link, present, add what is seen."""
    _present(key="present", data={"source": entry.source, **_known()}, width="content")


@cache
def _known() -> dict[str, dict[str, str]]:
    """The titles of all pages, and what a colour of a dark drawing is in print."""
    names = (*style.COLOURS, *style.ROLES)
    return {
        "pages": {entry.name: entry.title for entry in CATALOGUE.values()},
        "light": {style.paint(name, dark=True): style.paint(name) for name in names},
    }
