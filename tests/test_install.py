"""What ``pip install .`` gives: the command, and the app with all that it needs."""

from __future__ import annotations

import ast
import email
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import tomllib
import urllib.request
import zipfile
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import contextmanager, suppress
from importlib.metadata import (
    PackageNotFoundError,
    packages_distributions,
    requires,
    version,
)
from pathlib import Path
from xml.etree import ElementTree

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import ncd
from ncd.installation import EXTRAS, ROOT, package_path
from tests.support.polling import until

pytestmark = pytest.mark.slow
KEPT = ("ncd", "pages", "assets", ".streamlit", "app.py", "pyproject.toml", "README.md", "LICENSE")
# What a source distribution has as well.
BESIDE = (
    *(
        ".ci",
        ".github",
        "tests",
        "tools",
        "docs",
        "CHANGELOG.md",
        "CITATION.cff",
        "CONTRIBUTING.md",
        "Makefile",
    ),
    *("Dockerfile", "compose.yaml", ".dockerignore", ".gitignore", ".pre-commit-config.yaml"),
    ".oxlintrc.json",
    *("mkdocs.yml", "MANIFEST.in", "constraints.txt", "requirements.txt", "requirements-dev.txt"),
    "requirements-ray.txt",
)


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package as its wheel has it, and nothing of the checkout."""
    source, folder = (tmp_path_factory.mktemp(name) for name in ("source", "installed"))
    for name in KEPT:
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
    assert package_path("app.py").is_file()


def test_it_has_the_command_and_its_requirements(installed: Path) -> None:
    (told,) = installed.glob("*.dist-info")
    scripts = ConfigParser()
    scripts.read(told / "entry_points.txt")
    assert dict(scripts["console_scripts"]) == {"ncd": "ncd.__main__:entry_point"}


def test_it_is_typed_and_says_what_it_is(installed: Path) -> None:
    assert (installed / "ncd" / "py.typed").is_file()
    (told,) = installed.glob("*.dist-info")
    found = email.message_from_string((told / "METADATA").read_text())
    assert found["Version"] == ncd.__version__
    assert found["License-Expression"] == "MIT AND LPPL-1.3c"  # the fonts are not ours
    own = {str(path.relative_to(ROOT)) for path in ROOT.glob("assets/*/*LICENSE.txt")}
    assert own >= {"assets/editor/LICENSE.txt", "assets/runtime/LICENSE.txt"}
    assert set(found.get_all("License-File", [])) == {"LICENSE", *own}
    assert all((told / "licenses" / name).is_file() for name in own)
    assert "Typing :: Typed" in found.get_all("Classifier", [])
    assert set(found.get_all("Provides-Extra", [])) == {"run", "train", "app", "notebook", "onnx"}
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.*)$", citation, re.M)[1] == ncd.__version__
    assert "\nlicense: MIT\n" in citation


def test_the_source_distribution_has_the_tests_and_all_that_they_read(tmp_path: Path) -> None:
    """Whatever a checkout has, except what git and a build leave beside it."""
    source = tmp_path / "source"
    source.mkdir()
    for path in (ROOT / name for name in (*KEPT, *BESIDE)):
        if path.is_dir():
            shutil.copytree(path, source / path.name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(path, source)
    needed = {str(p.relative_to(source)) for p in source.rglob("*") if p.is_file()}
    build = "from setuptools.build_meta import build_sdist; build_sdist('dist')"
    done = subprocess.run(
        [sys.executable, "-c", build], cwd=source, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    (archive,) = (source / "dist").glob("*.tar.gz")
    with tarfile.open(archive) as packed:
        inside = {name.partition("/")[2] for name in packed.getnames()}
    assert needed - inside == set()


def required_by(extra: str) -> set[str]:
    """The requirements of an extra as pyproject.toml has them, "" for those of every one."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    found: set[str] = set()
    for line in told["optional-dependencies"][extra] if extra else told["dependencies"]:
        needed = Requirement(line)
        if needed.name == told["name"]:
            found |= {other for name in needed.extras for other in required_by(name)}
        else:
            found.add(str(needed))
    return found


def test_the_requirements_are_those_of_the_app() -> None:
    lines = (ROOT / "requirements.txt").read_text().splitlines()
    assert {str(Requirement(line)) for line in lines} == required_by("") | required_by("app")


def distributions_of(extra: str) -> set[str]:
    """What an extra installs: its requirements, and what these need themselves."""
    found, left = set(), {Requirement(line).name for line in required_by(extra)}
    while left:
        name = canonicalize_name(left.pop())
        found.add(name)
        with suppress(PackageNotFoundError):
            needed = map(Requirement, requires(name) or ())
            asked = {one.name for one in needed if not one.marker or one.marker.evaluate()}
            left |= {*map(canonicalize_name, asked)} - found
    return found


def test_each_optional_library_is_installed_by_the_extra_that_an_error_names() -> None:
    homes = packages_distributions()
    every = distributions_of("")
    for library, extra in EXTRAS.items():
        with_it = {*map(canonicalize_name, homes.get(library, [library]))}
        assert with_it & distributions_of(extra), library
        assert not with_it & every, library


def libraries_of(path: Path) -> set[str]:
    """The libraries that a file imports, wherever it does, without those of Python and our own."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {one.name.partition(".")[0] for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.partition(".")[0])
    return found - {*sys.stdlib_module_names, "ncd", "__future__"}


def test_each_library_that_the_package_lacks_is_known_by_the_extra_that_installs_it() -> None:
    homes, own = packages_distributions(), distributions_of("")
    asked = set().union(*map(libraries_of, (ROOT / "ncd").rglob("*.py")))
    lacking = {x for x in asked if not own & {*map(canonicalize_name, homes.get(x, []))}}
    # Of no extra: ``transformers`` is installed by whoever has a configuration of an unknown type.
    assert lacking - {*EXTRAS} <= {"transformers", "ray"}


BLOCKED = """
import sys, importlib.abc
class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {names!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Blocker())
from importlib import util
find = util.find_spec
util.find_spec = lambda name, package=None: None if name in {names!r} else find(name, package)
import ncd
"""


def without_extras(code: str) -> str:
    """What a program prints where only the package's own requirements can be imported."""
    blocked = BLOCKED.format(names=tuple(EXTRAS)) + code
    argv = [sys.executable, "-c", blocked]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_importing_the_language_imports_nothing_large() -> None:
    code = "import sys, ncd, ncd.__main__; print(*{name.partition('.')[0] for name in sys.modules})"
    argv = [sys.executable, "-c", code]
    done = subprocess.run(argv, cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    assert not set(done.stdout.split()) & {*EXTRAS, "numpy", "fontTools", "highspy", "fpdf"}


def test_language_drawing_cost_and_source_work_without_the_extras(tmp_path: Path) -> None:
    text = without_extras(f"""
from ncd import *
import ncd.__main__
term = catalogue["multi-head-attention"].build(h=2)
assert parse(spell(term)) == term and from_json(to_json(term)) == term
print(cost(term).parameters, source(term).count("nn.Linear("))
print(gradient(Softmax("x:3")).cod)
picture = draw(term)
for file in (picture.svg(), picture.tex(), html(term)):
    assert len(file) > 1000
assert picture.pdf().startswith(b"%PDF") and picture.png()[1:4] == b"PNG"
from pathlib import Path
config = Path({str(tmp_path / "config.json")!r})
config.write_text('{{"model_type": "gpt2"}}')
for argv in (["list"], ["show", "lenet"], ["show", "lenet", "--json"], ["source", "lenet"],
             ["import", f"hf:{{config}}"],
             ["render", "lenet", "-o", {str(tmp_path / "x.svg")!r}]):
    assert ncd.__main__.main(argv) == 0, argv
""")
    assert text.startswith("16384 4\nx\n")
    assert (tmp_path / "x.svg").read_text().startswith("<svg")


def test_an_error_names_the_extra() -> None:
    text = without_extras("""
import ncd.__main__, sys
sys.stderr = sys.stdout
for name in ("compile", "from_torch"):
    try:
        getattr(ncd, name)
    except ImportError as error:
        print(error)
for argv in (["run", "lenet"], ["ask", "README.md"], ["train", "recall"], ["serve"],
             ["site", "-o", "x"]):
    assert ncd.__main__.main(argv) == 2
""")
    cure = "needs torch: pip install 'neural-circuit-explorer[run]'"
    *lines, ask, train, serve, site = text.splitlines()
    assert lines == [f"{name} {cure}" for name in ("ncd.compile", "ncd.from_torch", "ncd: ncd run")]
    assert ask == f"ncd: ncd ask {cure.replace('torch', 'sympy')}"
    assert train == f"ncd: ncd train {cure.replace('[run]', '[train]')}"
    app = cure.replace("torch", "click").replace("[run]", "[app]")  # the first that is not there
    assert serve == f"ncd: ncd serve {app}"
    assert site == f"ncd: ncd site {cure.replace('[run]', '[onnx,train]')}"


def test_the_command_works(installed: Path) -> None:
    listed = ran(installed, "list")
    assert all(name in listed for name in ncd.catalogue)
    picture = installed / "x.svg"
    ran(installed, "render", "multi-head-attention", "-o", str(picture))
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    entry = ncd.catalogue["multi-head-attention"]
    drawn = re.sub("<metadata>.*</metadata>", "", picture.read_text())
    assert drawn == ncd.draw(entry.build(), **entry.look({})).svg()


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
