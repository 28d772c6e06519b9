"""Checks of health, the draining of a process, and the balance of visitors between processes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest

from ncd.app.host import health
from ncd.app.host.health import (
    AWAY,
    MIN_FAILED_CHECKS,
    READY,
    RECONNECT_CODE,
    SHARE,
    TOLERATED_SURPLUS,
    WELL,
    excess,
)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    state = {
        "_leaving": False,
        "_sharing": False,
        "_failed_check_count": 0,
        "_open_sockets": {},
        "_counts": [AWAY],
    }
    with patch.multiple(health, **state, _process_index=0):
        yield


def visitors(count: int) -> tuple[list[Any], list[tuple[int, dict[str, Any]]]]:
    """Opens websockets, whose messages are recorded with the numbers of their visitors."""
    sent: list[tuple[int, dict[str, Any]]] = []

    def one(n: int) -> Any:
        async def send(message: dict[str, Any]) -> None:
            sent.append((n, message))

        return send

    own = [one(n) for n in range(count)]
    entered = [health.visitor(send) for send in own]
    for each in entered:
        each.__enter__()
    return entered, sent


@pytest.mark.parametrize(
    ("leaving", "sharing", "path", "status", "said"),
    [
        (False, False, READY, 200, b"ok"),
        (True, False, WELL, 200, b"ok"),
        (False, True, WELL, 200, b"ok"),
        (True, False, READY, 503, b"leaving"),
        (False, True, READY, 503, b"sharing"),
        (True, True, READY, 503, b"leaving"),
    ],
)
def test_a_process_is_ready_unless_it_leaves_or_shares(
    leaving: bool, sharing: bool, path: str, status: int, said: bytes
) -> None:
    health._leaving, health._sharing = leaving, sharing
    found = health.answer(path)
    assert (found.status_code, found.body) == (status, said)
    assert health._failed_check_count == (status == 503)


def test_visitors_are_counted_while_they_are_here() -> None:
    counts = [7, AWAY, 9]
    health.register_process(counts, 1)
    entered, _ = visitors(2)
    assert counts == [7, 2, 9]
    entered[0].__exit__(None, None, None)
    assert counts == [7, 1, 9]
    health._leaving = True
    entered[1].__exit__(None, None, None)
    assert counts == [7, AWAY, 9]


@pytest.mark.parametrize(
    ("counts", "own", "more"),
    [
        ([10 + TOLERATED_SURPLUS, 10 - TOLERATED_SURPLUS], 0, 0),
        ([11 + TOLERATED_SURPLUS, 10 - TOLERATED_SURPLUS], 0, 11),
        ([10 + TOLERATED_SURPLUS, 10 - TOLERATED_SURPLUS], 1, 0),
        ([100, 0], 0, 50),
        ([250, 150], 0, 0),  # a quarter of 200
        ([251, 149], 0, 51),
        ([100, AWAY, 0], 0, 50),
        ([AWAY], 0, 0),
        ([AWAY, AWAY], 0, 0),
    ],
)
def test_a_process_has_too_many_if_it_is_far_above_its_share(
    counts: list[int], own: int, more: int
) -> None:
    assert excess(counts, own) == more


def test_the_last_visitors_go_to_the_process_that_has_fewer() -> None:
    _, sent = visitors(30)
    health.register_process([30, 0], 0)

    async def sleep(seconds: float) -> None:
        if not sent:
            health.answer(READY)  # the proxy asks meanwhile
            assert health._sharing

    with patch.object(health.asyncio, "sleep", sleep):
        asyncio.run(health.shed_visitors(60.0))
    assert [n for n, _ in sent] == [*range(29, 14, -1)]
    assert sent[0][1] == {
        "type": "websocket.close",
        "code": RECONNECT_CODE,
        "reason": health.RECONNECT_REASON,
    }
    assert health._failed_check_count == MIN_FAILED_CHECKS and not health._sharing


@pytest.mark.parametrize(
    ("leaving", "sharing", "counts"),
    [(True, False, [30, 0]), (False, True, [30, 0]), (False, False, [20, 10])],
)
def test_nobody_is_disconnected_without_need(
    leaving: bool, sharing: bool, counts: list[int]
) -> None:
    _, sent = visitors(counts[0])
    health.register_process(counts, 0)
    health._leaving, health._sharing = leaving, sharing
    asyncio.run(health.shed_visitors(60.0))
    assert sent == [] and health._sharing == sharing


def test_without_an_answer_of_the_proxy_it_waits_no_longer_than_told() -> None:
    _, sent = visitors(30)
    health.register_process([30, 0], 0)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    with patch.object(health.asyncio, "sleep", sleep):
        asyncio.run(health.shed_visitors(0.0))
    assert len(sent) == 15
    assert slept == [*[health.DISCONNECTION_SECONDS] * 15, 0.0]
    health._open_sockets.clear()


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("", 0),
        ("0", 0),
        ("2.5", 2.5),
        ("3600", 3600),
        ("3601", 0),
        ("-1", 0),
        ("x", 0),
        ("nan", 0),
        ("inf", 0),
    ],
)
def test_the_time_to_drain_is_limited(
    text: str, seconds: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCD_DRAIN", text)
    assert health.drain_seconds() == seconds


@pytest.mark.parametrize("wait", ["", "5"])
@pytest.mark.parametrize("processes", [1, 2])
def test_the_first_signal_drains_and_the_second_ends(
    wait: str, processes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NCD_DRAIN", wait)
    ended: list[int] = []
    handlers: dict[int, Any] = {signal.SIGTERM: lambda number, frame: ended.append(number)}
    later: list[tuple[float, int]] = []
    added: list[int] = []
    loop = SimpleNamespace(
        call_soon_threadsafe=lambda call, *rest: call(*rest),
        call_later=lambda seconds, call, number: later.append((seconds, number)),
        add_signal_handler=lambda number, call: added.append(number),
    )
    health.register_process([AWAY] * processes, 0)
    with (
        patch.object(health.asyncio, "get_running_loop", lambda: loop),
        patch.object(health.signal, "getsignal", handlers.get),
        patch.object(health.signal, "signal", handlers.__setitem__),
    ):
        opened = health.lifespan(None)
        with pytest.raises(StopIteration):
            opened.__aenter__().send(None)
    assert health._counts[0] == 0  # it takes visitors now
    assert added == ([SHARE] if processes > 1 else [])
    handlers[signal.SIGTERM](signal.SIGTERM, None)
    if not wait:
        assert ended == [signal.SIGTERM] and not health._leaving
        return
    assert health._leaving and ended == [] and later == [(5.0, signal.SIGTERM)]
    assert health._counts[0] == AWAY
    handlers[signal.SIGTERM](signal.SIGTERM, None)
    assert ended == [signal.SIGTERM]
