"""What goes to standard output with ``-o -`` is the file to its last byte, and nothing else."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.torch import load

import ncd
from ncd.__main__ import main, parser

ROOT = Path(ncd.__file__).parent.parent
MHA = "multi-head-attention"
CapturedBytes = pytest.CaptureFixture[bytes]


def in_a_process(*argv: str) -> bytes:
    """What a command of a process of its own writes, to its last byte, libraries included."""
    command = [sys.executable, "-m", "ncd", *argv]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, b"")
    return done.stdout


def test_the_commands_that_write_files() -> None:
    """Those are tested here; a site is a folder. Other commands have -o for what they print."""
    (commands,) = (
        action.choices
        for action in parser()._actions
        if isinstance(action, argparse._SubParsersAction)
    )
    options = {name: own._option_string_actions.get("--output") for name, own in commands.items()}
    writers = {name for name, own in options.items() if own and own.dest == "output"}
    assert writers == {"render", "source", "import", "train", "site"}


@pytest.mark.parametrize("kind", ["svg", "png", "pdf", "tex"])
def test_a_picture(kind: str, tmp_path: Path) -> None:
    file = tmp_path / f"x.{kind}"
    assert main(["render", MHA, "--set", "h=2", "-o", str(file)]) == 0
    written = in_a_process("render", MHA, "--set", "h=2", "--to", kind, "-o", "-")
    assert written == file.read_bytes()


def test_without_its_kind_it_is_an_svg() -> None:
    assert in_a_process("render", MHA, "-o", "-").startswith(b"<svg ")


def test_a_source(tmp_path: Path, capfdbinary: CapturedBytes) -> None:
    file = tmp_path / "x.py"
    assert main(["source", MHA, "-o", str(file)]) == 0
    assert capfdbinary.readouterr().out == f"{file}: {file.stat().st_size:,} bytes\n".encode()
    for argv in (["source", MHA, "-o", "-"], ["source", MHA]):
        assert main(argv) == 0
        assert capfdbinary.readouterr() == (file.read_bytes(), b"")


@pytest.mark.parametrize("kind", ["json", "svg"])
def test_an_import(kind: str, tmp_path: Path, capfdbinary: CapturedBytes) -> None:
    """What was found is said on standard error."""
    (tmp_path / "model.py").write_text("from torch import nn\nnet = nn.Linear(3, 2)\n")
    argv = ["import", f"{tmp_path / 'model.py'}:net", "--inputs", "5x3", "--to", kind]
    file = tmp_path / f"x.{kind}"
    assert main([*argv, "-o", str(file)]) == 0
    said = capfdbinary.readouterr().out
    assert main([*argv, "-o", "-"]) == 0
    assert capfdbinary.readouterr() == (file.read_bytes(), said)
    assert b"parameters  8\n" in said


def test_weights(capfdbinary: CapturedBytes) -> None:
    assert main(["train", "recall", "--steps", "1", "-o", "-"]) == 0
    out, err = capfdbinary.readouterr()
    assert load(out) and b"loss" in err


@pytest.mark.parametrize("command", [["render", MHA], ["source", MHA], ["train", "recall"]])
def test_a_report_cannot_go_there_too(
    command: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "-o", "-", "--json"]) == 2
    said = "ncd: -o - and --json both write to standard output. Try -o FILE, or no --json.\n"
    assert capsys.readouterr() == ("", said)


def test_a_published_configuration(tmp_path: Path, capfdbinary: CapturedBytes) -> None:
    """One of a known type is read as its term, without the library that published it."""
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "gpt2", "n_layer": 2}))
    place = f"hf:{tmp_path / 'config.json'}"
    assert main(["import", place, "--to", "json", "-o", "-"]) == 0
    out, err = capfdbinary.readouterr()
    term = ncd.from_json(out.decode())
    assert f"parameters  {ncd.cost(term).parameters}\n" in err.decode()
    assert [loop.name for loop in ncd.elaborate(term).loops] == ["h"]


def test_the_kind_of_a_file_that_is_not_written_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["import", f"{tmp_path / 'model.py'}:net", "--inputs", "5x3", "--to", "svg"]) == 2
    said = "ncd: --to svg says what -o writes, and there is no -o. Try -o - --to svg.\n"
    assert capsys.readouterr() == ("", said)
