"""The state that a page is made from: a session's, or a copy of it for one move.

A browser asks for what follows a move without a run of its page. The answer is made by the
functions that make the page, and they read the state by :func:`session`.
"""

from __future__ import annotations

from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, cast

import streamlit as st

State = MutableMapping[str, Any]
_COPY: ContextVar[State | None] = ContextVar("copy of a session", default=None)


def session() -> State:
    """Returns the state of the session whose page runs, or the copy that a move has of it."""
    copy = _COPY.get()
    return cast(State, st.session_state) if copy is None else copy


@contextmanager
def session_copy(values: State) -> Iterator[None]:
    """Lets the enclosed code read and change these values in place of the session.

    >>> with session_copy({"h": 4}):
    ...     session()["h"] += 1
    ...     session()["h"]
    5
    """
    token = _COPY.set(values)
    try:
        yield
    finally:
        _COPY.reset(token)


def rerun_page() -> None:
    """Runs the page again, as its state was corrected; not for a move, which has no link."""
    if _COPY.get() is None:
        st.rerun()
