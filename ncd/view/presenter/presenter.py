"""The presenter view and its buttons: one component at the head of a page.

The browser alone walks through the views. Each view is the address of a page, so the page itself
needs no code for it.
"""

from __future__ import annotations

import os
from functools import cache

import streamlit as st

from ncd.models import CATALOGUE, Entry
from ncd.view.base.static_files import static
from ncd.view.session.own_entry import NAME, SERVED

# Hides the menu before the first paint.
EARLY = """<script>
const presented = new URLSearchParams(location.search);
if (presented.has("present"))
  document.documentElement.dataset.present = presented.get("with") === "panel" ? "panel" : "alone";
</script>"""

FILES = ("view_list.js", "lesson.js", "presenter.js")
JS = ("page/copy_link.js", *(f"presenter/{file}" for file in FILES))

_present = st.components.v2.component(
    "ncd_present",
    html=static("presenter/presenter.html"),
    css=static("presenter/presenter.css"),
    js=static(*JS),
)


def show(entry: Entry) -> None:
    """Shows the buttons: copy link or code, lesson, present, add a view."""
    sizes = [knob.name for knob in entry.knobs]
    framed = bool(os.environ.get("NCD_FRAMES", "").strip())  # other sites may show it
    data = {"sizes": sizes, "framed": framed, "pages": _titles()}
    _present(key="present", data=data, width="content")


_leave = st.components.v2.component(
    "ncd_unpresented",
    js="""
export default function () {
  delete document.documentElement.dataset.present;
  const query = new URLSearchParams(location.search);
  if (!query.has("present")) return;
  for (const name of ["present", "with"]) query.delete(name);
  history.replaceState(history.state, "", `${location.pathname}${query.size ? `?${query}` : ""}`);
}
""",
)


def leave() -> None:
    """Leaves the presenter view on a page that has nothing to present: its text is corrected."""
    _leave(key="unpresented")


@cache
def _titles() -> dict[str, str]:
    """Returns the titles of all pages, by their names."""
    return {name: entry.title for name, entry in (CATALOGUE | SERVED).items()} | {NAME: "Yours"}
