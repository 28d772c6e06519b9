"""Several changes that become one, which readings go on, and which cures are the best."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
import torch

from ncd.findings.cures import cure_search
from ncd.findings.cures.candidate import Candidate
from ncd.findings.cures.cure_search import (
    CHAIN_TRIES,
    _best_cures,
    _ChainSearch,
    _has_cheap,
    combine_candidates,
    rank,
    works,
)
from ncd.findings.reading.finding import Cure, Edit, apply_edits

TEXT = "a = f(10, 20)\nb = g(30)"
LONG = Edit(1, 6, 8, "1000")  # 10 → 1000, two letters longer


@pytest.mark.parametrize(
    ("first", "second", "text"),
    [
        (LONG, Edit(2, 6, 8, "7"), "a = f(1000, 20)\nb = g(7)"),  # another line stays as it is
        (LONG, Edit(1, 12, 14, "7"), "a = f(1000, 7)\nb = g(30)"),  # behind it: two letters back
        (LONG, Edit(1, 10, 10, "0"), "a = f(10000, 20)\nb = g(30)"),  # directly behind it
        (LONG, Edit(1, 4, 5, "h"), "a = h(1000, 20)\nb = g(30)"),  # before it
        (LONG, Edit(1, 4, 6, "h("), "a = h(1000, 20)\nb = g(30)"),  # directly before it
        (Edit(1, 6, 8, "1"), Edit(1, 9, 11, "7"), "a = f(1, 7)\nb = g(30)"),  # a shorter one
        (LONG, Edit(1, 8, 9, "7"), None),  # in what the first one wrote
        (LONG, Edit(1, 5, 7, "["), None),  # over its begin
    ],
)
def test_a_second_edit_is_moved_to_its_place_before_the_first(first, second, text) -> None:
    both = combine_candidates(
        Candidate((first,), 1.0, "number"), Candidate((second,), 0.5, "shape")
    )
    assert (both and apply_edits(TEXT, both.edits)) == text
    assert both is None or (both.cost, both.kind, both.changes) == (1.5, "number", "model")


@pytest.mark.parametrize(
    ("first", "second", "both", "cost"),
    [
        ("model", "input", "input", 5.0),
        ("input", "model", "input", 5.0),
        ("meaning", "model", "meaning", 5.0),
        ("model", "meaning", "meaning", 5.0),
        ("input", "input", "input", 3.2),  # two sizes of one picture cost little more than one
        ("meaning", "meaning", "meaning", 5.0),
    ],
)
def test_two_changes_change_what_either_does(first, second, both, cost) -> None:
    one = Candidate((LONG,), 3.0, "number", first)
    found = combine_candidates(one, Candidate((Edit(2, 6, 8, "7"),), 2.0, "number", second))
    assert found is not None and found.changes == both and found.cost == pytest.approx(cost)


def candidate(kind: str, line: int = 1, cost: float = 1.0, changes: Any = "model") -> Candidate:
    return Candidate((Edit(line, 0, 1, f"{kind}{cost}"),), cost, kind, changes)


# --- Which readings are those of a cure, and which of a step towards one


def reading(**facts: Any) -> Any:
    known = {"error": None, "refusal": None, "unsure": False, "left_out": [], "message": "it"}
    calls = SimpleNamespace(calls=[1] * facts.pop("calls", 3))
    return SimpleNamespace(**{**known, **facts}, recorder=calls)


@pytest.mark.parametrize(
    ("after", "before", "cured"),
    [
        ({}, {}, True),
        ({"error": ValueError()}, {}, False),
        ({"refusal": ValueError()}, {}, False),
        ({"unsure": True}, {}, False),
        ({"left_out": [5]}, {}, False),
        ({"left_out": [5]}, {"left_out": [7]}, True),
        ({"left_out": [5, 6]}, {"left_out": [7]}, False),
        ({"left_out": [2]}, {"left_out": [7]}, False),  # the line that was changed
    ],
)
def test_an_edit_cures_where_all_is_read_that_was_before(after, before, cured) -> None:
    assert works(reading(**after), reading(**before), (Edit(2, 0, 1, "x"),)) is cured


@pytest.mark.parametrize(
    ("kind", "after", "goes"),
    [
        ("number", {"place": 4}, True),
        ("number", {"place": 3}, False),
        ("number", {"place": 3, "message": "other"}, True),
        ("axes", {"place": 3, "message": "other"}, False),
        ("view", {"place": 3, "message": "other"}, False),
        ("axes", {"place": 4}, True),
        ("number", {"place": 4, "calls": 2}, False),
        ("number", {"place": 4, "calls": 4}, True),
        ("number", {"place": 4, "refusal": ValueError()}, False),
        ("number", {"place": 4, "unsure": True}, False),
        *((kind, {"place": 4}, False) for kind in ("layer", "mode", "written")),
    ],
)
def test_a_chain_goes_on_behind_what_brings_the_reading_on(kind, after, goes) -> None:
    search = _ChainSearch(reading(), 9e9, 2.0)
    with patch.object(cure_search, "_place", lambda trace: trace.place):
        before = reading(place=3)
        assert search.goes_on(candidate(kind), before, reading(**after)) is goes
        assert not search.goes_on(candidate(kind, cost=1.9), before, reading(**after)), "dear"


def test_two_changes_are_one_unless_they_are_hardly_what_was_meant() -> None:
    search = _ChainSearch(reading(), 9e9, 9.0)
    for first, second, together in (
        (candidate("number"), candidate("number", 2), True),
        (candidate("number"), candidate("axes", 2), False),
        (candidate("number"), candidate("shape", 2), False),
        (candidate("axes"), candidate("number", 2), True),
        (candidate("number"), candidate("layer", 2), False),
        (candidate("number"), candidate("number"), False),  # of one place
        (candidate("number", 1, 2.0), candidate("number", 2, 2.0), True),
        (candidate("number", 1, 2.0), candidate("number", 2, 2.1), False),
        (candidate("number", 1, 2.5), candidate("number", 2, 2.5, "input"), True),
        (candidate("number", 1, 2.5), candidate("number", 2, 2.6, "input"), False),
        (candidate("number"), candidate("number", 2, 1.0, "meaning"), False),
    ):
        assert (search.combine(first, second) is not None) is together, (first, second)
    search.below = 2.2
    assert search.combine(candidate("number"), candidate("number", 2)) is None, "no better"


def test_a_search_ends_after_so_many_readings_or_seconds() -> None:
    assert not _ChainSearch(reading(), 9e9, 1.0).is_exhausted
    assert _ChainSearch(reading(), 0.0, 1.0).is_exhausted
    search = _ChainSearch(reading(), 9e9, 1.0)
    search.tried = {str(n) for n in range(CHAIN_TRIES)}
    assert search.is_exhausted
    search.tried.pop()
    assert not search.is_exhausted


# --- The best of the cures


def best(*given: tuple[Candidate, tuple[int, ...]], batch: int = 2) -> list[str]:
    """Returns the new texts of the cures that are shown, in their order."""
    table = SimpleNamespace(expr=lambda size: size)
    trace = SimpleNamespace(inputs=[torch.zeros(batch, 3)], table=table)
    failure: Any = SimpleNamespace(trace=trace, value=int)
    good = [
        (one, Cure(one.edits, "", one.changes, (shape,) if shape else ())) for one, shape in given
    ]
    return [cure.edits[0].new for cure in _best_cures(failure, good)]


def test_the_best_cures_come_first_and_are_three_at_most() -> None:
    every = [(candidate("number", n, float(n)), ()) for n in (4, 2, 3, 1)]
    assert best(*every) == ["number1.0", "number2.0", "number3.0"]
    alike = [(candidate("number", 1, n), ()) for n in (1.0, 2.0, 3.0)]
    assert best(*alike) == ["number1.0", "number2.0"], "two at a place"
    for kind in ("axes", "shape"):
        two = [(candidate(kind, n, float(n)), (2, 5)) for n in (1, 2)]
        assert best(*two, (candidate("number", 3, 3.0), ())) == [f"{kind}1.0", "number3.0"]


def test_a_cure_that_moves_the_batch_comes_later() -> None:
    number = (candidate("number", 2, 2.0), ())
    assert best((candidate("axes"), (2, 5)), number) == ["axes1.0", "number2.0"]
    assert best((candidate("axes"), (5, 2)), number) == ["number2.0", "axes1.0"]
    assert best((candidate("shape"), (5, 2)), number) == ["shape1.0", "number2.0"]
    assert best((candidate("axes"), ()), number) == ["axes1.0", "number2.0"]


def test_a_cure_with_what_nothing_needs_is_not_shown() -> None:
    axes, mask = candidate("axes", 4), candidate("mask", 4, 2.0)
    assert best((axes, (2,)), (mask, ())) == ["mask2.0"]
    assert best((axes, (2,)), (candidate("mask", 5, 2.0), ())) == ["axes1.0", "mask2.0"]
    lucky, other = candidate("number", 5, 2.0, "input"), candidate("number", 5, 2.0)
    assert best((axes, (2,)), (lucky, ())) == ["axes1.0"]
    assert best((axes, (2,)), (other, ())) == ["axes1.0", "number2.0"]
    assert best((lucky, ())) == ["number2.0"]
    both = Candidate((*mask.edits, *other.edits), 3.0, "mask", "model")
    assert best((mask, ()), (both, ())) == ["mask2.0"]


def test_a_cure_is_likely_or_dear() -> None:
    for one, cheap in (
        (candidate("number", cost=1.5), True),
        (candidate("number", cost=1.6), False),
        (candidate("number", cost=1.0, changes="input"), False),
    ):
        assert _has_cheap([(one, Cure((), "", "model"))]) is cheap
    assert rank(candidate("number")) == pytest.approx(1.1)
    assert rank(candidate("number", changes="meaning")) == pytest.approx(11.1)
