"""What a session drops when a fragment runs anew, and which fragment runs."""

from types import SimpleNamespace

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.scriptrunner_utils import script_run_context

from ncd.view import sessions


def block(fragment: str, *path: int) -> ForwardMsg:
    message = ForwardMsg()
    message.delta.add_block.allow_empty = True
    message.delta.fragment_id = fragment
    message.metadata.delta_path[:] = path
    return message


def named(fragment: str, *path: int) -> ForwardMsg:
    """What the browser has already, and is only named."""
    message = block(fragment, *path)
    message.hash = "what was sent"
    return script_run_context.create_reference_msg(message)


def mended(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_clear_queue", "request_rerun"):
        monkeypatch.setattr(AppSession, name, getattr(AppSession, name))
    for module, name in (
        (script_run_context, "create_reference_msg"),
        (app_session, "_populate_theme_msg"),
    ):
        monkeypatch.setattr(module, name, getattr(module, name))
    sessions.mend()


@pytest.mark.parametrize(
    ("anew", "left"),
    [
        (["outer"], [(0, 0), (0, 0, 0), (0, 2)]),
        (["inner"], [(0, 0), (0, 0, 0), (0, 1), (0, 1, 0), (0, 1, 0, 0), (0, 2)]),
        (None, []),
    ],
)
def test_what_is_inside_a_fragment_is_dropped_with_it(
    monkeypatch: pytest.MonkeyPatch, anew: list[str] | None, left: list[tuple[int, ...]]
) -> None:
    mended(monkeypatch)
    storage, queue = MemoryFragmentStorage(), ForwardMsgQueue()
    for id, around in (("outer", None), ("inner", "outer"), ("other", None)):
        storage.register(id, lambda: None, parent_fragment_id=around)
    session = SimpleNamespace(_fragment_storage=storage, _browser_queue=queue)
    for message in (
        block("", 0, 0),
        named("", 0, 0, 0),
        block("outer", 0, 1),
        block("outer", 0, 1, 0),
        named("outer", 0, 1, 0, 0),
        block("inner", 0, 1, 1),
        named("inner", 0, 1, 1, 0),
        block("other", 0, 2),
    ):
        queue.enqueue(message)
    AppSession._clear_queue(session, anew)
    assert [tuple(message.metadata.delta_path) for message in queue.flush()] == left


def test_what_follows_the_sidebar_runs_where_that_has_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        sessions, "_request", lambda session, state: asked.append(state.fragment_id)
    )
    mended(monkeypatch)
    storage = MemoryFragmentStorage()
    for id, key in (("one", sessions.SIDEBAR), ("two", sessions.CHANGING), ("three", None)):
        storage.register(id, lambda: None, target_key=key)
    session = SimpleNamespace(_fragment_storage=storage)
    for id in ("one", "two", "three", "gone", ""):
        AppSession.request_rerun(session, ClientState(fragment_id=id))
    assert asked == ["two", "two", "three", "gone", ""]
