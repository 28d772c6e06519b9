"""Hostile sources: nothing runs, nothing is read or sent, and each ends with a term or an error."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.support.hostile import hostile
from tests.support.sampling import count


def watched(mutations: int) -> dict[str, object]:
    """Returns what was seen while all hostile sources and some mutations were read."""
    command = [sys.executable, "-m", "tests.support.watched", str(mutations)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_there_are_over_two_hundred_of_them() -> None:
    assert len({*hostile()}) > 200


def test_nothing_runs_and_each_is_read_or_refused() -> None:
    found = watched(count(40, 2000))
    assert found["seen"] == {} and found["wrong"] == []
    said = found["count"]
    assert isinstance(said, dict) and {*said} == {"read", "refused"}
    assert said["refused"] > 200 and said["read"] > 20
