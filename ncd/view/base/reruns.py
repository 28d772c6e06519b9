"""Which parts of a page run again after a callback.

A page has two fragments: the sidebar, and all that follows from its knobs. By default a widget runs
the fragment that it stands in. A callback that ends with one of these functions runs others.
"""

from __future__ import annotations

import streamlit as st

CHANGING, SIDEBAR = "changing", "sidebar"  # the keys of the fragments
SHOWN = "sidebar shows"  # in the session: what its widgets show, by key; empty until it has run


def fragments(*keys: str) -> None:
    """Ends a callback; these fragments run in this order."""
    st.rerun(keys)


def both() -> None:
    """Ends a callback; what follows from the knobs runs, then the sidebar."""
    st.session_state[SHOWN] = {}
    fragments(CHANGING, SIDEBAR)


def follow() -> None:
    """Ends a callback outside of the sidebar; the sidebar runs too if a knob has a new value."""
    shown = st.session_state.get(SHOWN)
    if shown is None:  # a page without knobs
        return
    now = {name: st.session_state.get(name, value) for name, value in shown.items()}
    if not shown or shown != now:
        both()
