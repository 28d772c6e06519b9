"""Two changes that become one, both in places of the text before them."""

from __future__ import annotations

import pytest

from ncd.findings.cures.candidate import Candidate
from ncd.findings.cures.cure_search import combine_candidates
from ncd.findings.reading.finding import Edit, apply_edits

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
