"""The project's tests of some systems and ops, run by pytest in a checkout."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from importlib.util import find_spec

from ncd.installation import ROOT

PROGRESS_PERCENT = re.compile(r"\[ *(\d+)%\]")
COUNT = re.compile(r"(\d+) (?:passed|failed|error)")


def run(names: Sequence[str], progress: Callable[[int, int, str], None]) -> tuple[int, list[str]]:
    """Returns the number of the tests that name one of these, and a line for each that failed.

    There are none in an installation without the tests or without pytest.
    """
    if not (ROOT / "tests" / "conftest.py").is_file() or find_spec("pytest") is None:
        return 0, []
    options = ["-q", "--tb=no", "-m", "not browser", *(f"--of={name}" for name in names)]
    command = [sys.executable, "-m", "pytest", *options, "tests"]
    count, failed, last = 0, [], ""
    progress(0, 100, "tests")
    with subprocess.Popen(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        for line in process.stdout or ():
            if found := PROGRESS_PERCENT.search(line):
                progress(int(found[1]), 100, "tests")
            failed += [line.strip()] if line.startswith(("FAILED", "ERROR")) else []
            count, last = sum(map(int, COUNT.findall(line))), line.strip() or last
    progress(100, 100, "")
    if process.returncode not in (0, 5) and not failed:
        failed.append(f"the tests did not run: {last}")
    return count, failed
