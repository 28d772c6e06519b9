"""Fonts, style rules and descriptions that every page needs, in files that the browser caches.

The page's HTML links to them (:mod:`ncd.app.host.http`), so no run has to send them.
"""

from __future__ import annotations

import json

from ncd.app.figure.legend_page import LEAD
from ncd.app.page import gallery, navigation, own_page
from ncd.app.page.navigation import NOT_FOUND_TITLE, WORDS
from ncd.app.parts import text_editor
from ncd.app.parts.html_panel import StaticFile, read_static
from ncd.app.scene import own_entry
from ncd.drawing.elements import style
from ncd.drawing.elements.fonts import all_faces_css
from ncd.site.entry_page import lead, plain_text
from ncd.site.scripts import script
from ncd.systems.catalogue import CATALOGUE
from ncd.systems.search_topics import topics

NOT_FOUND_HEAD = navigation.heading(NOT_FOUND_TITLE), WORDS


def heads() -> dict[str, tuple[str, str]]:
    """Returns the title and the description of every page, by its address."""
    first = {
        "": (navigation.TITLE, gallery.LEAD),
        "legend": (navigation.heading("Legend"), LEAD),
        own_entry.CUSTOM_PAGE: (navigation.heading(own_page.TITLE), own_page.LEAD),
    }
    served = {
        own.name: (navigation.heading(own.title), own_page.SERVED_LEAD)
        for own in own_entry.SERVED_MODULES.values()
    }
    systems = {own.name: (navigation.heading(own.title), lead(own)) for own in CATALOGUE.values()}
    return {
        name: (title, plain_text(words))
        for name, (title, words) in (first | served | systems).items()
    }


def searched_pages() -> list[dict[str, object]]:
    """Returns what the search of every page knows of each: its names, topics and first sentence."""
    found: list[dict[str, object]] = []
    for name, (title, words) in HEADS.items():
        entry = CATALOGUE.get(name)
        found.append(
            {
                "name": name,
                "title": title.removesuffix(f" · {navigation.TITLE}"),
                "lead": words,
                "section": entry.section if entry else "",
                "source": entry.source if entry else "",
                "topics": topics(name),
                "also": [preset.title for preset in entry.presets] if entry else [],
                "axes": [],
                "ops": [],
            }
        )
    return found


HEADS = heads()
MENUS = {entry.name: navigation.menu_of(entry.section) for entry in CATALOGUE.values()}
PAINTS = (*style.COLOURS, *style.QUIET)
LIGHT = {
    style.paint_colour(name, dark=True): style.paint_colour(name) for name in PAINTS
}  # for paper
# Inside a shadow root @font-face does nothing; in the document it serves every shadow root.
SHEET = StaticFile.from_text("css", "text/css", all_faces_css() + read_static("page/page.css"))
SCRIPT = StaticFile.from_text(
    "js",
    "text/javascript",
    f"const PAGES = {json.dumps(HEADS)};\n"
    f"const LOST = {json.dumps(NOT_FOUND_HEAD[1])};\n"
    f"const MENUS = {json.dumps(MENUS)};\n"
    f"const LIGHT = {json.dumps(LIGHT)};\n"
    f"const SEARCHED_PAGES = {json.dumps(searched_pages())};\n"
    f"{script(*(f'app/page/{name}.js' for name in ('page', 'print', 'finder')))}",
)
FILES = {file.name: file for file in (SHEET, SCRIPT, text_editor.SCRIPT)}
# At the end, since later rules win; as a module, so that its names are not global.
TAGS = (
    f'<link rel="stylesheet" href="./{SHEET.name}">'
    f'<script type="module" src="./{SCRIPT.name}"></script>'
)
