"""Fragments within fragments: what waits to be sent of them goes with what is around them.

When a fragment runs anew before its last messages have left, Streamlit drops those, as they come
again. But it keeps those of the fragments inside, which then fill places that the browser does not
have; it tells an error, and shows nothing any more.
"""

from __future__ import annotations

from collections.abc import Iterable

from streamlit.runtime.app_session import AppSession
from streamlit.runtime.fragment import MemoryFragmentStorage


def mend() -> None:
    """Lets every session drop both, from now on."""
    AppSession._clear_queue = clear  # type: ignore[assignment, method-assign]


def clear(session: AppSession, fragment_ids_this_run: list[str] | None = None) -> None:
    """Drops what has not left yet of these fragments and of all inside; of a whole run, all."""
    ids = fragment_ids_this_run
    if ids:
        ids = family(session._fragment_storage, ids)  # type: ignore[arg-type]
    session._browser_queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=ids)


def family(storage: MemoryFragmentStorage, ids: Iterable[str]) -> list[str]:
    """These fragments, and all that are inside of them.

    >>> storage = MemoryFragmentStorage()
    >>> for id, outer in (("a", None), ("b", "a"), ("c", "b"), ("d", None)):
    ...     storage.register(id, lambda: None, parent_fragment_id=outer)
    >>> family(storage, ["a"]), family(storage, ["c", "d"])
    (['a', 'b', 'c'], ['c', 'd'])
    """
    found, outer = list(ids), dict(storage._parent_by_id)
    for one in found:  # it grows meanwhile
        found += [id for id, around in outer.items() if around == one and id not in found]
    return found
