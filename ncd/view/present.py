"""The presenter's view, and the buttons that lead to it: one component in the head of a page.

The browser alone walks the views: each is the address of a page, and a page is opened by its
address. So no run of a page has anything to do with it.
"""

from __future__ import annotations

import streamlit as st

from ncd.drawing import style
from ncd.models import CATALOGUE
from ncd.view.panel import FOLDER

# Before anything is shown: else the menu would be seen for a moment.
EARLY = """<script>
const presented = new URLSearchParams(location.search);
if (presented.has("present"))
  document.documentElement.dataset.present = presented.get("with") === "panel" ? "panel" : "alone";
</script>"""

JS = ("share", "print", "views", "present")

_present = st.components.v2.component(
    "ncd_present",
    html=(FOLDER / "present.html").read_text(),
    css=(FOLDER / "present.css").read_text(),
    js="".join((FOLDER / f"{name}.js").read_text() for name in JS),
)


def show() -> None:
    """The buttons of the head: copy the link, present, and add what is seen to the list."""
    titles = {entry.name: entry.title for entry in CATALOGUE.values()}
    names = (*style.COLOURS, *style.ROLES)
    light = {style.paint(name, dark=True): style.paint(name) for name in names}
    _present(key="present", data={"pages": titles, "light": light}, width="content")
