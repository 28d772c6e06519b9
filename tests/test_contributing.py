"""CONTRIBUTING's op, panel, system and page, added to a copy of the project as it says."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.test_readme import CONTRIBUTING, ROOT, blocks

NEW_FILE, NEW_LINE = "# a new file: ", "# a new line in "
COMMANDS = [line for block in blocks(CONTRIBUTING, "sh") for line in block.splitlines()]
PARTS = ("ncd", "pages", "assets", "docs", "tests", "tools", ".ci", ".streamlit")


def added() -> dict[str, str]:
    """The files that CONTRIBUTING adds, and the catalogues with its lines, by their paths."""
    found: dict[str, str] = {}
    for block in blocks(CONTRIBUTING, "python"):
        head, _, text = block.partition("\n")
        if head.startswith(NEW_FILE):
            found[head.removeprefix(NEW_FILE)] = text
        elif head.startswith(NEW_LINE):
            path = head.removeprefix(NEW_LINE)
            found[path] = inserted(text, (ROOT / path).read_text())
    return found


def inserted(line: str, catalogue: str) -> str:
    """Returns a catalogue with one line more, among those of its folder."""
    folder = line.rpartition(" import ")[0].rpartition(".")[0]
    lines = catalogue.splitlines(keepends=True)
    place = next(i for i, other in enumerate(lines) if other.startswith(folder) and other > line)
    return "".join([*lines[:place], line, *lines[place:]])


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the project with what CONTRIBUTING adds, and with what Python has compiled."""
    copy = tmp_path_factory.mktemp("copy")
    for part in PARTS:
        shutil.copytree(ROOT / part, copy / part, ignore=shutil.ignore_patterns("*.pyc.*"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, copy)
    for path, text in added().items():
        (copy / path).write_text(text)
    return copy


def run(copy: Path, *argv: str) -> str:
    """Returns what a command prints, which must succeed."""
    done = subprocess.run([sys.executable, *argv], cwd=copy, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_an_op_a_panel_and_a_system_are_a_file_and_at_most_a_line_each() -> None:
    new = [path for path in added() if not (ROOT / path).exists()]
    changed = [path for path in added() if (ROOT / path).exists()]
    assert [path.split("/")[:2] for path in new] == [
        ["ncd", "ops"],
        ["ncd", "app"],
        ["ncd", "systems"],
        ["pages", "normalisation"],
    ]
    assert changed == ["ncd/ops/__init__.py", "ncd/systems/catalogue.py"]
    for path in changed:
        before, after = (ROOT / path).read_text().splitlines(), added()[path].splitlines()
        assert len(after) == len(before) + 1 and set(before) < set(after)


def test_they_pass_the_fast_checks(copy: Path) -> None:
    """At their defaults, in one process; and they look as the other files do."""
    render, check = COMMANDS[1:]
    script = f"from ncd.__main__ import main\nmain({words(render)}); main({words(check)})"
    said = run(
        copy, "-c", script.replace("'clipped-layer'])", "'clipped-layer', 'Clip', '--fast'])")
    )
    assert said.endswith(" 0 tests: 0 settings refused by the guard, 0 failures\n")
    assert "1 systems, 1 ops, 3 settings" in said
    new = [path for path in added() if path.endswith(".py")]
    run(copy, "-m", "ruff", "check", "-q", *new)
    run(copy, "-m", "ruff", "format", "-q", "--check", *new)


def test_its_page_shows_the_panel_and_keeps_its_slider_in_the_link(copy: Path) -> None:
    (copy / "opens_the_page.py").write_text("""
from streamlit.testing.v1 import AppTest

app = AppTest.from_file("pages/normalisation/clipped_layer.py", default_timeout=60)
app.query_params["largest_shown"] = "2"
app.run()
assert not app.exception, app.exception
assert app.session_state["panel"] == "Largest" and app.session_state["largest_shown"] == "2"
(html,) = [own.proto.json for own in app.get("bidi_component") if "largest" in own.proto.id]
assert html.count("<li>") == 2, html
""")
    run(copy, "opens_the_page.py")


def words(command: str) -> list[str]:
    python, flag, module, *argv = shlex.split(command)
    assert (python, flag, module) == ("python", "-m", "ncd")
    return argv


@pytest.mark.slow
@pytest.mark.few(0)
def test_the_commands_of_contributing_find_no_fault(copy: Path) -> None:
    """Among them the tests of the op and of the system, and those of whole catalogues."""
    op, render, system = COMMANDS
    run(copy, "-m", "ncd", *words(render))
    both = (*words(op), *words(system)[1:])  # in one process: collecting the tests takes long
    said = run(copy, "-m", "ncd", *both)
    assert re.search(r"[1-9]\d* tests: 0 settings refused by the guard, 0 failures\n$", said)
