"""The types of the package, as type checkers of a client's program see them."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

import ncd
from tests.support import typed_client, typed_names

ROOT = Path(ncd.__file__).parent.parent
CLIENTS = [Path(module.__file__) for module in (typed_client, typed_names)]


def checked(folder: Path, *command: str) -> str:
    """What a type checker says about the client's files, alone in a folder."""
    for file in CLIENTS:
        (folder / file.name).write_text(file.read_text())
    argv = [sys.executable, "-m", *command, *(file.name for file in CLIENTS)]
    found = {**os.environ, "MYPYPATH": str(ROOT)}
    done = subprocess.run(argv, cwd=folder, env=found, capture_output=True, text=True, timeout=500)
    return done.stdout + done.stderr


@pytest.mark.slow
def test_mypy_accepts_a_client(tmp_path: Path) -> None:
    """And refuses the client's mistakes: a comment that ignores nothing is an error as well."""
    cache = f"--cache-dir={ROOT / '.mypy_cache' / 'client'}"
    said = checked(tmp_path, "mypy", "--strict", "--follow-imports=silent", cache)
    assert said == "Success: no issues found in 2 source files\n"


@pytest.mark.slow
@pytest.mark.skipif(not find_spec("basedpyright"), reason="pyright is not installed")
def test_pyright_accepts_a_client(tmp_path: Path) -> None:
    settings = {
        "typeCheckingMode": "strict",
        "reportUnnecessaryTypeIgnoreComment": True,
        "extraPaths": [str(ROOT)],
    }
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    said = checked(tmp_path, "basedpyright", f"--pythonpath={sys.executable}")
    assert said.splitlines()[-1:] == ["0 errors, 0 warnings, 0 notes"], said


def test_the_client_runs(capsys: pytest.CaptureFixture[str]) -> None:
    typed_client.main()
    assert "Linear(in_features=3, out_features=4, bias=True)" in capsys.readouterr().out
    typed_names.main()
    assert "ImportFailed" in capsys.readouterr().out


def test_the_client_uses_every_public_name() -> None:
    used = {
        node.attr if isinstance(node, ast.Attribute) else node.id
        for file in CLIENTS
        for node in ast.walk(ast.parse(file.read_text()))
        if isinstance(node, ast.Attribute | ast.Name)
    }
    assert set(ncd.__all__) - used == set()


def test_the_list_of_public_names_is_literal_and_complete() -> None:
    """Type checkers read it, and so no name of it may be computed."""
    tree = ast.parse(Path(ncd.__file__).read_text())
    (names,) = (
        ast.literal_eval(line.value)
        for line in tree.body
        if isinstance(line, ast.Assign) and ast.unparse(line.targets[0]) == "__all__"
    )
    late = {
        name for group in (ncd._LATE, ncd._RUN, ncd._ALSO) for own in group.values() for name in own
    }
    ops = {op.__name__ for op in ncd.ops.CATALOGUE}
    assert ops - set(names) == set(), "their names are to stand in __all__ of ncd/__init__.py"
    assert late - set(names) == {"compile"}
    assert names == sorted(set(names)) and all(hasattr(ncd, name) for name in names)
    language = {
        name
        for name in dir(ncd)
        if getattr(getattr(ncd, name), "__module__", "").startswith(
            ("ncd.language.", "ncd.circuit.")
        )
    }
    assert {name for name in language if name[0] != "_"} - set(names) == set()
