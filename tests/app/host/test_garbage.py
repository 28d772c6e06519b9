"""When the server collects its garbage: as soon as it rests, and sometimes while it is busy."""

from __future__ import annotations

import gc
from collections.abc import Iterator, Sequence
from itertools import islice

import pytest
import torch

from ncd.app.host import serve


def test_a_process_rests_once_it_has_made_hardly_anything_for_two_seconds(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    moving = [(100 * n, 0, 0) for n in range(3)]
    still = [(200 + 49 * (n + 1), 0, 0) for n in range(6)]
    later = [(494, 1, 0), *[(494 - n, 1, 0) for n in range(5)], (1000, 1, 0), *[(1050, 1, 0)] * 5]
    counts = iter([*moving, *still, *later])
    monkeypatch.setattr(gc, "get_count", lambda: next(counts))
    slept: list[float] = []
    monkeypatch.setattr(serve.time, "sleep", slept.append)
    found = list(islice(serve.resting(), len([*moving, *still, *later]) - 1))
    rests = [n for n, rest in enumerate(found, 1) if rest]
    # the fourth still check behind the last move; a young collection and 50 objects are moves
    assert rests == [6, 13, 20]
    assert slept == [serve.PERIOD] * len(found) and serve.IDLE_CHECKS * serve.PERIOD == 2


def swept(
    monkeypatch: pytest.MonkeyPatch, checks: Sequence[tuple[float, bool]]
) -> list[tuple[float, str]]:
    """What is done at which second, of checks and whether the process rests."""
    now, done = [0.0], list[tuple[float, str]]()

    def resting() -> Iterator[bool]:
        for second, rest in checks:
            now[0] = second
            yield rest

    monkeypatch.setattr(serve.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(serve, "resting", resting)
    monkeypatch.setattr(
        serve, "collect_garbage", lambda every: done.append((now[0], "all" if every else "new"))
    )
    monkeypatch.setattr(gc, "collect", lambda: done.append((now[0], "collect")))
    monkeypatch.setattr(serve, "return_free_memory", lambda: done.append((now[0], "give")))
    serve._collect_when_idle()
    return done


def test_a_server_that_rests_visits_new_objects_and_once_a_minute_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checks = [(10.0, True), (60.0, True), (60.5, True), (61.0, True), (120.5, True), (121.0, True)]
    assert swept(monkeypatch, checks) == [
        (10.0, "new"),
        (60.0, "new"),
        (60.5, "all"),
        (61.0, "new"),
        (120.5, "new"),
        (121.0, "all"),
    ]


def test_a_busy_server_returns_memory_and_collects_now_and_then(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    checks = [(30.0, False), (30.5, False), (60.5, False), (61.0, False), (600.0, False)]
    checks += [(600.5, False), (1200.5, False), (1201.0, False)]
    assert swept(monkeypatch, checks) == [
        (30.5, "give"),
        (61.0, "give"),
        (600.0, "give"),
        (600.5, "collect"),
        (1200.5, "give"),
        (1201.0, "collect"),
    ]


def test_to_tidy_frees_frozen_objects_only_if_all_are_visited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    for name in ("unfreeze", "collect", "freeze"):
        monkeypatch.setattr(gc, name, lambda name=name: done.append(name))
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    serve.collect_garbage()
    assert done == ["unfreeze", "collect", "freeze"]
    serve.collect_garbage(every=False)
    assert done[3:] == ["collect", "freeze"]
