"""The functions of Streamlit that the app replaces; a patch is skipped if a name is missing."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock
from time import monotonic
from typing import Any

from streamlit.proto.ClientState_pb2 import ClientState

from ncd.view.runtime.streamlit_internals import (
    CHANGING,
    CLICKS,
    FILES,
    FRAGMENTS,
    SIDEBAR,
    works,
)

STAY = 30.0  # seconds between two removals of unused files


def _replace(owner: Any, function: Callable[..., Any], name: str) -> None:
    setattr(owner, name, function)


def target(storage: Any, id: str) -> str:
    """Returns the fragment to run after an event in the given one.

    An event in the sidebar runs the outer fragment: the moved slider already shows its new value,
    but the rest of the page has to be updated. A process that has just started knows no fragment
    of a page that reconnects; then the whole page runs.

    >>> from streamlit.runtime.fragment import MemoryFragmentStorage
    >>> storage = MemoryFragmentStorage()
    >>> target(storage, "a")
    ''
    >>> for id, key in (("a", CHANGING), ("b", SIDEBAR), ("c", None)):
    ...     storage.register(id, lambda: None, target_key=key)
    >>> [target(storage, id) for id in "abcd"]
    ['a', 'a', 'c', 'd']
    """
    if not storage._parent_by_id:
        return ""
    if storage._target_key_by_id.get(id) != SIDEBAR:
        return id
    return str(storage.resolve_target(CHANGING)[0])


def begin_run(session: Any, fragment_ids_this_run: list[str] | None = None) -> None:
    """Drops unsent messages if the whole page runs, and keeps them if fragments do.

    A fragment replaces only its own elements, so the browser needs all earlier messages, in their
    order: no message may take the place of an older one in the queue.
    """
    if fragment_ids_this_run:
        session._browser_queue._delta_index_map = {}
    else:
        session._browser_queue.clear(retain_lifecycle_msgs=True)


def create_runner(session: Any, rerun_data: Any, create: Callable[[Any, Any], None]) -> None:
    """Creates a session's script runner once the messages of its last one have been taken in.

    A runner that has just ended accepts no more requests, while its last messages still wait in the
    event loop. Streamlit ignores the messages of any runner but the current one, so the browser
    would lack elements that the next run of a fragment refers to.
    """
    from streamlit.runtime.app_session import AppSessionState

    def start() -> None:
        if session._state == AppSessionState.SHUTDOWN_REQUESTED:
            return
        runner = session._scriptrunner
        if runner is None or not runner.request_rerun(rerun_data):
            create(session, rerun_data)

    session._event_loop.call_soon(start)


def _run_fragments() -> None:
    """Sends every message of a fragment, and lets the sidebar update the page.

    When a fragment runs again before its last messages were sent, Streamlit drops those. Later
    messages may then refer to elements that the browser does not have, and it shows an error.
    """
    from streamlit.runtime.app_session import AppSession

    request_rerun, create = AppSession.request_rerun, AppSession._create_scriptrunner

    def request(session: Any, client_state: ClientState | None) -> None:
        if client_state is not None and client_state.fragment_id:
            client_state.fragment_id = target(session._fragment_storage, client_state.fragment_id)
        request_rerun(session, client_state)

    def create_later(session: Any, rerun_data: Any) -> None:
        create_runner(session, rerun_data, create)

    _replace(AppSession, begin_run, "_clear_queue")
    _replace(AppSession, request, "request_rerun")
    _replace(AppSession, create_later, "_create_scriptrunner")


def _keep_clicks() -> None:
    """Keeps a click that is followed at once by another one.

    Streamlit interrupts a run when another is requested, even before the run has processed the
    click that caused it: the press of a button is lost when a tab is pressed right after it.
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
    """Removes unused files every half minute instead of after every run.

    Streamlit removes them after every run of any visitor; with many visitors a file is often gone
    before a slow browser has fetched it.
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
    """Installs all patches whose names exist in this version of Streamlit."""
    for part, replace in PATCHES.items():
        if works(part):
            replace()
