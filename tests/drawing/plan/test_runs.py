"""Runs of equal parts in a sequence, against all runs that there are."""

from __future__ import annotations

from random import Random

import pytest

from ncd.circuit.circuit import Fence
from ncd.drawing.plan.repeated_layers import _runs, _Segment


def every_run(marks: list[int]) -> set[tuple[int, int, int]]:
    """All stretches as long as can be that repeat themselves with some period."""
    n, found = len(marks), set()
    for period in range(1, n // 2 + 1):
        for a in range(n):
            for end in range(a + 2 * period, n + 1):
                same = all(marks[i] == marks[i + period] for i in range(a, end - period))
                wider = (a and marks[a - 1] == marks[a - 1 + period]) or (
                    end < n and marks[end] == marks[end - period]
                )
                if same and not wider:
                    found.add((a, period, end))
    return found


@pytest.mark.parametrize("seed", range(20))
def test_runs_are_the_longest_stretches_that_repeat(seed: int) -> None:
    random = Random(seed)
    marks = [random.randrange(3) for _ in range(12)]
    found, wanted = list(_runs(marks)), every_run(marks)
    assert set(found) <= wanted
    lengths = [end - a for a, _, end in found]
    assert lengths == sorted(lengths, reverse=True)
    for a, period, end in wanted - set(found):  # its copies are runs of a longer stretch
        assert any(not period % p and x <= a and end <= y for x, p, y in found), (
            marks,
            a,
            period,
            end,
        )


def test_layers_of_two_kinds_in_turn_are_one_run_of_pairs() -> None:
    assert list(_runs([7, 1, 2, 1, 2, 1, 9])) == [(1, 2, 6)]
    assert list(_runs([1, 1])) == [(0, 1, 2)] and list(_runs([1, 2, 3])) == []


def test_the_inner_states_of_a_part_are_those_between_the_ends_of_its_blocks() -> None:
    blocks = (Fence("f1", "", "", 4, ((),) * 5), Fence("f2", "", "", 8, ((),) * 2))
    part = _Segment("f0", 3, ((),) * 9, ((),) * 8, (), blocks)  # its states are 3 to 11
    assert part.inner_states == {2, 3, 4}
    assert part.begin == {1: [blocks[0]], 5: [blocks[1]]}
