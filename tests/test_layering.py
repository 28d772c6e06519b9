"""Imports run one way, in no circle, and the house rules hold; read from the source."""

from __future__ import annotations

import ast
import builtins
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import torch

import ncd
from ncd.lang import reserved

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "ncd").rglob("*.py"))
PAGES = sorted((ROOT / "pages").glob("*.py"))

# Each floor of the house, with the floors it may stand on besides itself.
LANGUAGE = {"lang", "ops"}
FLOORS: dict[str, set[str]] = {
    "files": set(),
    "measured": set(),
    "lang": set(),
    "ops": {"lang"},
    "serial": LANGUAGE,
    "costs": LANGUAGE,
    "drawing": {*LANGUAGE, "files"},
    "key": {*LANGUAGE, "drawing"},  # each sign's picture is the drawing of a term
    "code": LANGUAGE,
    "export": {*LANGUAGE, "costs", "drawing", "code"},
    "run": {*LANGUAGE, "costs"},  # the guard counts before it runs
    "graph": {*LANGUAGE, "costs", "run", "drawing"},  # the colours of the diagram
    "models": LANGUAGE,
    "train": {*LANGUAGE, "costs", "files", "models", "run"},
    "jobs": {*LANGUAGE, "costs", "models", "run", "train"},
}
ABOVE = {
    "ncd",
    "__main__",
    "start",
    "bench",
    "bench_drawing",
    "check",
    "commands",
    "crowd",
    "demands",
    "notebook",
    "peers",
    "terminal",
    "view",
}
LIGHT = (
    "lang",
    "ops",
    "drawing",
    "key",
    "code",
    "costs",
    "export",
    "serial",
    "models",
)  # without torch


def dotted(path: Path) -> str:
    """The module of a file: ``ncd.ops.linear``, ``ncd.ops`` for its ``__init__.py``."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {dotted(path): path for path in FILES}


def floor(module: str) -> str:
    """The file or folder of ``ncd`` that a module belongs to."""
    return (module.split(".")[1:2] or ["ncd"])[0]


@cache
def imports(path: Path) -> frozenset[str]:
    """Every module that a file imports, wherever the import stands in it.

    ``from ncd.x import y`` is of ``ncd.x.y`` if that is a module, else of ``ncd.x``.
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            assert node.module
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name if name in MODULES else node.module for name in names}
    return frozenset(found)


def own(path: Path) -> set[str]:
    """The modules of ``ncd`` that a file imports."""
    return {name for name in imports(path) if name in MODULES}


def nodes(path: Path, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    return (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, kinds))


BY_PATH = pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))


# --- which way imports run -----------------------------------------------------------------------


@BY_PATH
def test_imports_run_one_way(path: Path) -> None:
    name = floor(dotted(path))
    if name in ABOVE:
        return
    assert name in FLOORS, f"{name} has no floor yet: give it one in this test"
    assert {floor(module) for module in own(path)} <= {*FLOORS[name], name}


def test_no_import_stands_in_a_circle() -> None:
    """Between no two modules, also of one folder, and not inside a function either."""
    graph = {module: own(path) - {module} for module, path in MODULES.items()}
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"imports in a circle: {' <- '.join(error.args[1])}")


def test_a_circle_would_be_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two = tmp_path / "one.py", tmp_path / "two.py"
    one.write_text("from ncd import two\n")
    two.write_text("def later():\n    from ncd.one import thing\n")
    monkeypatch.setattr(sys.modules[__name__], "MODULES", {"ncd.one": one, "ncd.two": two})
    assert (own(one), own(two)) == ({"ncd.two"}, {"ncd.one"})
    with pytest.raises(CycleError):
        TopologicalSorter({"ncd.one": own(one), "ncd.two": own(two)}).prepare()


def test_the_floors_never_import_the_whole() -> None:
    """``import ncd`` from below would make a circle."""
    assert [m for m, path in MODULES.items() if floor(m) not in ABOVE and "ncd" in own(path)] == []


@BY_PATH
def test_nothing_is_imported_for_types_only(path: Path) -> None:
    assert "TYPE_CHECKING" not in path.read_text()


def test_only_the_view_imports_streamlit() -> None:
    for module, path in MODULES.items():
        if any(name.split(".")[0] == "streamlit" for name in imports(path)):
            assert floor(module) == "view", module


@pytest.mark.parametrize("name", LIGHT)
def test_the_lower_floors_need_neither_torch_nor_einops(name: str) -> None:
    """Also not by way of another module; the package's own ``__init__`` is left out."""
    code = f"""
import sys, types
package = types.ModuleType("ncd")
package.__path__ = [{str(ROOT / "ncd")!r}]
sys.modules["ncd"] = package
import pkgutil, importlib
module = importlib.import_module("ncd.{name}")
for found in pkgutil.walk_packages(getattr(module, "__path__", []), "ncd.{name}."):
    importlib.import_module(found.name)
heavy = {{"torch", "einops", "streamlit"}} & set(sys.modules)
sys.exit(f"it imports {{', '.join(heavy)}}" if heavy else 0)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")


# --- names ---------------------------------------------------------------------------------------


def test_one_name_means_one_thing() -> None:
    """No module has the name of something public, which it would hide or be hidden by."""
    for package, path in MODULES.items():
        if path.name != "__init__.py":
            continue
        inside = {m.rpartition(".")[2] for m in MODULES if m.rpartition(".")[0] == package}
        public = {
            alias.asname or alias.name
            for node in nodes(path, ast.ImportFrom)
            for alias in node.names
            if f"{node.module}.{alias.name}" not in MODULES
        }
        assert not inside & public, package


def test_a_star_import_hides_no_builtin() -> None:
    names: dict[str, object] = {}
    exec("from ncd import *", names)
    assert not set(names) & set(dir(builtins)) - {"__builtins__"}
    assert {"Linear", "Axes", "draw", "source", "cost", "autograd", "prove"} <= set(names)


def test_the_public_names_are_there() -> None:
    functions = (
        "autograd compile cost devices draw elaborate example_inputs from_json html prove source"
    )
    for name in f"{functions} to_json trace".split():
        assert callable(getattr(ncd, name)), name
    assert {op.__name__ for op in ncd.ops.CATALOGUE} <= set(dir(ncd))


def test_the_reserved_names_are_those_of_a_module() -> None:
    """All that torch has today; some of them are of other versions."""
    public = {name for name in dir(torch.nn.Module()) if not name.startswith("_")}
    assert public <= reserved.MODULE


# --- the house rules -----------------------------------------------------------------------------


@BY_PATH
def test_nothing_is_evaluated_or_unpickled(path: Path) -> None:
    called = {n.func.id for n in nodes(path, ast.Call) if isinstance(n.func, ast.Name)}
    assert not called & {"eval", "exec", "__import__"}
    assert not {name.split(".")[0] for name in imports(path)} & {"pickle", "marshal", "shelve"}
    attributes = {
        f"{n.value.id}.{n.attr}"
        for n in nodes(path, ast.Attribute)
        if isinstance(n.value, ast.Name)
    }
    assert not attributes & {"torch.load", "torch.save", "os.system"}


@BY_PATH
def test_no_global_randomness(path: Path) -> None:
    """Weights and inputs come from a generator made from the seed."""
    assert "torch.manual_seed" not in path.read_text()
    assert "random" not in {name.split(".")[0] for name in imports(path)}


@BY_PATH
def test_nothing_waits_for_what_others_work_out_once(path: Path) -> None:
    """On Python 3.11 a ``cached_property`` has one lock for all objects: ``once`` has none."""
    found = (node for node in nodes(path, ast.ImportFrom) if node.module == "functools")
    assert "cached_property" not in {alias.name for node in found for alias in node.names}


def test_no_interpreter_asks_what_op_it_has() -> None:
    """Only the ops and the systems know ops by name."""
    ops = {op.__name__ for op in ncd.ops.CATALOGUE}
    for module, path in MODULES.items():
        if floor(module) in {
            "run",
            "code",
            "drawing",
            "graph",
            "costs",
            "export",
            "demands",
            "view",
        }:
            asked = {
                name.id
                for call in nodes(path, ast.Call)
                if isinstance(call.func, ast.Name) and call.func.id == "isinstance"
                for name in ast.walk(call.args[1])
                if isinstance(name, ast.Name)
            }
            assert not asked & ops, module


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_is_thin(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 60


def test_every_file_says_what_it_is() -> None:
    for path in FILES:
        assert ast.get_docstring(ast.parse(path.read_text())), path


def test_every_package_is_installed() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    packages = {module for module, path in MODULES.items() if path.name == "__init__.py"}
    assert set(told) == {*packages, "ncd.bundle"}


def required(name: str) -> set[str]:
    """The packages that a file of requirements names."""
    return {re.split(r"[<>=]", line)[0].lower() for line in (ROOT / name).read_text().splitlines()}


def test_what_is_imported_is_required_and_what_is_required_is_imported() -> None:
    """Developers alone have what ``bench`` compares with.

    Fonts are packed with brotli, resvg paints in a process of its own, uvicorn takes uvloop.
    """
    names = {name.split(".")[0] for path in FILES for name in imports(path)}
    outside = names - set(sys.stdlib_module_names) - {"ncd"}
    homes = packages_distributions()
    packages = {home.lower().replace("_", "-") for name in outside for home in homes[name]}
    dev = required("requirements-dev.txt") & packages
    assert packages - dev == required("requirements.txt") - {"brotli", "resvg-py", "uvloop"}
    assert dev == {"torchviz", "torchview"}
