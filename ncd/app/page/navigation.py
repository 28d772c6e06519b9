"""The pages by section, and the page for an unknown address."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from difflib import SequenceMatcher
from functools import cache, partial
from itertools import product
from urllib.parse import unquote, urlsplit

import streamlit as st

from ncd.app.page import own_page
from ncd.app.scene import url
from ncd.app.scene.own_entry import SERVED_MODULES
from ncd.site.entry_page import file
from ncd.systems.catalogue import CATALOGUE

# --- The navigation: a page for each system of the catalogue, in the menu of its section

TITLE = "Neural circuits"
MENUS = {  # few enough to stand in a row at 1280 pixels; the first page shows the sections
    "Attention": ("Attention", "Components", "Learned attention"),
    "Language": ("Transformers", "Language models", "Recurrent networks"),
    "Images": ("Convolution", "Images", "Graphs"),
    "Foundations": (
        "Tensors",
        "Linear algebra",
        "Learning",
        "Training",
        "Normalisation",
        "Memory levels",
    ),
}


def menu_of(section: str) -> str:
    """Returns the menu that has the pages of a section.

    >>> menu_of("Transformers"), menu_of("Images")
    ('Language', 'Images')
    """
    return next(menu for menu, sections in MENUS.items() if section in sections)


def pages() -> Mapping[str, Sequence[st.Page]]:
    """Returns copies of all pages by menu; home, legend and one's own page have none."""
    return {menu: list(map(copy, own)) for menu, own in _pages().items()}


@cache
def _pages() -> Mapping[str, Sequence[st.Page]]:
    """Returns all pages by menu, made once: for each of them Streamlit reads the disk."""
    first = [
        st.Page("pages/home.py", title=TITLE, default=True),
        st.Page("pages/legend.py", title="Legend", url_path="legend"),
        st.Page("pages/yours.py", title="Yours", url_path="yours"),
    ]
    systems: dict[str, list[st.Page]] = {menu: [] for menu in MENUS}
    for entry in CATALOGUE.values():
        page = st.Page(file(entry), title=entry.title, url_path=entry.name)
        systems[menu_of(entry.section)].append(page)
    own = [
        st.Page(partial(own_page.show_served, name), title=entry.title, url_path=name)
        for name, entry in SERVED_MODULES.items()
    ]
    return {"": first, **({"Your modules": own} if own else {}), **systems}


def heading(title: str) -> str:
    """Returns the title of a page in the browser's tab.

    >>> heading("Residual block")
    'Residual block · Neural circuits'
    """
    return title if title == TITLE else f"{title} · {TITLE}"


# --- The page for an unknown address; it links to the nearest known ones

NOT_FOUND_TITLE = "No such page"
WORDS = "No page has this address. The nearest ones are named here."
REQUESTED_KEY = "asked"
WAYS, ALIKE = 3, 0.7


def with_not_found(pages: Mapping[str, Sequence[st.Page]]) -> dict[str, Sequence[st.Page]]:
    """Returns the pages, and a not-found page if the address is unknown.

    The extra page stays in the session, so that the browser's Back finds it.
    """
    known = {page.url_path: page for own in pages.values() for page in own}
    asked = unquote(urlsplit(st.context.url or "").path).rpartition("/")[2].strip()
    if asked and asked not in known:
        st.session_state[REQUESTED_KEY] = asked
    asked = st.session_state.get(REQUESTED_KEY, "")
    if not asked:
        return dict(pages)
    lost = st.Page(
        partial(show, asked, known), title=NOT_FOUND_TITLE, url_path=asked, visibility="hidden"
    )
    return {**pages, "": (*pages[""], lost)}


def show(asked: str, known: Mapping[str, st.Page]) -> None:
    """Shows the unknown address and links to similar ones."""
    url.load("lost")
    st.title(NOT_FOUND_TITLE, anchor=False)
    st.text(f"There is no page “{asked[:60]}” here.")
    names = nearest(asked, known)
    st.markdown("Perhaps this was meant:" if names else "These are the pages:")
    with st.container(key="pages"):
        for name in names or known:
            st.page_link(known[name], label=known[name].title)
        if names:
            st.page_link(known[""], label="All systems")


def nearest(asked: str, known: Iterable[str]) -> list[str]:
    """Returns the known names that resemble the given one, as a whole or by a word, best first.

    >>> nearest("Notes_on_UNet", ("residual-block", "unet"))
    ['unet']
    >>> nearest("mult-head-attention", ("visual-attention", "multi-head-attention", "unet"))
    ['multi-head-attention', 'visual-attention']
    >>> nearest("resnet", ("lenet", "identity-resnet"))
    ['identity-resnet', 'lenet']
    """
    wanted = parts(asked.lower().replace("_", "-").removesuffix(".py"))
    whole, word = {}, {}
    for name in filter(None, known):
        whole[name] = _likeness(wanted[0], name)
        word[name] = max(_likeness(*pair) for pair in product(wanted, parts(name)))
    found = [name for name in word if word[name] > ALIKE]
    return sorted(found, key=lambda name: whole[name] + word[name], reverse=True)[:WAYS]


def _likeness(one: str, other: str) -> float:
    return SequenceMatcher(None, one, other).ratio()


def parts(name: str) -> tuple[str, ...]:
    """Returns a name and its words."""
    return name, *name.split("-")
