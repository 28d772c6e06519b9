"""The slider for the length of a text, which several panels share."""

from __future__ import annotations

import streamlit as st

from ncd.view.arrays import map_component
from ncd.view.panels.components.cache_size import CONTEXT, POWERS


def dragged(context: int) -> str:
    """Returns the slider as HTML, at this number of tokens."""
    words = f"a text of {context:,} tokens"
    return map_component.slider(words, CONTEXT, POWERS, context.bit_length() - 1)


def chosen_context() -> int:
    """Returns the tokens of the text, from the session."""
    power = str(st.session_state.get(CONTEXT, "13"))
    known = power.isdecimal() and len(power) < 4 and int(power) in POWERS
    return 1 << (int(power) if known else 13)


def pick(name: str, value: str) -> None:
    """Applies the slider; a callback."""
    if name == CONTEXT:
        st.session_state[CONTEXT] = value
