"""What a session of Streamlit does otherwise here; its version is pinned.

* **What has not left.** When a fragment runs anew before its last messages have left, Streamlit
  drops those, as they come again. But it keeps those of the fragments inside, and those that only
  name what the browser has already, as they do not say whose they are. These then fill places that
  the browser does not have; it tells an error, and shows nothing any more.
* **The sidebar.** What happens in a fragment runs that fragment. But a slider that was moved shows
  already what it is to show; it is the rest of the page that has to follow.
* **What a visitor has done.** Before a run takes in what was done, a request for another ends it,
  and what was done is lost with it: the press of a button, when a tab is pressed right after.
* **The theme.** It is told at the beginning of every run, and read each time from the settings,
  which stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.scriptrunner import RerunData, RerunException, get_script_run_ctx
from streamlit.runtime.scriptrunner_utils import script_run_context
from streamlit.runtime.scriptrunner_utils.script_run_context import ThreadState
from streamlit.runtime.state import SafeSessionState

CHANGING, SIDEBAR = "changing", "sidebar"  # the keys of a page's fragments
_request, _tell_theme = AppSession.request_rerun, app_session._populate_theme_msg
_refer, _take_in = script_run_context.create_reference_msg, SafeSessionState.on_script_will_rerun


def mend() -> None:
    """Lets every session be so, from now on."""
    AppSession._clear_queue = clear  # type: ignore[assignment, method-assign]
    AppSession.request_rerun = request  # type: ignore[assignment, method-assign]
    SafeSessionState.on_script_will_rerun = take_in  # type: ignore[assignment, method-assign]
    script_run_context.create_reference_msg = refer  # type: ignore[assignment]
    app_session._populate_theme_msg = tell_theme  # type: ignore[assignment]


def clear(session: AppSession, fragment_ids_this_run: list[str] | None = None) -> None:
    """Drops what has not left yet of these fragments and of all inside; of a whole run, all."""
    ids, queue = fragment_ids_this_run, session._browser_queue
    if ids:
        ids = family(session._fragment_storage, ids)  # type: ignore[arg-type]
        queue._queue = kept(queue._queue, ids)
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=ids)


def kept(messages: Iterable[ForwardMsg], ids: Sequence[str]) -> list[ForwardMsg]:
    """Without those that name what the browser has, in these fragments."""
    return [
        each
        for each in messages
        if not (each.HasField("ref_hash") and set(each.metadata.run.fragment_ids) & set(ids))
    ]


def refer(message: ForwardMsg) -> ForwardMsg:
    """A message that only names what the browser has; it says whose that is, in a field left free.

    >>> message = ForwardMsg(hash="a")
    >>> message.delta.fragment_id = "one"
    >>> refer(message).ref_hash, list(refer(message).metadata.run.fragment_ids)
    ('a', ['one'])
    """
    named = _refer(message)
    if message.delta.fragment_id:
        named.metadata.run.fragment_ids.append(message.delta.fragment_id)
    return named


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


def request(session: AppSession, client_state: ClientState | None) -> None:
    """Asks for a run; for what follows the sidebar, where that has asked."""
    if client_state is not None and client_state.fragment_id:
        storage = session._fragment_storage
        client_state.fragment_id = follower(storage, client_state.fragment_id)  # type: ignore[arg-type]
    _request(session, client_state)


def follower(storage: MemoryFragmentStorage, id: str) -> str:
    """The fragment that runs when something happens in this one.

    >>> storage = MemoryFragmentStorage()
    >>> for id, key in (("a", CHANGING), ("b", SIDEBAR), ("c", None)):
    ...     storage.register(id, lambda: None, target_key=key)
    >>> [follower(storage, id) for id in "abcd"]
    ['a', 'a', 'c', 'd']
    """
    if storage._target_key_by_id.get(id) != SIDEBAR:
        return id
    return storage.resolve_target(CHANGING)[0]


def take_in(state: SafeSessionState, *states: Any, **more: Any) -> None:
    """Takes in what a visitor has done, and calls all that it calls; only then it may be ended."""
    runner = state._yield_callback.__self__  # type: ignore[attr-defined]
    runner._execing = False
    try:
        _take_in(state, *states, **more)
    finally:
        runner._execing = True


def tell_theme(message: CustomThemeConfig, section: str = "theme") -> None:
    """Adds a section of the theme to a message."""
    found = _theme(section)
    if found.ByteSize():
        message.MergeFrom(found)


@cache
def _theme(section: str) -> CustomThemeConfig:
    found = CustomThemeConfig()
    _tell_theme(found, section)
    return found


def whole() -> bool:
    """Whether all of the page is run."""
    run = get_script_run_ctx()
    return run is not None and not run.fragment_ids_this_run


@contextmanager
def outside() -> Iterator[None]:
    """What is shown here is the page's, and not part of the fragment in which it is its turn."""
    with ThreadState.scoped(fragment_id=None, delta_path=None):
        yield


def without(key: str) -> bool:
    """Whether only parts of the page are run, and this fragment is not among them."""
    run = get_script_run_ctx()
    if run is None or not run.fragment_ids_this_run:
        return False
    ids = run.fragment_storage.resolve_target(key)
    return not set(ids) <= set(run.fragment_ids_this_run)


def again(key: str) -> None:
    """Ends a run of fragments, and begins it anew with this one too."""
    run = get_script_run_ctx()
    assert run is not None
    raise RerunException(
        RerunData(
            query_string=run.query_string,
            page_script_hash=run.page_script_hash,
            fragment_id_queue=[
                *(run.fragment_ids_this_run or ()),
                *run.fragment_storage.resolve_target(key),
            ],
            cached_message_hashes=run.cached_message_hashes,
            context_info=run.context_info,
        )
    )
