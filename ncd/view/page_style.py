"""What every page needs: fonts and a few rules, a description, links that stay in the app.

Fonts and rules are a file that the browser keeps, named in the page's HTML (:mod:`ncd.view.site`):
no run has to send them.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import streamlit as st

from ncd.drawing.fonts import all_faces_css
from ncd.models import CATALOGUE
from ncd.view import menu

FOLDER = Path(__file__).parent


class File(NamedTuple):
    """A file as it is sent; its name changes with what is in it."""

    name: str
    kind: str
    text: str

    @classmethod
    def of(cls, end: str, kind: str, text: str) -> File:
        return cls(f"ncd-{sha256(text.encode()).hexdigest()[:12]}.{end}", kind, text)


# Inside a shadow root @font-face does nothing; in the document it serves every shadow root.
SHEET = File.of("css", "text/css", all_faces_css() + (FOLDER / "page.css").read_text())
FILES = {SHEET.name: SHEET}
TAGS = f'<link rel="stylesheet" href="./{SHEET.name}">'  # at the end, as the last rules win

_page = st.components.v2.component("ncd_page", js=(FOLDER / "page.js").read_text())


def show(lead: str) -> None:
    """What the page says first becomes its description; a link to another page opens it here."""
    _page(key="page", data={"words": menu.plain(lead), "pages": ["", "legend", *CATALOGUE]})
