"""How the processes of the app are waited for, watched and replaced."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock, patch

import pytest

from ncd.cli import crowd
from ncd.cli.crowd import AWAY, PATIENCE, SHARE, CrowdError


def process(number: int, code: int | None = None, is_ready: bool = True, **more: Any) -> Any:
    running = SimpleNamespace(exitcode=code, sentinel=number, pid=100 + number)
    usual: dict[str, Any] = {"number": number, "port": 8000 + number, "counts": [5] * 3}
    return SimpleNamespace(
        **{**usual, "running": running, "is_ready": is_ready, "is_lost": False, **more},
        start=MagicMock(),
    )


@pytest.fixture
def clock() -> Iterator[list[float]]:
    now = [100.0]

    def sleep(seconds: float) -> None:
        now[0] += seconds

    with (
        patch.object(crowd.time, "monotonic", lambda: now[0]),
        patch.object(crowd.time, "sleep", sleep),
    ):
        yield now


def error(call: Callable[[], object]) -> str:
    with pytest.raises(CrowdError) as found:
        call()
    return found.value.fact


@pytest.mark.parametrize(
    ("port", "is_port"), [(0, False), (1, True), (65535, True), (65536, False)]
)
def test_a_port_has_ends(port: int, is_port: bool) -> None:
    with (
        patch.object(crowd.socket, "getaddrinfo", side_effect=OSError),
        pytest.raises(crowd.AddressError) as found,
    ):
        crowd.check_address("somewhere", port)
    no_host = "no host is called 'somewhere'. Try --host 127.0.0.1."
    no_port = f"{port} is no port: those go from 1 to 65535. Try --port 8501."
    assert str(found.value) == (no_host if is_port else no_port)


def test_a_server_listens_at_a_free_port_of_this_machine() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        taken.listen()
        with pytest.raises(crowd.AddressError) as found:
            crowd.check_address("127.0.0.1", port)
        used = f"127.0.0.1:{port}: Address already in use. Try another port."
        assert str(found.value) == used
    crowd.check_address("127.0.0.1", port)
    with pytest.raises(crowd.AddressError) as found:
        crowd.check_address("192.0.2.1", port)  # of no machine
    assert str(found.value) == (
        f"192.0.2.1:{port}: Cannot assign requested address. Try --host 0.0.0.0, for every address "
        "of this machine."
    )


def test_all_processes_are_waited_for(clock: list[float]) -> None:
    crowd._await([process(0), process(1)])
    assert clock == [100.0]
    assert error(lambda: crowd._await([process(0), process(1, code=3, is_ready=False)])) == (
        "the process at port 8001 did not start"
    )
    assert "do not answer within 120 seconds" in error(
        lambda: crowd._await([process(0), process(1, is_ready=False)])
    )
    assert PATIENCE <= clock[0] - 100 <= PATIENCE + 2 * crowd.LOOK


@pytest.mark.parametrize(("alive", "answers", "waits"), [(9, 3, 2), (2, 9, 1), (9, 1, 0)])
def test_the_proxy_is_waited_for_until_it_answers_or_ends(
    alive: int, answers: int, waits: int, clock: list[float]
) -> None:
    asked = [0, 0]

    def poll() -> int | None:
        asked[0] += 1
        return None if asked[0] < alive else 1

    def found(*_: object) -> bool:
        asked[1] += 1
        return asked[1] >= answers

    with patch.object(crowd, "answers", found):
        crowd._await_proxy(SimpleNamespace(poll=poll), "host", 1)  # type: ignore[arg-type]
    assert clock[0] == pytest.approx(100 + waits * crowd.LOOK)


def test_a_process_that_ends_is_started_again_and_others_share(capsys: Any) -> None:
    first, second = process(0, code=1), process(1)
    third = process(2, is_lost=True, is_ready=False)
    polls = iter([None, None, 4])

    def poll() -> int | None:
        third.is_ready, first.running.exitcode = True, None
        return next(polls)

    proxy: Any = SimpleNamespace(poll=poll, returncode=4)
    with patch.object(crowd, "wait") as wait, patch.object(crowd, "_share") as share:
        first.is_ready = False
        first.start.side_effect = lambda: None
        said = error(lambda: _watched(first, [first, second, third], proxy))
    assert said == "the proxy has ended, with code 4"
    assert wait.call_args.args == ([0, 1, 2], crowd.LOOK)
    assert share.call_count == 1 and not third.is_lost
    assert not second.start.called


def _watched(first: Any, processes: list[Any], proxy: Any) -> None:
    crowd._watch(processes, proxy)


def test_a_process_that_has_ended_is_lost_until_it_is_ready(capsys: Any) -> None:
    lost = process(0, code=1, is_ready=False)
    polls = iter([None, None, 4])
    lost.start.side_effect = lambda: setattr(lost.running, "exitcode", None)
    proxy: Any = SimpleNamespace(poll=lambda: next(polls), returncode=4)
    with patch.object(crowd, "wait"), patch.object(crowd, "_share") as share:
        error(lambda: crowd._watch([lost], proxy))
    assert lost.start.call_count == 1 and lost.is_lost and not share.called
    assert capsys.readouterr().out == "The process at port 8000 has ended (1).\n"


@pytest.mark.skipif(SHARE is None, reason="there is no such signal here")
def test_only_processes_that_are_there_are_told_to_share() -> None:
    none = process(2)
    none.running.pid = None
    away = process(1, counts=[5, AWAY, 5])
    with patch.object(crowd.os, "kill") as kill:
        crowd._share([process(0), away, none])
        assert [call.args for call in kill.call_args_list] == [(100, SHARE)]
        with patch.object(crowd, "SHARE", None):
            crowd._share([process(0)])
        assert kill.call_count == 1


def test_something_answers_where_a_port_is_open() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert crowd.answers("127.0.0.1", port) is True
    assert crowd.answers("127.0.0.1", port) is False


@pytest.mark.parametrize("late", ["", "processes", "watch"])
def test_whatever_fails_all_processes_end(late: str, capsys: Any) -> None:
    assert "Caddy is not installed" in _without_caddy()
    proxy = MagicMock()
    failure = CrowdError("late")
    with (
        patch.object(crowd.shutil, "which", lambda name: name),
        patch.object(crowd, "check_address"),
        patch.object(crowd, "_prepare") as prepare,
        patch.object(crowd, "_stop_on_signals", nullcontext),
        patch.object(crowd.ServerProcess, "start") as start,
        patch.object(crowd, "_await", side_effect=failure if late == "processes" else None),
        patch.object(crowd, "_proxy", return_value=proxy),
        patch.object(crowd, "_await_proxy"),
        patch.object(crowd, "_watch", side_effect=failure if late == "watch" else None),
        patch.object(crowd, "_end") as end,
    ):
        if late:
            assert error(lambda: crowd.crowd("127.0.0.1", 80, 3)) == "late"
        else:
            crowd.crowd("127.0.0.1", 80, 3)
    (processes,) = end.call_args.args
    assert [own.number for own in processes] == [0, 1, 2] and start.call_count == 3
    assert [*processes[0].counts] == [AWAY] * 3
    assert prepare.called == crowd.FORK
    assert proxy.terminate.called == proxy.wait.called == (late != "processes")
    out = capsys.readouterr().out
    assert out == ("" if late == "processes" else "3 processes answer at http://127.0.0.1:80\n")


def _without_caddy() -> str:
    with patch.object(crowd.shutil, "which", lambda name: None):
        return error(lambda: crowd.crowd("127.0.0.1", 80, 3))
