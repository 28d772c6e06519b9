"""What is known of a page's run: whether it is whole, waited for, or of Back or a restart."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Lock
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import pytest
from streamlit.runtime.app_session import AppSessionState
from streamlit.runtime.scriptrunner import RerunData, RerunException
from streamlit.runtime.scriptrunner_utils.script_requests import ScriptRequests

import ncd
from ncd.app.host import serve
from ncd.app.page import metrics
from ncd.app.runtime import scheduler, streamlit_internals
from ncd.app.runtime.scheduler import Waiting
from ncd.app.runtime.streamlit_internals import BACK, ENDS, FRAGMENTS, RESTART, create_runner

SIDE = {"sidebar": ["side"], "changing": ["outer"], "both": ["outer", "side"], "none": []}


class Run:
    """A run of a page: of all of it, or of the fragments of these names."""

    session_id, query_string, page_script_hash, context_info = "one", "?h=2", "hash", None

    def __init__(
        self, *fragments: str, awaited: str = "", back: bool = False, old: str = ""
    ) -> None:
        self.fragment_ids_this_run = [*fragments] or None
        self.is_history_navigation, self.cached_message_hashes = back, {*old}
        self.fragment_storage = SimpleNamespace(resolve_target=SIDE.__getitem__)
        self._requests, self.looks = ScriptRequests(), 0
        if awaited:
            self._requests.request_rerun(RerunData(fragment_id_queue=[awaited]))
        self.yield_check = self.look

    def look(self) -> None:
        self.looks += 1


def asked(monkeypatch: pytest.MonkeyPatch, run: Run | None, *parts: str) -> None:
    """Lets this be the run that goes on, on a Streamlit that has the names of some parts."""
    monkeypatch.setattr(streamlit_internals, "get_script_run_ctx", lambda **_: run)
    monkeypatch.setattr(streamlit_internals, "is_supported", lambda part: part in parts)


def renewed() -> bool:
    return streamlit_internals.will_rerun_fragment("sidebar")


def without() -> bool:
    return streamlit_internals.skips_fragment("both")


def none() -> bool:
    return streamlit_internals.skips_fragment("none")


@pytest.mark.parametrize(
    ("question", "run", "parts", "answer"),
    [
        (streamlit_internals.went_back, None, (BACK,), False),
        (streamlit_internals.went_back, Run(back=True), (BACK,), True),
        (streamlit_internals.went_back, Run(back=True), (), False),
        (streamlit_internals.went_back, Run(), (BACK,), False),
        (streamlit_internals.has_reconnected, None, (RESTART,), False),
        (streamlit_internals.has_reconnected, Run(old="a"), (RESTART,), True),
        (streamlit_internals.has_reconnected, Run(old="a"), (), False),
        (streamlit_internals.has_reconnected, Run(), (RESTART,), False),
        (streamlit_internals.session_id, None, (), ""),
        (streamlit_internals.session_id, Run(), (), "one"),
        (renewed, None, (ENDS, FRAGMENTS), False),
        (renewed, Run(awaited="side"), (ENDS, FRAGMENTS), True),
        (renewed, Run(awaited="side"), (ENDS,), False),
        (renewed, Run(awaited="side"), (FRAGMENTS,), False),
        (renewed, Run(awaited="outer"), (ENDS, FRAGMENTS), False),
        (renewed, Run(), (ENDS, FRAGMENTS), False),
        (streamlit_internals.is_full_script_run, None, (FRAGMENTS,), False),
        (streamlit_internals.is_full_script_run, Run(), (FRAGMENTS,), True),
        (streamlit_internals.is_full_script_run, Run("outer"), (FRAGMENTS,), False),
        (streamlit_internals.is_full_script_run, Run("outer"), (), True),
        (without, None, (FRAGMENTS,), False),
        (without, Run(), (FRAGMENTS,), False),
        (without, Run("outer"), (), False),
        (without, Run("outer"), (FRAGMENTS,), True),
        (without, Run("side", "outer"), (FRAGMENTS,), False),
        (none, Run("outer"), (FRAGMENTS,), False),
    ],
)
def test_a_question_about_a_run_has_its_answer(
    question: Callable[[], object],
    run: Run | None,
    parts: tuple[str, ...],
    answer: object,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked(monkeypatch, run, *parts)
    assert question() == answer


def test_a_run_looks_whether_it_has_to_end_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for run, parts in ((None, (ENDS,)), (Run(), ())):
        asked(monkeypatch, run, *parts)
        assert streamlit_internals.superseded_check() is None
    for own in (Run(), Run("outer"), Run("outer", awaited="side")):
        asked(monkeypatch, own, ENDS)
        streamlit_internals.stop_if_superseded()
        assert own.looks == 1


@pytest.mark.parametrize(("run", "ids"), [(Run("outer"), ["outer", "side"]), (Run(), ["side"])])
def test_a_run_is_started_again_with_another_fragment(
    run: Run, ids: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked(monkeypatch, run, FRAGMENTS)
    with pytest.raises(RerunException) as stopped:
        streamlit_internals.restart_with("sidebar")
    again = stopped.value.rerun_data
    assert again.fragment_id_queue == ids
    assert (again.query_string, again.page_script_hash) == ("?h=2", "hash")


@pytest.mark.parametrize(
    ("said", "name", "answer"),
    [
        ("on", "streamlit:slider", True),
        ("on", "streamlit:gone", False),
        ("off", "streamlit:slider", False),
        ("OFF", "streamlit:slider", False),
        ("", "streamlit:slider", True),
    ],
)
def test_a_part_is_in_use_with_all_its_names_unless_all_are_off(
    said: str, name: str, answer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCD_STREAMLIT_PATCHES", said)
    monkeypatch.setitem(streamlit_internals.NEEDS, BACK, ("streamlit:button", name))
    assert streamlit_internals.is_supported.__wrapped__(BACK) is answer


# --- patches --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "runner", "created"),
    [
        (AppSessionState.SHUTDOWN_REQUESTED, None, False),
        (AppSessionState.APP_IS_RUNNING, None, True),
        (AppSessionState.APP_IS_RUNNING, False, True),
        (AppSessionState.APP_IS_RUNNING, True, False),
    ],
)
def test_a_runner_is_created_where_none_takes_the_request(
    state: AppSessionState, runner: bool | None, created: bool
) -> None:
    own = None if runner is None else SimpleNamespace(request_rerun=lambda data: runner)
    loop = SimpleNamespace(call_soon=lambda start: start())
    session = SimpleNamespace(_state=state, _scriptrunner=own, _event_loop=loop)
    made: list[object] = []
    create_runner(session, "data", lambda _, data: made.append(data))
    assert made == ["data"] * created


# --- measurements ---------------------------------------------------------------------------------


@pytest.mark.parametrize(("said", "count"), [(None, 1), ("on", 1), ("off", 0), ("OFF", 0)])
def test_the_log_is_set_up_once_unless_it_is_off(
    said: str | None, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = logging.Logger("runs")
    monkeypatch.setattr(metrics, "LOG", log)
    monkeypatch.delenv("NCD_LOG", raising=False)
    if said is not None:
        monkeypatch.setenv("NCD_LOG", said)
    for _ in range(2):
        metrics.start()
    assert len(log.handlers) == count and log.propagate == (not count)
    assert log.isEnabledFor(logging.INFO) and (log.level == logging.INFO) == bool(count)


@pytest.mark.parametrize("fails", [False, True])
@pytest.mark.parametrize("level", [logging.INFO, logging.WARNING])
def test_a_run_is_measured_however_it_ends(
    fails: bool, level: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    log, runs, waits = MagicMock(), MagicMock(), MagicMock()
    log.isEnabledFor = lambda asked: asked >= level
    for name, value in (("LOG", log), ("RUNS", runs), ("WAITS", waits)):
        monkeypatch.setattr(metrics, name, value)
    clock = SimpleNamespace(perf_counter=iter((10.0, 10.5)).__next__)
    monkeypatch.setattr(metrics, "time", clock)
    monkeypatch.setattr(metrics.scheduler, "waited_seconds", iter((2.0, 2.125)).__next__)
    monkeypatch.setattr(metrics.knobs, "current", lambda entry: {"r": 4})
    try:
        with metrics.measured_run(ncd.catalogue["lora"]):
            _ = 1 / (not fails)
    except ZeroDivisionError:
        assert fails
    assert runs.labels.call_args.args == ("lora",)
    assert runs.labels().observe.call_args.args == (0.5,)
    assert waits.observe.call_args.args == (0.125,)
    told = [call.args[0] for call in log.info.call_args_list]
    assert told == ["page=lora r=4 ms=500.0 queue=125.0"] * (level == logging.INFO)


# --- turns and memory -----------------------------------------------------------------------------


def test_a_run_that_comes_back_from_aside_looks_whether_it_has_to_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks: list[int] = []
    monkeypatch.setattr(
        scheduler.streamlit_internals, "superseded_check", lambda: lambda: looks.append(1)
    )
    with scheduler.turn():
        assert not looks  # the diagram comes first
        with scheduler.yielded_turn(late=False):
            pass
        assert not looks
        with scheduler.yielded_turn():
            pass
        assert looks == [1]


def waiting(number: int) -> Waiting:
    """A thread that waits: its lock is held until its turn comes."""
    found = Waiting(float(number), number, Lock())
    found.lock.acquire()
    return found


@pytest.mark.parametrize(
    ("taken", "lines", "granted"),
    [
        ("--", (0, 0), []),
        ("--", (2, 0), [0]),
        ("T-", (2, 0), []),
        ("-T", (2, 0), [0]),
        ("--", (0, 2), [10]),
        ("-T", (0, 2), []),
        ("T-", (0, 2), []),  # a diagram is being made
        ("--", (1, 1), [0]),  # a diagram is due
    ],
)
def test_a_free_turn_goes_to_the_first_and_diagrams_go_first(
    taken: str, lines: tuple[int, int], granted: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    every = [[waiting(10 * lane + n) for n in range(count)] for lane, count in enumerate(lines)]
    threads = [each for line in every for each in line]
    monkeypatch.setattr(scheduler, "_lines", tuple(every))
    monkeypatch.setattr(scheduler, "_busy_lanes", [sign == "T" for sign in taken])
    scheduler._grant()
    assert [each.number for each in threads if not each.lock.locked()] == granted
    assert sorted(each.number for line in every for each in line) == [
        each.number for each in threads if each.number not in granted
    ]


@pytest.mark.parametrize("lane", [scheduler.FIRST, scheduler.REST])
def test_who_leaves_gives_up_a_place_or_the_turn(
    lane: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, other = waiting(1), waiting(2)
    lines: tuple[list[Waiting], list[Waiting]] = [], []
    lines[lane].extend((mine, other))
    taken = [False, False]
    taken[lane] = True
    monkeypatch.setattr(scheduler, "_lines", lines)
    monkeypatch.setattr(scheduler, "_busy_lanes", taken)
    scheduler._leave(lane, mine)  # while another run has the turn
    assert lines[lane] == [other] and taken[lane] and other.lock.locked()
    scheduler._leave(lane, mine)  # which has come in the meantime
    assert lines == ([], []) and taken[lane] and not other.lock.locked()


@pytest.mark.parametrize(
    ("looks", "done", "count"), [(True, [True], 1), (True, [False, False, True], 3), (False, [], 0)]
)
def test_a_page_looks_whether_it_has_to_end_while_torch_runs(
    looks: bool, done: list[bool], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, found, waits = MagicMock(), list[int](), iter(done)
    made.result.return_value = "result"
    check = (lambda: found.append(1)) if looks else None
    monkeypatch.setattr(scheduler.streamlit_internals, "superseded_check", lambda: check)
    monkeypatch.setattr(scheduler.torch_pool, "submit", lambda make, long: made)
    monkeypatch.setattr(scheduler, "wait", lambda every, seconds: SimpleNamespace(done=next(waits)))
    assert scheduler.run_in_thread(lambda: None) == "result"
    assert len(found) == count and made.cancel.called and not [*waits]


@pytest.mark.parametrize("gpu", [False, True])
def test_all_memory_that_is_free_goes_back(gpu: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[object] = []
    monkeypatch.setattr(serve, "_glibc", SimpleNamespace(malloc_trim=done.append))
    for name in ("unfreeze", "collect", "freeze"):
        monkeypatch.setattr(serve.gc, name, lambda: None)
    monkeypatch.setattr(serve.torch.cuda, "is_initialized", lambda: gpu)
    monkeypatch.setattr(serve.torch.cuda, "empty_cache", lambda: done.append("gpu"))
    serve.collect_garbage()
    assert done == ["gpu"] * gpu + [0]  # keeps no bytes
    monkeypatch.setattr(serve, "_glibc", None)
    serve.return_free_memory()


def test_old_objects_are_collected_by_a_thread_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[Any] = []
    for name in ("collect", "freeze", "set_threshold"):
        own = lambda *given, name=name: done.append((name, *given))  # noqa: E731
        monkeypatch.setattr(serve.gc, name, own)
    thread = MagicMock()
    monkeypatch.setattr(serve, "Thread", thread)
    serve.start()
    assert done == [("collect",), ("freeze",), ("set_threshold", *serve.YOUNG)]
    assert thread.call_args.kwargs == {
        "target": serve._collect_when_idle,
        "name": "sweep",
        "daemon": True,
    }
    assert thread().start.called
