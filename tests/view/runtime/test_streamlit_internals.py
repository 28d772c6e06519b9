"""What the app takes from Streamlit beyond its public API, and that it works without."""

import ast
import logging
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from types import SimpleNamespace

import pytest
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.NewSession_pb2 import CustomThemeConfig
from streamlit.runtime import app_session
from streamlit.runtime.app_session import AppSession
from streamlit.runtime.forward_msg_queue import ForwardMsgQueue
from streamlit.runtime.fragment import MemoryFragmentStorage
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.scriptrunner import RerunData
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests
from streamlit.runtime.state import SafeSessionState
from streamlit.testing.v1 import AppTest

from ncd.view.page import navigation
from ncd.view.runtime import streamlit_internals
from ncd.view.runtime.streamlit_internals import FEATURES, has
from tests.test_layering import FILES, ROOT

REPLACED = (
    (ForwardMsgQueue, "clear"),
    (SafeSessionState, "on_script_will_rerun"),
    (app_session, "_populate_theme_msg"),
    (MediaFileManager, "remove_orphaned_files"),
)
NEEDS = sorted({need for feature in FEATURES.values() for need in feature.needs})


@pytest.fixture(autouse=True)
def restored(monkeypatch: pytest.MonkeyPatch) -> None:
    """Streamlit as it is, before and after each test."""
    for owner, name in REPLACED:
        monkeypatch.setattr(owner, name, getattr(owner, name))
    has.cache_clear()


def replaced() -> list[str]:
    """The functions of Streamlit that are not its own."""
    return [name for own, name in REPLACED if getattr(own, name).__module__ != own_module(own)]


def own_module(owner: object) -> str:
    return getattr(owner, "__module__", getattr(owner, "__name__", ""))


# --- one place -----------------------------------------------------------------------------------

NAMED_TUPLE = {"_replace", "_asdict", "_fields"}  # documented all the same


def private(path: Path) -> Iterator[str]:
    """What a file uses of Streamlit's own: its inner modules, and names that begin with ``_``."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if "streamlit." in alias.name)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("streamlit"):
            yield f"{node.module} {[alias.name for alias in node.names]}"
        elif isinstance(node, ast.Constant) and str(node.value).startswith("streamlit."):
            yield str(node.value)
        elif isinstance(node, ast.Attribute) and re.match("_[a-z]", node.attr):
            own = ast.unparse(node.value)
            if own not in ("self", "cls") and node.attr not in NAMED_TUPLE:
                yield f"{own}.{node.attr}"


def test_all_that_is_private_to_streamlit_stands_in_one_module() -> None:
    here = Path(streamlit_internals.__file__)
    assert "streamlit.runtime.state:SafeSessionState" in private(here)
    view = [path for path in FILES if "view" in path.parts and path != here]
    assert [(path, name) for path in view for name in private(path)] == []


# --- the checks at the start ---------------------------------------------------------------------


def test_this_version_has_all_names() -> None:
    assert all(has(feature) for feature in FEATURES)
    streamlit_internals.start()
    streamlit_internals.start()  # once more changes nothing
    assert replaced() == [name for _, name in REPLACED]


def without(monkeypatch: pytest.MonkeyPatch, need: str) -> None:
    """Takes a name away from Streamlit, or from a function a parameter."""
    name, field, parameters = re.fullmatch(r"([\w.:]+)(?:#(\w+))?(?:\((.*)\))?", need).groups()
    found = streamlit_internals._find(name)
    owner, own = re.fullmatch(r"(.+)[.:](\w+)", name).groups()
    if field:
        monkeypatch.setattr(found, "__init__", lambda self: None)  # where it is set
        others = {name: kind for name, kind in found.__annotations__.items() if name != field}
        monkeypatch.setattr(found, "__annotations__", others)
    elif parameters:
        monkeypatch.setattr(streamlit_internals._find(owner), own, lambda other: None)
    else:
        monkeypatch.delattr(streamlit_internals._find(owner), own)


@pytest.mark.parametrize("need", NEEDS)
def test_a_missing_name_is_logged_in_one_line_and_its_feature_left_out(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, need: str
) -> None:
    lost = [name for name, feature in FEATURES.items() if need in feature.needs]
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        without(patch, need)
        streamlit_internals.start()
    for name, message in zip(lost, caplog.messages, strict=True):
        other = next(own for own in FEATURES[name].needs if own in message)
        assert message == f"Streamlit 1.67.0 has no {other}, so {FEATURES[name].lost}."
    assert {name for name in FEATURES if not has(name)} == set(lost)


@pytest.mark.parametrize("feature", FEATURES)
def test_a_page_works_without_a_feature(monkeypatch: pytest.MonkeyPatch, feature: str) -> None:
    monkeypatch.setitem(FEATURES, feature, FEATURES[feature]._replace(needs=("streamlit:none",)))
    streamlit_internals.start()
    shown("residual-block")


def test_all_can_be_turned_off(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NCD_STREAMLIT_PATCHES", "off")
    streamlit_internals.start()
    assert not replaced() and not caplog.messages
    assert streamlit_internals.server() == streamlit_internals.reconnected() == ""
    assert streamlit_internals.interrupt() is None and not streamlit_internals.went_back()
    shown("residual-block")


def shown(name: str) -> AppTest:
    """A page, on which a size moves."""
    app = AppTest.from_file(ROOT / "app.py", default_timeout=60).run()
    app.switch_page(navigation.file(navigation.CATALOGUE[name])).run()
    app.slider(key="s").set_value(2).run()
    assert not app.exception and app.slider(key="s").value == 2
    return app


# --- what is replaced ----------------------------------------------------------------------------


def block(fragment: str, *path: int) -> ForwardMsg:
    message = ForwardMsg()
    message.delta.add_block.allow_empty = True
    message.delta.fragment_id = fragment
    message.metadata.delta_path[:] = path
    return message


def named(*path: int) -> ForwardMsg:
    """What the browser has already, and is only named."""
    message = ForwardMsg(ref_hash="what was sent")
    message.metadata.delta_path[:] = path
    return message


def test_what_has_not_left_stays_whole_when_a_fragment_runs_again() -> None:
    streamlit_internals.start()
    queue = ForwardMsgQueue()
    for message in (block("outer", 0, 1), named(0, 1, 0), block("inner", 0, 1, 1)):
        queue.enqueue(message)
    queue.clear(retain_lifecycle_msgs=True, fragment_ids_this_run=["outer"])
    queue.enqueue(block("outer", 0, 1))
    queue.enqueue(named(0, 1, 0))  # behind its own block, not in the place of the earlier one
    assert [tuple(message.metadata.delta_path) for message in queue._queue] == [
        (0, 1),
        (0, 1, 0),
        (0, 1, 1),
        (0, 1),
        (0, 1, 0),
    ]
    queue.clear(retain_lifecycle_msgs=True)
    assert queue.is_empty()
    queue.enqueue(block("outer", 0, 1))
    assert len(queue.flush()) == 1 and queue.is_empty()


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


def test_what_a_button_does_is_done_whatever_is_asked_for_meanwhile() -> None:
    streamlit_internals.start()
    app = AppTest.from_function(pressed).run()
    app.button[0].click().run()
    assert app.text[0].value == "to the end"


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


@pytest.mark.parametrize("section", ["theme", "theme.light", "theme.dark.sidebar"])
def test_the_theme_is_what_streamlit_reads(section: str) -> None:
    own, ours = CustomThemeConfig(), CustomThemeConfig()
    app_session._populate_theme_msg(own, section)
    streamlit_internals.start()
    for _ in range(2):
        app_session._populate_theme_msg(ours, section)
        assert ours == own


def test_files_are_removed_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    removed, now = [], iter([100.0, 101.0, 129.0, 130.0, 131.0])
    monkeypatch.setattr(MediaFileManager, "remove_orphaned_files", lambda self: removed.append(1))
    monkeypatch.setattr(streamlit_internals, "monotonic", lambda: next(now))
    streamlit_internals.start()
    counts = []
    for _ in range(5):
        MediaFileManager.remove_orphaned_files(None)
        counts.append(len(removed))
    assert counts == [1, 1, 1, 2, 2]


# --- names of Streamlit's page -------------------------------------------------------------------


def test_streamlits_page_has_the_names_that_ours_asks_for() -> None:
    """The marks of its elements, by which styles and scripts find them, and where its server is."""
    kinds = ("css", "js")
    ours = "".join(
        path.read_text() for kind in kinds for path in ROOT.glob(f"ncd/view/**/*.{kind}")
    )
    names = set(re.findall(r'data-testid="?(\w+)', ours)) | {"BACKEND_BASE_URL", "__streamlit"}
    names |= set(re.findall(r"data-test-[\w-]+|(?<=\.)st[A-Z]\w+(?=[ ,:)])", ours))
    static = files("streamlit") / "static" / "static"
    theirs = "".join(
        path.read_text() for kind in ("js", "css") for path in (static / kind).iterdir()
    )
    assert len(names) > 20
    assert not {name for name in names if name not in theirs}
