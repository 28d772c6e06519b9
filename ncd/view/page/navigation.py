"""The navigation: a page for each system of the catalogue, under its section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from functools import cache, partial

import streamlit as st

from ncd.models import CATALOGUE
from ncd.static_site.page_prose import file
from ncd.view.page import own_page
from ncd.view.session.own_entry import SERVED

TITLE = "Neural circuits"


def pages() -> Mapping[str, Sequence[st.Page]]:
    """Returns copies of all pages by section; home and legend have the empty section."""
    return {section: list(map(copy, own)) for section, own in _pages().items()}


@cache
def _pages() -> Mapping[str, Sequence[st.Page]]:
    """Returns all pages by section, made once: for each of them Streamlit reads the disk."""
    first = [
        st.Page("pages/home.py", title=TITLE, default=True),
        st.Page("pages/legend.py", title="Legend", url_path="legend"),
        st.Page("pages/yours.py", title="Yours", url_path="yours"),
    ]
    sections = {
        name: [st.Page(file(entry), title=entry.title, url_path=entry.name) for entry in own]
        for name, own in CATALOGUE.sections.items()
    }
    own = [
        st.Page(partial(own_page.show_served, name), title=entry.title, url_path=name)
        for name, entry in SERVED.items()
    ]
    return {"": first, **({"Your modules": own} if own else {}), **sections}


def heading(title: str) -> str:
    """Returns the title of a page in the browser's tab.

    >>> heading("Residual block")
    'Residual block · Neural circuits'
    """
    return title if title == TITLE else f"{title} · {TITLE}"
