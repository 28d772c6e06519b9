"""Functions of the project's scripts, called by the Node that comes with Playwright."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from typing import Any

from playwright._impl._driver import compute_driver_executable

CALLS = """
const calls = JSON.parse(require("fs").readFileSync(0));
process.stdout.write(JSON.stringify(calls.map((given) => %s(...given))));
"""


def called(script: str, function: str, calls: Sequence[Sequence[Any]]) -> list[Any]:
    """What a function of a script returns for each list of arguments."""
    node, _ = compute_driver_executable()
    program = script + CALLS % function
    given = json.dumps([list(each) for each in calls])
    done = subprocess.run([node, "-e", program], input=given, capture_output=True, text=True)
    assert not done.returncode, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found
