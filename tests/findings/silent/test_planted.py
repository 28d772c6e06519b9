"""Each silent fault, planted in three sources, is found at its line, and its cure works."""

from __future__ import annotations

from collections import Counter

import pytest

from ncd.findings.search import findings
from ncd.findings.silent.silent_search import silent
from tests.findings.silent import planted, planted_modules
from tests.findings.silent.planted import Planted

CASES = (*planted.CASES, *planted_modules.CASES)


def test_each_kind_is_planted_three_times() -> None:
    assert min(Counter(case.kind for case in CASES).values()) >= 3


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.kind}-{case.line}")
def test_a_planted_fault_is_found_and_cured(case: Planted) -> None:
    found = silent(case.text)
    assert [(one.kind, one.line) for one in found] == [("silent", case.line)], found
    assert case.says in found[0].says
    rows = [row.strip() for cure in found[0].cures for row in cure.text.split("\n")]
    assert not case.cured or case.cured in rows
    if case.cured:
        assert silent(found[0].cures[0].text) == []


def test_a_search_finds_silent_faults_where_nothing_fails() -> None:
    found = findings(planted.CASES[0].text)
    assert found == tuple(silent(planted.CASES[0].text))
    assert [one.kind for one in findings(planted.CASES[0].text.replace("64, 4", "64, 5"))] == [
        "failure"
    ]
