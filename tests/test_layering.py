"""Imports run one way, in no circle, and the house rules hold; read from the source."""

from __future__ import annotations

import ast
import gc
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.catalogue
ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "ncd").rglob("*.py"))
PAGES = sorted((ROOT / "pages").rglob("*.py"))

# The rooms of ncd/, and the files beside them, from the ground up, each with those it may import.
ROOMS: dict[str, set[str]] = {
    "version": set(),
    "quiet_interrupt": set(),
    "installation": set(),
    "words": set(),
    "errors": {"words"},
    "formulas": {"words", "errors"},
    "language": {"words", "errors", "formulas"},
    "circuit": {"words", "errors", "formulas", "language"},
    "ops": {"words", "errors", "formulas", "language"},
    "drawing": {"installation", "words", "errors", "language", "circuit", "ops"},
    "run": {"errors", "formulas", "language", "circuit", "ops"},
    "rewrite": {"words", "errors", "formulas", "language", "circuit", "ops", "run"},
    "write": {
        "version",
        "words",
        "errors",
        "formulas",
        "language",
        "circuit",
        "ops",
        "drawing",
        "run",
    },
    "notation": {"words", "errors", "formulas", "language", "circuit", "write"},
    "systems": {"installation", "words", "errors", "formulas", "language", "circuit", "ops", "run"},
    "read": {
        "installation",
        "words",
        "errors",
        "formulas",
        "language",
        "circuit",
        "ops",
        "run",
        "write",
        "notation",
        "systems",
    },
    "explain": {"words", "errors", "formulas", "language", "circuit", "drawing", "run"},
    "site": {
        "installation",
        "words",
        "errors",
        "formulas",
        "language",
        "circuit",
        "ops",
        "drawing",
        "run",
        "write",
        "notation",
        "systems",
        "read",
        "explain",
    },
    "findings": {"words", "errors", "notation", "read"},
    "jobs": {
        "errors",
        "language",
        "circuit",
        "run",
        "write",
        "notation",
        "systems",
        "read",
        "findings",
    },
    "answers": {
        "words",
        "errors",
        "formulas",
        "language",
        "circuit",
        "ops",
        "notation",
        "systems",
        "read",
        "findings",
        "jobs",
    },
    "app": {
        "installation",
        "words",
        "errors",
        "formulas",
        "language",
        "circuit",
        "ops",
        "drawing",
        "run",
        "rewrite",
        "write",
        "notation",
        "systems",
        "read",
        "site",
        "explain",
        "findings",
        "jobs",
        "answers",
    },
    "cli": {
        "installation",
        "words",
        "errors",
        "language",
        "circuit",
        "drawing",
        "run",
        "write",
        "systems",
        "read",
        "site",
        "explain",
        "findings",
        "answers",
        "app",
    },
    "__main__": {"installation", "errors", "language", "cli"},
}
CATALOGUE = "ncd.systems.catalogue"  # it lists what the folders beside it hold
LIGHT = (  # without torch
    *("formulas", "language", "circuit", "ops", "drawing", "notation"),
    *("write.torch_source", "write.term_json", "write.file_facts", "systems.catalogue"),
    *(
        "read.recognise",
        "read.arrays_line",
        "read.einops_line",
        "read.einsum_line",
        "read.configs",
        "site.document",
        "answers.answer",
    ),
)


def dotted(path: Path) -> str:
    """The module of a file: ``ncd.ops.linear``, ``ncd.ops`` for its ``__init__.py``."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {dotted(path): path for path in FILES}


def room(module: str) -> str:
    """Returns the file or folder of ``ncd`` that a module belongs to."""
    return (module.split(".")[1:2] or ["ncd"])[0]


@cache
def imports(path: Path) -> frozenset[str]:
    """Every module that a file imports, wherever the import stands in it.

    ``from ncd.x import y`` is of ``ncd.x.y`` if that is a module, else of ``ncd.x``.
    """
    found: set[str] = set()
    for node in nodes(path, ast.Import, ast.ImportFrom):
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


@cache
def every_node(path: Path) -> tuple[ast.AST, ...]:
    """Returns all nodes of a file's syntax tree."""
    gc.disable()
    found = tuple(ast.walk(ast.parse(path.read_text())))
    gc.freeze()  # millions of nodes stay alive: without this each search for garbage sees them all
    gc.enable()
    return found


def nodes(path: Path, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    return (node for node in every_node(path) if isinstance(node, kinds))


# --- which way imports run -----------------------------------------------------------------------


def test_every_room_has_a_floor() -> None:
    assert {room(module) for module in MODULES} - {"ncd"} == set(ROOMS)
    floors = list(ROOMS)
    for name, below in ROOMS.items():
        assert below <= set(floors[: floors.index(name)]), f"{name} may not import what is above it"


def test_imports_run_one_way() -> None:
    for module, path in MODULES.items():
        if module != "ncd":
            rooms = {room(other) for other in own(path) - {"ncd"}}
            assert rooms <= {*ROOMS[room(module)], room(module)}, path


def folder(module: str) -> str:
    """Returns the folder of a module, such as ``drawing/plan``."""
    return str(MODULES[module].relative_to(ROOT / "ncd").parent)


def test_the_folders_of_a_room_import_one_way() -> None:
    graph: dict[str, set[str]] = {}
    for module, path in MODULES.items():
        same = {name for name in own(path) if room(name) == room(module)} - {module}
        if module != CATALOGUE:
            graph.setdefault(folder(module), set()).update(map(folder, same - {CATALOGUE}))
    try:
        TopologicalSorter({name: own - {name} for name, own in graph.items()}).prepare()
    except CycleError as error:
        pytest.fail(f"folders in a circle: {' <- '.join(error.args[1])}")


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
    high = {"ncd", "app", "cli", "__main__"}
    assert [m for m, path in MODULES.items() if room(m) not in high and "ncd" in own(path)] == []


def test_nothing_is_imported_for_types_only() -> None:
    """But in the package itself, whose names are imported when they are used."""
    typed = [path for path in FILES if "TYPE_CHECKING" in path.read_text()]
    assert typed == [ROOT / "ncd" / "__init__.py"]


def test_only_the_app_imports_streamlit() -> None:
    for module, path in MODULES.items():
        if any(name.split(".")[0] == "streamlit" for name in imports(path)):
            assert room(module) == "app", module


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
