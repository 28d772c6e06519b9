"""The menu: a page for each system of the catalogue, under its section."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from ncd.models import CATALOGUE, Entry

TITLE = "Neural circuits"


def file(entry: Entry) -> str:
    """The file of a system's page, in the folder of the app."""
    return f"pages/{entry.identifier}.py"


def pages() -> Mapping[str, Sequence[st.Page]]:
    """All pages by their sections; the first one stands above them."""
    first = [st.Page("pages/home.py", title=TITLE, default=True)]
    return {"": first, **{name: list(map(_page, own)) for name, own in CATALOGUE.sections.items()}}


def _page(entry: Entry) -> st.Page:
    return st.Page(file(entry), title=entry.title, url_path=entry.name)
