"""What is dropped of messages that have not left, when a fragment runs anew."""

from types import SimpleNamespace

import pytest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.fragment import MemoryFragmentStorage

from ncd.view import nested


def block(fragment: str, *path: int) -> ForwardMsg:
    message = ForwardMsg()
    message.delta.add_block.allow_empty = True
    message.delta.fragment_id = fragment
    message.metadata.delta_path[:] = path
    return message


@pytest.mark.parametrize(
    ("anew", "left"),
    [
        (["outer"], [(0, 0), (0, 2)]),
        (["inner"], [(0, 0), (0, 1), (0, 1, 0), (0, 2)]),
        (None, []),
    ],
)
def test_what_is_inside_a_fragment_is_dropped_with_it(
    monkeypatch: pytest.MonkeyPatch, anew: list[str] | None, left: list[tuple[int, ...]]
) -> None:
    monkeypatch.setattr(AppSession, "_clear_queue", AppSession._clear_queue)
    nested.mend()
    storage, queue = MemoryFragmentStorage(), ForwardMsgQueue()
    for id, around in (("outer", None), ("inner", "outer"), ("other", None)):
        storage.register(id, lambda: None, parent_fragment_id=around)
    session = SimpleNamespace(_fragment_storage=storage, _browser_queue=queue)
    for message in (
        block("", 0, 0),
        block("outer", 0, 1),
        block("outer", 0, 1, 0),
        block("inner", 0, 1, 1),
        block("other", 0, 2),
    ):
        queue.enqueue(message)
    AppSession._clear_queue(session, anew)
    assert [tuple(message.metadata.delta_path) for message in queue.flush()] == left
