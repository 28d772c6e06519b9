"""Medians: every call has its turn in every round, in an order that changes."""

from functools import partial
from types import SimpleNamespace

import pytest

from ncd import Id, Map
from ncd.run import device
from ncd.run.measurement import medians, one_run


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


@pytest.mark.parametrize(
    ("formula", "finite"), [("$1 * 2", True), ("$1 / (0 * $1)", False), ("sqrt($1 - $1)", False)]
)
def test_a_run_says_whether_all_its_numbers_are_finite(formula: str, finite: bool) -> None:
    """The gradients among them: the root of 0 is 0, and rises without end."""
    found = one_run(Id("y:3 m:2") >> Map("m -> m", formula), 0, "cpu")
    assert found["finite"] is finite
    (shown,) = found["outputs"]
    assert (shown["array"], shown["shape"]) == ("y m", (3, 2))
    assert (shown["std"] > 0) == (formula == "$1 * 2")
