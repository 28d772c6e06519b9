"""The parts of Streamlit that the app replaces; each is left out where a name is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock
from time import monotonic
from typing import Any

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from ncd.view.runtime.streamlit_internals import (
    CHANGING,
    CLICKS,
    FILES,
    FRAGMENTS,
    SIDEBAR,
    works,
)

STAY = 30.0  # seconds between two removals of files that no page offers any more


def _replace(owner: Any, function: Callable[..., Any], name: str) -> None:
    setattr(owner, name, function)


def with_nested(storage: Any, ids: Iterable[str]) -> list[str]:
    """Returns these fragments and all inside of them.

    >>> from streamlit.runtime.fragment import MemoryFragmentStorage
    >>> storage = MemoryFragmentStorage()
    >>> for id, outer in (("a", None), ("b", "a"), ("c", "b"), ("d", None)):
    ...     storage.register(id, lambda: None, parent_fragment_id=outer)
    >>> with_nested(storage, ["a"]), with_nested(storage, ["c", "d"])
    (['a', 'b', 'c'], ['c', 'd'])
    """
    found, outer = list(ids), dict(storage._parent_by_id)
    for one in found:  # it grows meanwhile
        found += [id for id, around in outer.items() if around == one and id not in found]
    return found


def target(storage: Any, id: str) -> str:
    """Returns the fragment to run when something happens in this one.

    A slider that was moved in the sidebar shows its value already; the rest has to follow.

    >>> from streamlit.runtime.fragment import MemoryFragmentStorage
    >>> storage = MemoryFragmentStorage()
    >>> for id, key in (("a", CHANGING), ("b", SIDEBAR), ("c", None)):
    ...     storage.register(id, lambda: None, target_key=key)
    >>> [target(storage, id) for id in "abcd"]
    ['a', 'a', 'c', 'd']
    """
    if storage._target_key_by_id.get(id) != SIDEBAR:
        return id
    return str(storage.resolve_target(CHANGING)[0])


def clear(session: Any, fragment_ids_this_run: list[str] | None = None) -> None:
    """Drops the unsent messages of fragments that run again, and of all inside of them."""
    ids, queue = fragment_ids_this_run, session._browser_queue
    if ids:
        ids = with_nested(session._fragment_storage, ids)
        queue._queue = [message for message in queue._queue if not _refers(message, ids)]
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=ids)


def _refers(message: ForwardMsg, ids: Iterable[str]) -> bool:
    """Returns whether a message only names a cached one, in one of these fragments."""
    return message.HasField("ref_hash") and not set(ids).isdisjoint(
        message.metadata.run.fragment_ids
    )


def _run_fragments() -> None:
    """Lets a fragment's messages be replaced as a whole, and the sidebar run the outer fragment.

    When a fragment runs again before its last messages were sent, Streamlit drops those. But it
    keeps the messages of nested fragments, and references to cached messages, which do not say
    whose they are. These then fill places that the browser lacks, and it shows an error.
    """
    from streamlit.runtime.app_session import AppSession
    from streamlit.runtime.scriptrunner_utils import script_run_context

    request_rerun, reference = AppSession.request_rerun, script_run_context.create_reference_msg

    def request(session: Any, client_state: ClientState | None) -> None:
        if client_state is not None and client_state.fragment_id:
            client_state.fragment_id = target(session._fragment_storage, client_state.fragment_id)
        request_rerun(session, client_state)

    def refer(message: ForwardMsg) -> ForwardMsg:
        named = reference(message)
        if message.delta.fragment_id:  # kept in a field that references leave free
            named.metadata.run.fragment_ids.append(message.delta.fragment_id)
        return named

    _replace(AppSession, clear, "_clear_queue")
    _replace(AppSession, request, "request_rerun")
    _replace(script_run_context, refer, "create_reference_msg")


def _keep_clicks() -> None:
    """Lets a run end only after it has taken in what its visitor did.

    Else a request for another run ends it before that, and the press of a button is lost when a
    tab is pressed right after it.
    """
    from streamlit.runtime.state import SafeSessionState

    take_in = SafeSessionState.on_script_will_rerun

    def uninterrupted(state: Any, *states: Any, **more: Any) -> None:
        runner = state._yield_callback.__self__
        runner._execing = False
        try:
            take_in(state, *states, **more)
        finally:
            runner._execing = True

    _replace(SafeSessionState, uninterrupted, "on_script_will_rerun")


def _keep_files() -> None:
    """Removes unused files every half minute, and not at the end of every run.

    Runs of all visitors count: among many, a file is else often gone before it is fetched.
    """
    from streamlit.runtime.media_file_manager import MediaFileManager

    remove, last, lock = MediaFileManager.remove_orphaned_files, [0.0], Lock()

    def seldom(manager: MediaFileManager) -> None:
        with lock:
            now = monotonic()
            if now < last[0] + STAY:
                return
            last[0] = now
        remove(manager)

    _replace(MediaFileManager, seldom, "remove_orphaned_files")


PATCHES = {
    FRAGMENTS: _run_fragments,
    CLICKS: _keep_clicks,
    FILES: _keep_files,
}


def install() -> None:
    """Replaces what the app needs otherwise, for this process from now on."""
    for part, replace in PATCHES.items():
        if works(part):
            replace()
