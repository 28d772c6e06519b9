"""Everything private to Streamlit, read or replaced.

It is written for the version that ``constraints.txt`` pins. Each part lists the names that it
needs. If another version lacks one, the log says so in a line, the part is left out, and the app
works without it, only slower. ``NCD_STREAMLIT_PATCHES=off`` leaves out all parts.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any, NoReturn, TypeVar

import streamlit as st
from streamlit.file_util import get_static_dir
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.runtime.scriptrunner import get_script_run_ctx

# --- Every private name of Streamlit that the app reads; patches are in ``streamlit_patches``

Function = TypeVar("Function", bound=Callable[..., Any])
LOG = logging.getLogger("ncd.streamlit")
CHANGING, SIDEBAR = "changing", "sidebar"  # the keys of a page's fragments

_RUNTIME = "streamlit.runtime"
_CONTEXT = f"{_RUNTIME}.scriptrunner_utils.script_run_context"
_REQUESTS = f"{_RUNTIME}.scriptrunner_utils.script_requests"

FRAGMENTS = "the fragments of a page"
CLICKS = "clicks that survive the next request"
FILES = "files that stay for slow browsers"
ENDS = "the end of a run at a newer request"
RESTART = "the address after a restart"
BACK = "the address after Back"

# The names that each part needs: an attribute of a class may also be one that ``__init__`` sets.
NEEDS = {
    FRAGMENTS: (
        f"{_RUNTIME}.app_session:AppSession._clear_queue",
        f"{_RUNTIME}.app_session:AppSession._browser_queue",
        f"{_RUNTIME}.app_session:AppSession._create_scriptrunner",
        f"{_RUNTIME}.app_session:AppSession._event_loop",
        f"{_RUNTIME}.app_session:AppSession._fragment_storage",
        f"{_RUNTIME}.app_session:AppSession._scriptrunner",
        f"{_RUNTIME}.app_session:AppSession.request_rerun",
        f"{_RUNTIME}.forward_msg_queue:ForwardMsgQueue._delta_index_map",
        f"{_RUNTIME}.fragment:MemoryFragmentStorage._parent_by_id",
        f"{_RUNTIME}.fragment:MemoryFragmentStorage._target_key_by_id",
        f"{_RUNTIME}.fragment:MemoryFragmentStorage.resolve_target",
        f"{_RUNTIME}.scriptrunner:RerunData",
        f"{_RUNTIME}.scriptrunner:RerunException",
        f"{_CONTEXT}:ThreadState.scoped",
        f"{_CONTEXT}:ScriptRunContext.fragment_storage",
        f"{_CONTEXT}:ScriptRunContext.fragment_ids_this_run",
    ),
    CLICKS: (
        f"{_RUNTIME}.state:SafeSessionState.on_script_will_rerun",
        f"{_RUNTIME}.state:SafeSessionState._yield_callback",
        f"{_RUNTIME}.scriptrunner:ScriptRunner._execing",
    ),
    FILES: (f"{_RUNTIME}.media_file_manager:MediaFileManager.remove_orphaned_files",),
    ENDS: (
        f"{_CONTEXT}:ScriptRunContext.yield_check",
        f"{_CONTEXT}:ScriptRunContext.fragment_ids_this_run",
        f"{_RUNTIME}.scriptrunner:ScriptRunner._requests",
        f"{_RUNTIME}.scriptrunner:RerunException",
        f"{_REQUESTS}:ScriptRequests._state",
        f"{_REQUESTS}:ScriptRequests._rerun_data",
        f"{_REQUESTS}:ScriptRequests.on_scriptrunner_ready",
    ),
    RESTART: (
        f"{_CONTEXT}:ScriptRunContext.cached_message_hashes",
        f"{_CONTEXT}:ScriptRunContext.session_id",
    ),
    BACK: (f"{_CONTEXT}:ScriptRunContext.is_history_navigation",),
}


def exists(path: str) -> bool:
    """Returns whether this Streamlit has a ``module:name`` or ``module:Class.attribute``.

    >>> exists("streamlit:slider"), exists("streamlit:gone"), exists("streamlit.gone:slider")
    (True, False, False)
    """
    module, _, names = path.partition(":")
    try:
        found: Any = import_module(module)
    except ImportError:
        return False
    for name in names.split("."):
        if not hasattr(found, name):
            fields = getattr(found, "__dataclass_fields__", ())
            code = getattr(getattr(found, "__init__", None), "__code__", None)
            return name in fields or (
                code is not None and name in (*code.co_names, *code.co_consts)
            )
        found = getattr(found, name)
    return True


@cache
def is_supported(part: str) -> bool:
    """Returns whether a part of ``NEEDS`` is in use; logs the first name that is missing."""
    if os.environ.get("NCD_STREAMLIT_PATCHES", "on").lower() == "off":
        return False
    lost = next((path for path in NEEDS[part] if not exists(path)), None)
    if lost:
        said = "Streamlit %s has no %s: the app works without %s, only slower."
        LOG.warning(said, st.__version__, lost, part)
    return lost is None


# --- what is read ---------------------------------------------------------------------------------


def index_html() -> str:
    """Returns the HTML with which Streamlit answers for every page."""
    return Path(get_static_dir(), "index.html").read_text()


def static_files() -> frozenset[str]:
    """Returns the names of the files that stand at the top of Streamlit's address, as its icon."""
    return frozenset(file.name for file in Path(get_static_dir()).iterdir() if file.is_file())


def static_folder() -> Path:
    """Returns the folder of the frontend's files."""
    return Path(get_static_dir()).resolve()


def superseded_check() -> Callable[[], None] | None:
    """Returns a function that ends the run of a page if its visitor has asked for another.

    A run of fragments also ends for one that makes one of them anew, which Streamlit would let
    wait. It is none outside of a page's run.
    """
    run = get_script_run_ctx(suppress_warning=True)
    return partial(_check, run) if run is not None and is_supported(ENDS) else None


def _check(run: Any) -> None:
    run.yield_check()
    if {*(run.fragment_ids_this_run or ())} & {*_waiting_fragments(run)}:
        _merge_into_waiting_run(run)


def stop_if_superseded() -> None:
    """Ends the run of a page if its visitor has asked for another; see :func:`superseded_check`."""
    if check := superseded_check():
        check()


def will_rerun_fragment(key: str) -> bool:
    """Returns whether a run that waits makes the fragment of this key anew."""
    run = get_script_run_ctx()
    if run is None or not (is_supported(ENDS) and is_supported(FRAGMENTS)):
        return False
    return bool({*run.fragment_storage.resolve_target(key)} & {*_waiting_fragments(run)})


def _waiting_fragments(run: Any) -> Sequence[str]:
    """Returns the fragments of the run that waits for the end of this one."""
    from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequestType

    requests = run.yield_check.__self__._requests
    waits = requests._state == ScriptRequestType.RERUN
    return requests._rerun_data.fragment_id_queue if waits else ()


def _merge_into_waiting_run(run: Any) -> NoReturn:
    """Ends a run of fragments for the one that waits, which then makes all of them."""
    from streamlit.runtime.scriptrunner import RerunException

    waits = run.yield_check.__self__._requests.on_scriptrunner_ready().rerun_data
    ids = dict.fromkeys((*run.fragment_ids_this_run, *waits.fragment_id_queue))
    raise RerunException(replace(waits, fragment_id_queue=[*ids]))


def went_back() -> bool:
    """Returns whether the browser's Back or Forward asked for this run."""
    run = get_script_run_ctx()
    return run is not None and is_supported(BACK) and run.is_history_navigation


def has_reconnected() -> bool:
    """Returns whether the browser was connected to another process, or to one that has ended."""
    run = get_script_run_ctx()
    return run is not None and is_supported(RESTART) and bool(run.cached_message_hashes)


def session_id() -> str:
    """Returns the name of the browser's connection, which no other process gives."""
    run = get_script_run_ctx(suppress_warning=True)
    return run.session_id if run is not None else ""


# --- fragments ------------------------------------------------------------------------------------
# The sidebar is a fragment inside another, which holds all that follows from it. What happens in
# the sidebar runs the outer one: a move of a size takes 37 ms of Python, and 57 where a name is
# missing and each page runs as a whole (multi-head attention, shapes).


def fragment(key: str) -> Callable[[Function], Function]:
    """Returns a decorator: ``st.fragment`` with this key, or nothing where pages run as a whole."""
    return st.fragment(key=key) if is_supported(FRAGMENTS) else lambda function: function


def is_full_script_run() -> bool:
    """Returns whether the whole page is run, not only some of its fragments."""
    run = get_script_run_ctx()
    return run is not None and not (is_supported(FRAGMENTS) and run.fragment_ids_this_run)


@contextmanager
def outside_fragments() -> Iterator[None]:
    """Shows the enclosed elements in the page itself, not in the fragment that is running."""
    if not is_supported(FRAGMENTS):
        yield
        return
    from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState

    with ThreadState.scoped(fragment_id=None, delta_path=None):
        yield


def skips_fragment(key: str) -> bool:
    """Returns whether this run leaves out the fragment with this key."""
    run = get_script_run_ctx()
    if run is None or is_full_script_run():
        return False
    ids = run.fragment_storage.resolve_target(key)
    return not set(ids) <= set(run.fragment_ids_this_run or ())


def restart_with(key: str) -> NoReturn:
    """Stops a run of fragments, and starts it again including the one with this key.

    ``st.rerun`` takes a key in callbacks only.
    """
    from streamlit.runtime.scriptrunner import RerunData, RerunException

    run = get_script_run_ctx()
    assert run is not None
    ids = [*(run.fragment_ids_this_run or ()), *run.fragment_storage.resolve_target(key)]
    raise RerunException(
        RerunData(
            query_string=run.query_string,
            page_script_hash=run.page_script_hash,
            fragment_id_queue=ids,
            cached_message_hashes=run.cached_message_hashes,
            context_info=run.context_info,
        )
    )


# --- The functions of Streamlit that the app replaces; a patch is skipped if a name is missing

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
    for part, patch in PATCHES.items():
        if is_supported(part):
            patch()
