"""Every code block of the documentation is tried: it runs, or what would run it reads it.

Those with prompts are the examples of ``test_documentation.py`` and ``test_readme.py``.
"""

from __future__ import annotations

import ast
import doctest
import importlib.util
import re
import shlex
import shutil
import subprocess
import tomllib
from collections.abc import Iterator
from configparser import ConfigParser
from pathlib import Path

import pytest
import yaml
from IPython.core.inputtransformer2 import TransformerManager

import ncd
from ncd.__main__ import main, parser
from ncd.installation import ROOT
from ncd.systems.lessons.lesson import Lesson

PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
QUICK = ("list", "show", "cost", "render", "source")
PROGRAMS = {*("apt", "cd", "docker", "git", "hostname", "pip", "pipx", "source", "useradd", "uv")}
PAPER = "\\documentclass{article}%s\\begin{document}\n%s\\end{document}\n"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_block_is_right(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)  # the blocks of a page go on from each other
    text = page.read_text()
    assert text.count("\n```") == 2 * len(BLOCK.findall(text))
    for found in BLOCK.finditer(text):
        language, code = found.groups()
        said = text[: found.start()].strip().rpartition("\n\n")[2]  # the paragraph before it
        match language:
            case "python":
                assert ">>> " in code or exec(code, {}) is None
            case "sh" | "console":
                subprocess.run(["bash", "-n"], input=code, text=True, check=True)
                for words in commands(code):
                    check_command(words, quick=page.stem != "command-line")  # test_readme.py
            case "text":
                capsys.readouterr()
                check_text(said, code, capsys)
            case "yaml":
                (*_, document) = filter(None, yaml.safe_load_all(code))
                known = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
                assert set(document.get("services", ())) <= set(known)
            case "json":
                assert Lesson.of_json(code, ncd.catalogue).views
            case "nginx":
                assert all(line.endswith(("{", ";", "}")) for line in code.splitlines())
            case "toml":
                assert tomllib.loads(code)
            case "ini":
                unit = ConfigParser(strict=True)
                unit.read_string(code)
                check_command(shlex.split(unit["Service"]["ExecStart"]))
            case "latex":
                head, _, figure = code.partition("\n")
                check_paper(PAPER % (head, figure))
            case "html" | "markdown":  # in pages of their own, which others show
                assert (ROOT / "docs" / "examples" / code.split('"')[1]).is_file()
            case _:
                assert language == "bibtex" and page.stem == "README"


def commands(code: str) -> Iterator[list[str]]:
    """Yields the commands of a shell's lines, without settings and without ``sudo``."""
    for line in code.replace("\\\n", " ").splitlines():
        words: list[str] = []
        for word in [*shlex.split(line, comments=True), "&&"]:
            if word != "&&":
                words += [word] if words or not re.match(r"[A-Z_]+=|sudo$", word) else []
            elif words:
                yield words
                words = []


def check_command(words: list[str], quick: bool = False) -> None:
    """Checks that a command may be called so; one of ours that is quick is run."""
    program, *argv = words
    if program.rpartition("/")[2].startswith("python") and argv[0] == "-m":
        program, *argv = argv[1:]
    if program == "ncd":
        parser().parse_args(argv)
        assert not (quick and argv[0] in QUICK) or main(argv) == 0
    elif program.startswith("tools."):
        assert importlib.util.find_spec(program)
    elif program == "docker":
        known = re.findall(r"^ARG (\w+)", (ROOT / "Dockerfile").read_text(), re.M)
        assert set(re.findall(r"--build-arg (\w+)=", " ".join(argv))) <= set(known)
    else:
        assert program.rpartition("/")[2] in PROGRAMS | {"venv"}, words
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
        for several in re.findall(r"\[([\w,]+)\]", " ".join(argv)):
            assert {*several.split(",")} <= {*extras["optional-dependencies"]}


def check_text(said: str, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Checks a file that the sentence before names, the output of its command, or a cell."""
    if command := re.match("`ncd (.*?)`", said):
        main(shlex.split(command[1]))
        want, got = code.replace("…", "..."), capsys.readouterr().out
        assert doctest.OutputChecker().check_output(want, got, doctest.ELLIPSIS), got
    elif file := re.search(r"`([\w/]+\.(?:ncd|py)|/etc/caddy/Caddyfile)`", said):
        Path(file[1].rpartition("/")[2]).write_text(code)
        if file[1].endswith("Caddyfile") and shutil.which("caddy"):
            argv = ["caddy", "adapt", "--adapter", "caddyfile", "--config", "Caddyfile"]
            subprocess.run(argv, check=True, capture_output=True)
    else:
        assert ast.parse(TransformerManager().transform_cell(code)).body


def check_paper(source: str) -> None:
    """Checks that LaTeX sets a paper with the figures of the page."""
    Path("paper.tex").write_text(source)
    if shutil.which("pdflatex"):
        argv = ["pdflatex", "-interaction=batchmode", "-halt-on-error", "paper"]
        done = subprocess.run(argv, capture_output=True)
        assert done.returncode == 0, Path("paper.log").read_text()
