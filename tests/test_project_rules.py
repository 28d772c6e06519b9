"""Rules for names, files and dependencies, read from the source."""

from __future__ import annotations

import ast
import builtins
import re
import sys
import tomllib
from collections import Counter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
import torch

import ncd
from ncd.cli.check import LONGEST
from ncd.language.op import MODULE
from tests.test_layering import FILES, MODULES, PAGES, ROOT, imports, nodes, room

pytestmark = pytest.mark.catalogue
SOURCES = {".py", ".css", ".html", ".js"}


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
    """All that torch has today; some of them are of other versions.

    A library that another test has loaded may add a method of its own: transformers does.
    """
    module = torch.nn.Module()
    public = {
        name
        for name in dir(module)
        if not name.startswith("_")
        and getattr(getattr(module, name), "__module__", "torch").split(".")[0] != "transformers"
    }
    assert public <= MODULE


# --- the house rules -----------------------------------------------------------------------------


def called(path: Path) -> set[str]:
    """Returns the functions that a file calls by a plain name."""
    return {n.func.id for n in nodes(path, ast.Call) if isinstance(n.func, ast.Name)}


def attributes(path: Path) -> set[str]:
    """Returns what a file reads as ``name.attribute``."""
    found = (n for n in nodes(path, ast.Attribute) if isinstance(n.value, ast.Name))
    return {f"{node.value.id}.{node.attr}" for node in found}


def libraries(path: Path) -> set[str]:
    """Returns the top-level packages that a file imports."""
    return {name.split(".")[0] for name in imports(path)}


def test_nothing_is_evaluated_or_unpickled() -> None:
    for path in FILES:
        assert not called(path) & {"eval", "exec", "__import__"}, path
        assert not libraries(path) & {"pickle", "marshal", "shelve"}, path
        assert not attributes(path) & {"torch.load", "torch.save", "os.system"}, path


def test_no_test_sleeps_or_looks_at_a_clock() -> None:
    """They wait by ``until`` or Playwright's ``expect``, and count calls instead of seconds."""
    clocks = {"perf_counter", "process_time", "monotonic", "time_ns"}
    for path in (ROOT / "tests").rglob("*.py"):
        called = (n.func for n in nodes(path, ast.Call) if isinstance(n.func, ast.Attribute))
        refused = {name.attr for name in called} & {"sleep", "wait_for_timeout", *clocks}
        assert not refused or path.name in ("polling.py", "fuzz.py"), path


def test_the_browser_is_asked_where_it_is() -> None:
    """``page.url`` is that of the last message that Playwright has taken in: it stays in a wait."""
    for path in (ROOT / "tests" / "browser").rglob("*.py"):
        assert not attributes(path) & {"page.url", "other.url", "themed.url"}, path


def test_no_global_randomness() -> None:
    """Weights and inputs come from a generator made from the seed."""
    assert [path for path in FILES if "torch.manual_seed" in path.read_text()] == []
    assert [path for path in FILES if "random" in libraries(path)] == []


def test_nothing_waits_for_what_others_work_out_once() -> None:
    """On Python 3.11 a ``cached_property`` has one lock for all objects: ``once`` has none."""
    for path in FILES:
        found = (node for node in nodes(path, ast.ImportFrom) if node.module == "functools")
        names = {alias.name for node in found for alias in node.names}
        assert "cached_property" not in names, path


def test_no_interpreter_asks_what_op_it_has() -> None:
    """Only the ops and the systems know ops by name."""
    ops = {op.__name__ for op in ncd.ops.CATALOGUE}
    for module, path in MODULES.items():
        source = module.startswith("ncd.write.torch_source")
        page = room(module) == "site" and module != "ncd.site.browser_run"
        if source or page or room(module) in {"run", "circuit", "drawing", "explain", "app"}:
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
    assert len(path.read_text().splitlines()) <= LONGEST


def test_every_file_says_what_it_is() -> None:
    for path in FILES:
        assert ast.get_docstring(next(nodes(path, ast.Module))), path


def test_no_folder_has_more_than_thirty_files() -> None:
    tops = (ROOT / name for name in ("ncd", "pages", "tests", "tools"))
    files = (path for top in tops for path in top.rglob("*") if path.suffix in SOURCES)
    crowded = {str(folder): n for folder, n in Counter(p.parent for p in files).items() if n > 30}
    assert not crowded


def test_functions_have_at_most_thirty_lines() -> None:
    """Below their docstring."""
    found = {}
    for path in FILES:
        for node in nodes(path, ast.FunctionDef, ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) else node.body
            lines = body[-1].end_lineno - body[0].lineno + 1 if body else 0
            if lines > 30:
                found[f"{path}: {node.name}"] = lines
    assert found == {}


def test_the_tests_mirror_the_folders() -> None:
    """A folder of tests is one of ``ncd`` or ``tools``, or holds what has no place there."""
    beside = {"browser", "each_system", "figures", "gpu", "support", "tools"}
    folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("*.py")}
    own = {folder for folder in folders if folder.parts and not beside & {*folder.parts}}
    assert {str(folder) for folder in own if not (ROOT / "ncd" / folder).is_dir()} == set()


def test_no_two_modules_have_one_name() -> None:
    """A traceback or a search names one file then."""
    names = Counter(path.name for path in FILES if not path.name.startswith("__"))
    assert [name for name, n in names.items() if n > 1] == []


def test_no_two_classes_have_one_name() -> None:
    """A name in a message, a search or a conversation is of one class then."""
    trees = (ast.parse(path.read_text(encoding="utf-8")) for path in FILES)
    names = Counter(node.name for tree in trees for node in tree.body if type(node) is ast.ClassDef)
    assert [name for name, n in names.items() if n > 1] == []


def test_every_package_is_installed() -> None:
    told = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    packages = {module for module, path in MODULES.items() if path.name == "__init__.py"}
    assert set(told) == {*packages, "ncd.bundle"}


def required(name: str) -> set[str]:
    """The packages that a file of requirements names."""
    return {re.split(r"[<>=]", line)[0].lower() for line in (ROOT / name).read_text().splitlines()}


def test_what_is_imported_is_required_and_what_is_required_is_imported() -> None:
    """Fonts are packed with brotli, resvg paints in a process of its own, uvicorn takes uvloop.

    Whoever imports a published model has `transformers` already.
    """
    names = {name.split(".")[0] for path in FILES for name in imports(path)}
    outside = names - set(sys.stdlib_module_names) - {"ncd"}
    homes = packages_distributions()
    packages = {home.lower().replace("_", "-") for name in outside for home in homes[name]}
    packages -= {"transformers", "onnx", "anywidget", "traitlets", "ipython"}  # extras of their own
    assert packages == required("requirements.txt") - {"brotli", "resvg-py", "uvloop"}
