"""Hostile texts of every kind: nothing runs or is read, and each ends with a term or an error."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest

from tests.notation.hostile_texts import KINDS
from tests.support.sampling import count


def watched(each: int, mutations: int) -> dict[str, Any]:
    """Returns what was seen while texts of each kind were read, all of them for 0."""
    command = [sys.executable, "-m", "tests.notation.watched_texts", str(each), str(mutations)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_there_are_two_hundred_of_each_kind(kind: str) -> None:
    assert len({*KINDS[kind]()}) >= 200


def test_nothing_runs_and_each_is_read_or_refused(pytestconfig: pytest.Config) -> None:
    few = pytestconfig.getoption("--few")
    found = watched(40, 40) if few else watched(0, count(500, 2000))
    assert found["seen"] == {} and found["wrong"] == []
    for kind, said in found["kinds"].items():
        assert {*said["count"]} <= {"read", "refused"}, kind
        assert said["count"]["refused"] > 5, kind
