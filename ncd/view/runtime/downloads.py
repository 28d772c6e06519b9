"""Files to take along: a button for each, which is made when it is asked for.

Streamlit forgets a file, and what makes it, when a run has ended since its button went or was made
anew; and it counts the runs of all visitors, so that among many a file is often gone before the
browser that was told of it has fetched it. Here it looks for what is to be forgotten now and then.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import Any, Literal

import streamlit as st
from streamlit import runtime

STAYS = 30.0  # seconds between two looks, and for a file that was made; a browser needs one


def button(
    label: str,
    make: Callable[[], str | bytes],
    name: str,
    kind: str,
    *,
    key: str,
    help: str | None = None,
    width: Literal["content", "stretch"] = "content",
) -> None:
    """A button that takes along what ``make`` makes, as a file of this name and kind."""
    if runtime.exists():
        _stay(runtime.get_instance().media_file_mgr)
    st.download_button(label, make, name, kind, key=key, help=help, on_click="ignore", width=width)


def _stay(files: Any) -> None:
    """From now on files stay for a while."""
    if not isinstance(files.remove_orphaned_files, Seldom):
        files.remove_orphaned_files = Seldom(files.remove_orphaned_files, STAYS)


class Seldom:
    """Something that is done when it is called, but not again in so many seconds.

    >>> done = []
    >>> seldom = Seldom(lambda: done.append(1), 60)
    >>> seldom(), seldom(), len(done)
    (None, None, 1)
    """

    def __init__(self, act: Callable[[], None], seconds: float) -> None:
        self.act, self.seconds = act, seconds
        self.next, self.lock = 0.0, Lock()

    def __call__(self) -> None:
        with self.lock:
            now = monotonic()
            if now < self.next:
                return
            self.next = now + self.seconds
        self.act()
