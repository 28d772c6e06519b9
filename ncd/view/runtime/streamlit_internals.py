"""Everything that is private to Streamlit, in one place; tested with Streamlit 1.67.

``FEATURES`` lists what the app takes from Streamlit beyond its public API, with every name that
each of them needs. A feature whose names this version of Streamlit lacks is logged in one line and
left out, and the app works without it. ``NCD_STREAMLIT_PATCHES=off`` leaves all of them out.
"""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from functools import cache
from importlib import import_module
from inspect import signature
from operator import attrgetter
from threading import Lock
from time import monotonic
from typing import Any, NamedTuple

import streamlit as st

LOG = logging.getLogger("ncd.streamlit")
ORPHANS = 30.0  # seconds between two removals of files
SERVER = (
    '<script>window.__streamlit = {BACKEND_BASE_URL: new URL(".", location.href).href}</script>'
)

RUNNER = "streamlit.runtime.scriptrunner"
CONTEXT = f"{RUNNER}:get_script_run_ctx(suppress_warning)"
QUEUE = "streamlit.runtime.forward_msg_queue:ForwardMsgQueue"
STATE = "streamlit.runtime.state:SafeSessionState"
THEME = "streamlit.runtime.app_session:_populate_theme_msg"
FILES = "streamlit.runtime.media_file_manager:MediaFileManager"


class Feature(NamedTuple):
    """What is lost without a feature, and the names that it needs.

    A name is spelled ``module:path.of.attributes``, with a function's first parameters in brackets
    or ``#field`` for a field of a class's objects.
    """

    lost: str
    needs: tuple[str, ...]


FEATURES = {
    "queue": Feature(
        "a page may have to be loaded again after two quick moves",
        (f"{QUEUE}.clear(self, retain_lifecycle_msgs, fragment_ids_this_run)",
         f"{QUEUE}#_delta_index_map"),
    ),
    "callbacks": Feature(
        "a click may be lost if another one follows at once",
        (f"{STATE}.on_script_will_rerun(self, fresh_widget_states)", f"{STATE}#_yield_callback",
         f"{RUNNER}:ScriptRunner#_execing"),
    ),
    "theme": Feature("a run takes XX ms longer", (f"{THEME}(msg, section)",)),
    "downloads": Feature(
        "a download may fail while others use the app", (f"{FILES}.remove_orphaned_files(self)",)
    ),
    "server": Feature("a page opens XX ms later", ()),
    "interrupt": Feature(
        "a visitor who has moved on waits for the numbers of the settings before",
        (CONTEXT, f"{RUNNER}:ScriptRunContext#yield_check"),
    ),
    "history": Feature(
        "Back applies the settings of the page that was left",
        (CONTEXT, f"{RUNNER}:ScriptRunContext#is_history_navigation"),
    ),
    "reconnect": Feature(
        "a page that has lost its server returns to the settings with which it was opened",
        (CONTEXT, f"{RUNNER}:ScriptRunContext#cached_message_hashes",
         f"{RUNNER}:ScriptRunContext#session_id"),
    ),
}  # fmt: skip


# --- checks ---------------------------------------------------------------------------------------


@cache
def has(feature: str) -> bool:
    """Returns whether a feature can be used here; logs the first name that it lacks."""
    if os.environ.get("NCD_STREAMLIT_PATCHES", "on").lower() == "off":
        return False
    lost, needs = FEATURES[feature]
    lacking = next((need for need in needs if not _exists(need)), "")
    if lacking:
        LOG.warning("Streamlit %s has no %s, so %s.", st.__version__, lacking, lost)
    return not lacking


def _exists(need: str) -> bool:
    """Returns whether this version of Streamlit has a name.

    >>> _exists(f"{QUEUE}.clear(self)"), _exists(f"{QUEUE}.clear(self, a)"), _exists(f"{QUEUE}.no")
    (True, False, False)
    >>> _exists(f"{STATE}#_yield_callback"), _exists(f"{STATE}#_other")
    (True, False)
    """
    said = re.fullmatch(r"([\w.:]+)(?:#(\w+))?(?:\((.*)\))?", need)
    assert said is not None
    name, field, parameters = said.groups()
    try:
        found = _find(name)
    except (ImportError, AttributeError):
        return False
    if field:
        declared = getattr(found, "__annotations__", {})
        return field in declared or field in found.__init__.__code__.co_names
    wanted = parameters.split(", ") if parameters else []
    return not wanted or [*signature(found).parameters][: len(wanted)] == wanted


def _find(name: str) -> Any:
    """Returns what a name such as ``module:path.of.attributes`` stands for."""
    module, _, path = name.partition(":")
    found = import_module(module)
    return attrgetter(path)(found) if path else found


# --- replaced functions ---------------------------------------------------------------------------


def start() -> None:
    """Checks all features, and replaces the functions of those that can be used."""
    for feature, (_, needs) in FEATURES.items():
        if has(feature) and feature in REPLACEMENTS:
            _replace(needs[0].partition("(")[0], REPLACEMENTS[feature])


def _replace(name: str, replacement: Callable[[Any], Any]) -> None:
    """Replaces a function, once, by what ``replacement`` makes of it."""
    owner, own = re.fullmatch(r"(.+)[.:](\w+)", name).groups()  # type: ignore[union-attr]
    parent = _find(owner)
    original = getattr(parent, own)
    if original.__module__ != __name__:
        setattr(parent, own, replacement(original))


def _keep_queue(clear: Callable[..., None]) -> Callable[..., None]:
    """Keeps the messages that have not left when a fragment runs again.

    Streamlit drops those of the fragment, but not those of fragments inside it, nor those that name
    what the browser has already. They then fill places that the browser does not have, and it shows
    an error. (XX)
    """

    def kept(
        queue: Any, retain_lifecycle_msgs: bool = False, fragment_ids_this_run: Any = None
    ) -> None:
        if retain_lifecycle_msgs and fragment_ids_this_run:
            queue._delta_index_map = {}  # what comes now must not take their places in the queue
        else:
            clear(queue, retain_lifecycle_msgs, fragment_ids_this_run)

    return kept


def _finish_callbacks(take_in: Callable[..., None]) -> Callable[..., None]:
    """Lets a run end early only once the callbacks of what was clicked are done.

    Streamlit ends it whenever another run is asked for, and the click is lost with it. (XX)
    """

    def finished(state: Any, *states: Any, **more: Any) -> None:
        runner = getattr(state._yield_callback, "__self__", None)
        if runner is None:
            return take_in(state, *states, **more)
        runner._execing = False
        try:
            take_in(state, *states, **more)
        finally:
            runner._execing = True

    return finished


def _cache_theme(populate: Callable[..., None]) -> Callable[..., None]:
    """Reads the theme from the settings once: they stay as they are. (XX)"""

    @cache
    def section_of(section: str) -> Any:
        found = _find("streamlit.proto.NewSession_pb2:CustomThemeConfig")()
        populate(found, section)
        return found

    def merged(msg: Any, section: str = "theme") -> None:
        found = section_of(section)
        if found.ByteSize():
            msg.MergeFrom(found)

    return merged


def _keep_files(remove: Callable[[Any], None]) -> Callable[[Any], None]:
    """Removes the files that no page offers any more only every 30 seconds.

    Streamlit does so after each run of any visitor. Among many visitors, a file is often gone
    before the browser that was told of it has fetched it. (XX)
    """
    lock, due = Lock(), 0.0

    def seldom(files: Any) -> None:
        nonlocal due
        with lock:
            now = monotonic()
            if now < due:
                return
            due = now + ORPHANS
        remove(files)

    return seldom


# Each replaces the first name that its feature needs.
REPLACEMENTS: dict[str, Callable[[Any], Any]] = {
    "queue": _keep_queue,
    "callbacks": _finish_callbacks,
    "theme": _cache_theme,
    "downloads": _keep_files,
}


# --- names that are used --------------------------------------------------------------------------


def _run(feature: str) -> Any:
    """Returns the context of the run in this thread, for a feature that can be used."""
    return _find(CONTEXT.partition("(")[0])(suppress_warning=True) if has(feature) else None


def server() -> str:
    """Returns the script that tells Streamlit's page where its server is.

    Without it, the page asks below its own address first, and is answered with two errors. (XX)
    """
    return SERVER if has("server") else ""


def interrupt() -> Callable[[], None] | None:
    """Returns a function that ends this thread's run if its visitor has asked for another."""
    run = _run("interrupt")
    return None if run is None else run.yield_check


def went_back() -> bool:
    """Returns whether a page was opened by the browser's Back or Forward."""
    run = _run("history")
    return run is not None and run.is_history_navigation is True


def reconnected() -> str:
    """Returns the session's id if its browser had another session before, else nothing."""
    run = _run("reconnect")
    return run.session_id if run is not None and run.cached_message_hashes else ""
