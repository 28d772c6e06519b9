"""What a session drops when a fragment runs anew, which fragment runs, and what is never lost."""

import asyncio
from threading import Event
from types import SimpleNamespace

import pytest
import streamlit as st
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.scriptrunner import RerunData, RerunException
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests
from streamlit.runtime.state import SafeSessionState
from streamlit.testing.v1 import AppTest

from ncd.app.runtime import streamlit_internals
from ncd.app.runtime.scheduler import run_in_thread
from ncd.run import torch_pool


def block(fragment: str, *path: int) -> ForwardMsg:
    message = ForwardMsg()
    message.delta.add_block.allow_empty = True
    message.delta.fragment_id = fragment
    message.metadata.delta_path[:] = path
    return message


def element(fragment: str, *path: int) -> ForwardMsg:
    message = ForwardMsg()
    message.delta.new_element.text.body = "words"
    message.delta.fragment_id = fragment
    message.metadata.delta_path[:] = path
    return message


def put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets every name that is replaced be what it was, after the test."""
    for owner, name in (
        (AppSession, "_clear_queue"),
        (AppSession, "_create_scriptrunner"),
        (AppSession, "request_rerun"),
        (SafeSessionState, "on_script_will_rerun"),
        (MediaFileManager, "remove_orphaned_files"),
    ):
        monkeypatch.setattr(owner, name, getattr(owner, name, None))


def patched(monkeypatch: pytest.MonkeyPatch) -> None:
    put_back(monkeypatch)
    streamlit_internals.install()


@pytest.mark.parametrize(("anew", "left"), [(["outer"], [(0, 1), (0, 1, 0), (0, 1)]), (None, [])])
def test_what_a_fragment_has_not_sent_is_sent_before_it_runs_anew(
    monkeypatch: pytest.MonkeyPatch, anew: list[str] | None, left: list[tuple[int, ...]]
) -> None:
    patched(monkeypatch)
    session = SimpleNamespace(_browser_queue=ForwardMsgQueue())
    for message in (block("outer", 0, 1), element("inner", 0, 1, 0)):
        session._browser_queue.enqueue(message)
    AppSession._clear_queue(session, anew)
    if anew:  # it takes the place of nothing that a block before it holds
        session._browser_queue.enqueue(element("outer", 0, 1))
    assert [
        tuple(message.metadata.delta_path) for message in session._browser_queue.flush()
    ] == left


def test_what_a_run_has_sent_at_its_very_end_is_not_ignored(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Another run is asked for while the last messages still wait in the event loop."""
    taken: list[str] = []
    monkeypatch.setattr(
        AppSession, "_create_scriptrunner", lambda session, data: taken.append(f"run {data}")
    )
    patched(monkeypatch)
    ended = SimpleNamespace(request_rerun=lambda data: False)
    loop = asyncio.new_event_loop()
    session = SimpleNamespace(_event_loop=loop, _scriptrunner=ended, _state=None)
    loop.call_soon(lambda: taken.append("the last message"))
    AppSession._create_scriptrunner(session, 1)
    loop.call_soon(loop.stop)
    loop.run_forever()
    loop.close()
    assert taken == ["the last message", "run 1"]


def test_what_follows_the_sidebar_runs_where_that_has_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    monkeypatch.setattr(
        AppSession,
        "request_rerun",
        lambda session, state: asked.append(state.fragment_id if state else "the page"),
    )
    patched(monkeypatch)
    storage = MemoryFragmentStorage()
    for id, key in (
        ("one", streamlit_internals.SIDEBAR),
        ("two", streamlit_internals.CHANGING),
        ("three", None),
    ):
        storage.register(id, lambda: None, target_key=key)
    session = SimpleNamespace(_fragment_storage=storage)
    for id in ("one", "two", "three", "gone", ""):
        AppSession.request_rerun(session, ClientState(fragment_id=id))
    AppSession.request_rerun(session, None)
    assert asked == ["two", "two", "three", "gone", "", "the page"]
    session = SimpleNamespace(_fragment_storage=MemoryFragmentStorage())  # of a new process
    AppSession.request_rerun(session, ClientState(fragment_id="one"))
    assert asked[-1] == ""


def pressed() -> None:
    """A page with a button; something else is asked for as soon as it is pressed."""
    import streamlit as st
    from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

    def press() -> None:
        run = get_script_run_ctx()
        assert run is not None
        run.yield_check.__self__.request_rerun(RerunData())  # type: ignore[attr-defined]
        run.yield_check()  # such as when it waits for a thread
        st.session_state.pressed = "to the end"

    st.button("Press", on_click=press)
    st.text(st.session_state.get("pressed", "not pressed"))


def test_what_a_button_does_is_done_whatever_is_asked_for_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    patched(monkeypatch)
    app = AppTest.from_function(pressed).run()
    app.button[0].click().run()
    assert app.text[0].value == "to the end"


def waits() -> None:
    """A page that waits for what never ends, the first time; something else is asked for then."""
    import streamlit as st
    from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

    from ncd.app.runtime import scheduler as torch_threads

    if "waits" not in st.session_state:
        st.session_state.waits = True
        run = get_script_run_ctx()
        assert run is not None
        run.yield_check.__self__.request_rerun(RerunData())  # type: ignore[attr-defined]
        torch_threads.run_in_thread(st.session_state.end.wait)
    st.text("anew")


def test_who_goes_on_does_not_wait_for_what_was_asked_before() -> None:
    app, end = AppTest.from_function(waits), Event()
    app.session_state.end = end
    try:
        assert app.run().text[0].value == "anew"
    finally:
        end.set()


def queues() -> None:
    """A page that waits for its turn behind others, the first time; something else is asked for."""
    import streamlit as st
    from streamlit.runtime.scriptrunner import RerunData, get_script_run_ctx

    from ncd.app.runtime import scheduler as torch_threads

    if "queues" not in st.session_state:
        st.session_state.queues = True
        run, begun = get_script_run_ctx(), st.session_state.begun
        assert run is not None
        run.yield_check.__self__.request_rerun(RerunData())  # type: ignore[attr-defined]
        torch_threads.run_in_thread(lambda: begun.append("its turn"), long=True)


def test_what_nobody_waits_for_any_more_never_begins() -> None:
    app, end, begun = AppTest.from_function(queues), Event(), list[str]()
    app.session_state.begun = begun
    others = [torch_pool.submit(end.wait, long=True) for _ in range(torch_pool.HALF)]
    try:
        app.run()
    finally:
        end.set()
    assert all(other.result() for other in others)
    assert [run_in_thread(lambda: "the next", long=True), *begun] == ["the next"]


def test_a_button_pressed_while_the_page_is_made_is_taken_along_by_the_next_run() -> None:
    requests, storage = ScriptRequests(), MemoryFragmentStorage()
    storage.register("one", lambda: None)
    requests.request_rerun(RerunData())
    requests.on_scriptrunner_ready()  # the page is made
    session = SimpleNamespace(
        _scriptrunner=requests,
        _fragment_storage=storage,
        _state=None,
        has_fragment=storage.contains,
    )
    press = ClientState(fragment_id="one")
    press.widget_states.widgets.add(id="button", trigger_value=True)
    AppSession.request_rerun(session, press)
    AppSession.request_rerun(session, ClientState(page_script_hash="a tab"))
    asked = requests.on_scriptrunner_ready().rerun_data
    assert [each.id for each in asked.widget_states.widgets] == ["button"]
    assert (asked.fragment_id_queue, asked.page_script_hash) == ([], "a tab")


class Runner:
    """Runs the two fragments of a page, while a request waits that names some fragments."""

    def __init__(self, *awaited: str) -> None:
        self._requests = ScriptRequests()
        self._requests.request_rerun(RerunData(fragment_id_queue=[*awaited]))
        self.fragment_ids_this_run = ["outer", "side"]
        self.yield_check = self.look

    def look(self) -> None:
        """Lets the run go on, as Streamlit does while a request for a fragment waits."""


@pytest.mark.parametrize("awaited", [("outer",), ("outer", "side"), ("side", "other")])
def test_a_run_that_gives_way_leaves_its_fragments_to_the_next(
    monkeypatch: pytest.MonkeyPatch, awaited: tuple[str, ...]
) -> None:
    runner = Runner(*awaited)
    monkeypatch.setattr(streamlit_internals, "get_script_run_ctx", lambda **given: runner)
    with pytest.raises(RerunException) as stopped:
        streamlit_internals.stop_if_superseded()
    after = [id for id in awaited if id == "other"]
    assert stopped.value.rerun_data.fragment_id_queue == ["outer", "side", *after]


def test_a_run_goes_on_while_another_fragment_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        streamlit_internals, "get_script_run_ctx", lambda **given: Runner("a panel's own")
    )
    streamlit_internals.stop_if_superseded()


def test_files_that_no_page_offers_are_removed_seldom(monkeypatch: pytest.MonkeyPatch) -> None:
    removed: list[int] = []
    monkeypatch.setattr(MediaFileManager, "remove_orphaned_files", lambda files: removed.append(1))
    monkeypatch.setattr(streamlit_internals, "monotonic", iter((100.0, 129.0, 131.0)).__next__)
    patched(monkeypatch)
    counts = []
    for _ in range(3):
        MediaFileManager.remove_orphaned_files(SimpleNamespace())
        counts.append(len(removed))
    assert counts == [1, 1, 2]


@pytest.mark.parametrize("part", streamlit_internals.NEEDS)
def test_the_pinned_version_has_every_name(part: str) -> None:
    assert [
        path for path in streamlit_internals.NEEDS[part] if not streamlit_internals.exists(path)
    ] == []


def test_a_missing_name_is_logged_and_its_patch_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(
        streamlit_internals, "is_supported", streamlit_internals.is_supported.__wrapped__
    )
    monkeypatch.setattr(streamlit_internals, "is_supported", streamlit_internals.is_supported)
    put_back(monkeypatch)
    monkeypatch.delattr(AppSession, "_clear_queue")
    request = AppSession.request_rerun
    streamlit_internals.install()
    assert AppSession.request_rerun is request
    assert not hasattr(AppSession, "_clear_queue")
    assert SafeSessionState.on_script_will_rerun.__name__ == "uninterrupted"
    assert [record.getMessage() for record in caplog.records if record.name == "ncd.streamlit"] == [
        f"Streamlit {st.__version__} has no streamlit.runtime.app_session:AppSession._clear_queue: "
        "the app works without the fragments of a page, only slower."
    ]


def test_without_fragments_pages_run_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streamlit_internals, "is_supported", lambda part: False)
    assert streamlit_internals.fragment("changing")(patched) is patched
    with streamlit_internals.outside_fragments():
        assert not streamlit_internals.skips_fragment("sidebar")
    assert streamlit_internals.superseded_check() is None
    assert not streamlit_internals.went_back() and not streamlit_internals.has_reconnected()
