"""The tools that the documentation names run where the app alone is installed."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.load.crowd_load import Meter, serving, told
from tools.load.visitors import Found

ROOT = Path(__file__).parents[2]
CALLS = sorted(  # the tools, with what the documentation gives them
    {
        call
        for page in (ROOT / "docs").glob("*.md")
        for call in re.findall(r"python -m (tools[^`#\n]*)", page.read_text())
    }
)
ALONE = """
import runpy, sys
for name in ("playwright", "pytest", "hypothesis", "httpx", "mypy"):
    sys.modules[name] = None  # as if it was not installed
sys.argv = [{name!r}, "--help"]
runpy.run_module({name!r}, run_name="__main__", alter_sys=True)
"""


@pytest.mark.parametrize("call", CALLS)
def test_a_tool_that_is_named_needs_no_more_than_the_app(call: str) -> None:
    name, *words = call.split()
    argv = [sys.executable, "-c", ALONE.format(name=name)]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage:")
    options = {word for word in words if word.startswith("--")}
    assert options <= {*re.findall(r"--[a-z]+", done.stdout)}


def test_visitors_come_to_a_server_that_runs_already() -> None:
    with serving(1, "https://circuits.example.org/") as server:
        assert server.address == "https://circuits.example.org"
        meter = Meter(server)
        assert (meter.used(), meter.held()) == (0, 0)  # it is not on this machine
    found = Found()
    found.diagram += [10, 20]
    found.end += [30, 40]
    assert told(found, 0, 0) == (
        "    2 moves  diagram p50   10 p95   10 ms  end p50   30 p95   30 ms  0 failed "
    )
    assert "   5 ms of processor each      7 MB  0 failed" in told(found, 0.01, 7)


def test_what_the_tool_cannot_do_to_a_server_elsewhere_is_said() -> None:
    argv = [sys.executable, "-m", "tools.load.crowd_load", "--at", "http://x", "--kill", "30"]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 2
    assert "--kill and --processes are for a server that is started here" in done.stderr
