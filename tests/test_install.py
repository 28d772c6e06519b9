"""What ``pip install .`` gives: the command, and the app with all that it needs."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tomllib
import urllib.request
import zipfile
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import contextmanager
from pathlib import Path
from xml.etree import ElementTree

import pytest

import ncd
from ncd.bundled_files import ROOT, bundled
from tests.support.polling import until

pytestmark = pytest.mark.slow
KEPT = ("ncd", "pages", "assets", ".streamlit", "app.py", "pyproject.toml", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as its wheel has it, and nothing of the checkout."""
    source, folder = (tmp_path_factory.mktemp(name) for name in ("source", "installed"))
    for name in (*KEPT, "requirements.txt"):
        path = ROOT / name
        copy = shutil.copytree if path.is_dir() else shutil.copy
        copy(path, source / name)
    build = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", "."]
    done = subprocess.run([*build, "."], cwd=source, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    (wheel,) = source.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return folder


def command(folder: Path, *argv: str) -> list[str]:
    """A command of the installed package."""
    assert (folder / "ncd").is_dir()
    return [sys.executable, "-m", "ncd", *argv]


def around(folder: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(folder)}


def ran(folder: Path, *argv: str) -> str:
    done = subprocess.run(
        command(folder, *argv),
        cwd=folder,
        env=around(folder),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_every_file_is_in_it(installed: Path) -> None:
    here = {path.relative_to(ROOT) for path in (ROOT / "ncd").rglob("*") if path.is_file()}
    there = {path.relative_to(installed) for path in (installed / "ncd").rglob("*")}
    assert {path for path in here if "__pycache__" not in path.parts} <= there
    bundle = installed / "ncd" / "bundle"
    for name in ("pages", "assets", ".streamlit"):
        files = {p.relative_to(ROOT) for p in (ROOT / name).rglob("*") if p.is_file()}
        files = {path for path in files if path.suffix not in (".pyc", "") and path.parts[-1]}
        assert files <= {path.relative_to(bundle) for path in bundle.rglob("*")}
    assert [path.name for path in bundle.glob("*.py")] == ["app.py"]
    assert bundled("app.py").is_file()


def test_it_has_the_command_and_its_requirements(installed: Path) -> None:
    (told,) = installed.glob("*.dist-info")
    scripts = ConfigParser()
    scripts.read(told / "entry_points.txt")
    assert dict(scripts["console_scripts"]) == {"ncd": "ncd.__main__:entry_point"}
    needed = (told / "METADATA").read_text().count("\nRequires-Dist: ")
    assert needed == len((ROOT / "requirements.txt").read_text().splitlines())


def test_the_command_works(installed: Path) -> None:
    listed = ran(installed, "list")
    assert all(name in listed for name in ncd.catalogue)
    picture = installed / "x.svg"
    ran(installed, "render", "multi-head-attention", "-o", str(picture))
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    entry = ncd.catalogue["multi-head-attention"]
    assert picture.read_text() == ncd.draw(entry.build(), **entry.look({})).svg()


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """The address of the installed app, while it runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    argv = command(folder, "serve", "--port", str(port))
    with (folder / "log").open("w") as log:
        process = subprocess.Popen(argv, cwd=folder, env=around(folder), stdout=log, stderr=log)
    try:
        address = f"http://127.0.0.1:{port}"
        until(lambda: process.poll() is not None or answer(f"{address}/_stcore/health"), 120)
        assert process.poll() is None, (folder / "log").read_text()
        yield address
    finally:
        process.terminate()
        process.wait(timeout=60)


def answer(address: str) -> str:
    """What an address says; nothing if nobody is there yet."""
    try:
        with urllib.request.urlopen(address, timeout=10) as found:
            return found.read().decode()
    except OSError:
        return ""


def test_the_app_is_served(installed: Path) -> None:
    with served(installed) as address:
        assert answer(f"{address}/_stcore/health") == "ok"
        assert "<html" in answer(f"{address}/multi-head-attention")


def test_the_versions_that_are_installed_are_within_the_requirements() -> None:
    from importlib.metadata import version

    from packaging.requirements import Requirement

    lines = (ROOT / "requirements.txt").read_text().splitlines()
    pinned = dict(
        line.lower().replace("_", "-").split("==")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
        if "==" in line
    )
    for needed in map(Requirement, lines):
        assert version(needed.name) in needed.specifier
        assert pinned[needed.name.lower()] in needed.specifier
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
