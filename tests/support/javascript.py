"""The project's scripts, run by the Node that comes with Playwright: no browser is needed."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from playwright._impl._driver import compute_driver_executable

PAGE = (Path(__file__).parent / "page_without_browser.js").read_text()


def called(script: str, function: str, calls: Sequence[Sequence[Any]]) -> list[Any]:
    """What a function of a script returns for each list of arguments."""
    given = json.dumps([list(each) for each in calls])
    found: list[Any] = _answer(
        f"{script}\nconst answer = {given}.map((own) => {function}(...own));"
    )
    return found


def after(script: str, test: str, before: str = "") -> Any:
    """What a test of a script returns: JavaScript that may wait, and may replace its functions.

    The script runs in ``page_without_browser.js``: its requests wait until the test answers them.

    Args:
        script: a script of the project, as it is sent to browsers.
        test: the body of an asynchronous function, which runs in the scope of the script.
        before: what is on the page before the script runs.
    """
    script = script.replace("export default function", "function component", 1)
    script = re.sub(r"^const ", "let ", script, flags=re.MULTILINE)
    return _answer(f"{PAGE}\n{before}\n{script}\nconst answer = (async () => {{{test}}})();")


def _answer(program: str) -> Any:
    """Returns what a program keeps as ``answer``, or its promise brings."""
    node, _ = compute_driver_executable()
    end = "Promise.resolve(answer).then((found) => process.stdout.write(JSON.stringify(found)));"
    done = subprocess.run([node], input=f"{program}\n{end}", capture_output=True, text=True)
    assert not done.returncode and done.stdout, done.stderr or "the test waits for ever"
    return json.loads(done.stdout)
