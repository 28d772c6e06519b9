"""What the README and CONTRIBUTING say is so: examples run, commands work, files are there."""

from __future__ import annotations

import argparse
import ast
import doctest
import re
import shlex
from pathlib import Path

import pytest

import ncd
from ncd.__main__ import main, parser

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
CONTRIBUTING = (ROOT / "CONTRIBUTING.md").read_text()
COMMAND_LINE = (ROOT / "docs" / "command-line.md").read_text()
SETTINGS = (ROOT / "docs" / "settings.md").read_text()


def blocks(text: str, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.M | re.S)


COMMANDS = [line for block in blocks(COMMAND_LINE, "sh") for line in block.splitlines()]


def test_the_first_lines_are_the_two_commands() -> None:
    first, second = README.splitlines()[:2]
    assert (first.split()[:2], second.split()[:2]) == (["make", "run"], ["make", "test"])
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`?make ([\w-]+)", README + CONTRIBUTING):
        assert re.search(rf"^{target}:", makefile, re.M), target


def test_the_examples_run() -> None:
    names: dict[str, object] = {}
    examples = 0
    for text in blocks(README, "python"):
        if ">>>" not in text:
            exec(text, names)
            continue
        test = doctest.DocTestParser().get_doctest(text, names, "README.md", "README.md", 0)
        runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
        assert runner.run(test, clear_globs=False).failed == 0
        names |= test.globs
        examples += len(test.examples)
    assert examples > 10


def test_the_term_in_the_readme_is_the_systems_own() -> None:
    names: dict[str, ncd.Term] = {}
    exec(blocks(README, "python")[0], names)
    term, own = names["attention"], ncd.catalogue["multi-head-attention"].build()
    inputs = ncd.example_inputs(own)
    assert (ncd.compile(term)(*inputs) == ncd.compile(own)(*inputs)).all()


@pytest.mark.parametrize("line", COMMANDS, ids=lambda line: line.partition("#")[0].strip())
def test_the_commands_work(
    line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    command, *argv = shlex.split(line, comments=True)
    assert command == "ncd"
    if argv[0] in (
        "check",
        "open",
        "serve",
        "crowd",
        "site",
    ):  # other tests run these: they take long
        assert parser().parse_args(argv).run.__name__.rstrip("_") == argv[0]
        return
    net = "from torch import nn\n\ndef Net():\n    return nn.Linear(128, 4)\n"
    Path("model.py").write_text(net)
    Path("net.py").write_text("nn.Linear(128, 4)(torch.randn(2, 128))")
    assert main(argv) == 0
    assert capsys.readouterr().out


def subcommands() -> list[str]:
    (commands,) = (a for a in parser()._actions if isinstance(a, argparse._SubParsersAction))
    return list(commands.choices)


def test_every_command_is_in_the_documentation() -> None:
    commands = {shlex.split(line)[1] for line in COMMANDS}
    assert commands == set(subcommands())


def test_the_settings_are_those_of_the_code() -> None:
    text = "".join(path.read_text() for path in (ROOT / "ncd").rglob("*.py"))
    assert set(re.findall(r"NCD_[A-Z_]+", text)) == set(re.findall(r"NCD_[A-Z_]+", SETTINGS))
    limits = ncd.Limits()
    assert (limits.bytes, limits.flops) == (2e9, 2e11)


def test_the_files_that_are_named_are_there() -> None:
    for name in re.findall(r"`((?:ncd|tests|pages|assets)/[\w./-]+)`", README + CONTRIBUTING):
        assert (ROOT / name).exists(), name
    for link in re.findall(r"\]\(([\w./-]+)\)", README + CONTRIBUTING):
        assert (ROOT / link).exists(), link


def test_what_contributing_quotes_is_in_the_code() -> None:
    """Each of its examples, definition by definition, is in the file named just before it.

    Those of new files and lines are tried in ``tests/test_contributing.py``.
    """
    parts = re.split(r"^```python\n(.*?)^```", CONTRIBUTING, flags=re.M | re.S)
    for before, code in zip(parts[::2], parts[1::2], strict=False):
        if code.startswith("# a new "):
            continue
        name = re.findall(r"`((?:ncd|pages)(?:/\w+)+\.py)`", before)[-1]
        there = ast.dump(ast.parse((ROOT / name).read_text()))
        (quoted,) = ast.parse(code).body
        members = quoted.body[1:] if isinstance(quoted, ast.ClassDef) else [quoted]
        assert members
        for member in members:
            assert ast.dump(member) in there, f"{name}: {ast.unparse(member)}"


def stated_folders(document: str) -> set[str]:
    """Returns the folders of the section "Layout", each with the folders it is indented under."""
    layout = document.partition("## Layout")[2].partition("\n## ")[0]
    found: set[str] = set()
    for line in re.findall(r"^    (.*)", layout, re.M):
        names = re.match(r"\s*((?:\w+/)+(?:\s\w+/)*)", line)
        if names and not line.startswith(" "):
            top = names[1]
        for name in names[1].split() if names else ():
            found.add(name if name == top else top + name)
    return found


def test_the_layout_names_every_folder() -> None:
    folders = {
        f"{path.parent.relative_to(ROOT)}/"
        for top in ("ncd", "tools")
        for path in (ROOT / top).rglob("*.py")
    }
    assert stated_folders(CONTRIBUTING) == folders


def test_the_layout_says_of_a_room_what_the_room_says() -> None:
    lines = {" ".join(line.split()) for line in CONTRIBUTING.splitlines()}
    for path in (ROOT / "ncd").rglob("__init__.py"):
        folder = path.parent.relative_to(ROOT)
        words = (ast.get_docstring(ast.parse(path.read_text())) or "").partition("\n")[0]
        if folder.parts[1:]:
            assert f"{folder}/ {words.rstrip('.')}" in lines
