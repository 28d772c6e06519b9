"""Medians: every call has its turn in every round, in an order that changes."""

from functools import partial
from types import SimpleNamespace

import pytest

from ncd.run import device
from ncd.run.measurement import medians


def test_every_round_has_all_calls_in_an_order_of_its_own():
    made: list[str] = []
    calls = {name: partial(made.append, name) for name in "abc"}
    medians(calls, rounds=20, warm=0)
    rounds = [tuple(made[at : at + 3]) for at in range(0, len(made), 3)]
    assert len(rounds) == 20
    assert all(sorted(each) == ["a", "b", "c"] for each in rounds)
    assert len(set(rounds)) > 3


def test_what_comes_before_a_call_does_not_count(monkeypatch: pytest.MonkeyPatch):
    made: list[str] = []
    seconds = {"before": 100.0, "a": 2.0}
    now = SimpleNamespace(perf_counter=lambda: sum(seconds[each] for each in made))
    monkeypatch.setattr(device, "time", now)
    before, call = partial(made.append, "before"), partial(made.append, "a")
    assert medians({"a": call}, rounds=3, warm=1, before=before) == {"a": 2.0}
    assert made == ["before", "a"] * 4
