"""Findings in a pasted source, which are searched aside while its page shows all else."""

from __future__ import annotations

from threading import Lock, Thread

from cachetools import LRUCache

from ncd.findings.finding import LATE, LATE_SIZES, Finding
from ncd.jobs.source_reading import reader
from ncd.lang.errors import NCDError
from ncd.view.runtime import streamlit_internals

KEPT = 200  # texts

_lock = Lock()  # guards what follows
_found: LRUCache[str, tuple[Finding, ...]] = LRUCache(KEPT)
_running: dict[str, str] = {}  # by visitor: each has one search at a time


def findings(text: str) -> tuple[tuple[Finding, ...], bool]:
    """Returns what is found in a source so far, and whether that is all.

    Sizes come last. While another text is searched for the visitor, nothing is found.
    """
    visitor = streamlit_internals.session_id()
    with _lock:
        if text not in _found and visitor not in _running:
            _running[visitor] = text
            Thread(target=_search, args=(text, visitor), daemon=True).start()
        return _found.get(text, ()), text in _found and _running.get(visitor) != text


def _search(text: str, visitor: str) -> None:
    """Searches a source: first what is wrong, then the sizes of one that does not fail."""
    found: tuple[Finding, ...] = ()
    late = LATE
    try:
        found = reader().findings(text, visitor)
        _keep(text, found)
        if not any(each.kind == "failure" for each in found):
            late = LATE_SIZES
            _keep(text, (*found, *reader().sizes(text, visitor)))
    except NCDError:
        _keep(text, (*found, late))
    finally:
        with _lock:
            _found.setdefault(text, ())
            del _running[visitor]


def _keep(text: str, found: tuple[Finding, ...]) -> None:
    with _lock:
        _found[text] = found
