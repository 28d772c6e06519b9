"""Findings in a pasted source, which are searched aside while its page shows all else."""

from __future__ import annotations

from threading import Lock, Thread

from cachetools import LRUCache

from ncd.findings.finding import Finding
from ncd.jobs.source_reading import reader
from ncd.lang.errors import NCDError
from ncd.view.runtime import streamlit_internals

KEPT = 200  # texts

_lock = Lock()  # guards what follows
_found: LRUCache[str, tuple[Finding, ...]] = LRUCache(KEPT)
_running: dict[str, Thread] = {}  # by visitor: each has one search at a time


def findings(text: str) -> tuple[Finding, ...] | None:
    """Returns what is found in a source; None while it is searched, or while another one is."""
    visitor = streamlit_internals.session_id()
    with _lock:
        found = _found.get(text)
        if found is None and visitor not in _running:
            search = Thread(target=_search, args=(text, visitor), daemon=True)
            _running[visitor] = search
            search.start()
        return found


def _search(text: str, visitor: str) -> None:
    """Searches a source; one that takes too long has no findings."""
    found: tuple[Finding, ...] = ()
    try:
        found = reader().findings(text, visitor)
    except NCDError:
        pass
    finally:
        with _lock:
            _found[text] = found
            del _running[visitor]
