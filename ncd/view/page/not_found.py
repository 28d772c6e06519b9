"""The page for an unknown address; it links to the nearest known ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from functools import partial
from itertools import product
from urllib.parse import unquote, urlsplit

import streamlit as st

from ncd.view.session import url

TITLE = "No such page"
WORDS = "No page has this address. The nearest ones are named here."
ASKED = "asked"
WAYS, ALIKE = 3, 0.7


def with_not_found(pages: Mapping[str, Sequence[st.Page]]) -> dict[str, Sequence[st.Page]]:
    """Returns the pages, and a not-found page if the address is unknown.

    The extra page stays in the session, so that the browser's Back finds it.
    """
    known = {page.url_path: page for own in pages.values() for page in own}
    asked = unquote(urlsplit(st.context.url or "").path).rpartition("/")[2].strip()
    if asked and asked not in known:
        st.session_state[ASKED] = asked
    asked = st.session_state.get(ASKED, "")
    if not asked:
        return dict(pages)
    lost = st.Page(partial(show, asked, known), title=TITLE, url_path=asked, visibility="hidden")
    return {**pages, "": (*pages[""], lost)}


def show(asked: str, known: Mapping[str, st.Page]) -> None:
    """Shows the unknown address and links to similar ones."""
    url.take("lost")
    st.title(TITLE, anchor=False)
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
