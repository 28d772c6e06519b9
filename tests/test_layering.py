"""Imports run one way, in no circle, and the house rules hold; read from the source."""

from __future__ import annotations

import ast
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

# Each part of ncd/, with the parts that it may import besides itself.
LANGUAGE = {"lang", "ops"}
PARTS: dict[str, set[str]] = {
    "bundled_files": set(),
    "extras": set(),
    "png_chunks": set(),
    "version": set(),
    "lang": set(),
    "ops": {"lang"},
    "serial": LANGUAGE,
    "file_facts": {"lang", "serial", "png_chunks"},
    "text": {*LANGUAGE, "serial", "models", "extras"},  # einops' patterns as terms
    "costs": LANGUAGE,
    "drawing": {*LANGUAGE, "bundled_files", "png_chunks"},
    "key": {*LANGUAGE, "drawing"},  # each sign's picture is the drawing of a term
    "code": LANGUAGE,
    "export": {*LANGUAGE, "costs", "drawing", "code", "serial", "key"},
    "derivatives": LANGUAGE,
    "streaming": {*LANGUAGE, "costs", "run"},  # the loop runs ops as a program does
    "run": {*LANGUAGE, "costs"},  # the guard counts before it runs
    "graph": {*LANGUAGE, "costs", "run", "drawing"},  # the colours of the diagram
    "models": LANGUAGE,
    "lessons": {*LANGUAGE, "costs", "models", "bundled_files"},
    "inputs": {*LANGUAGE, "bundled_files", "models", "run", "train"},
    "static_site": {
        *(*LANGUAGE, "costs", "drawing", "code", "serial", "export", "key", "models", "lessons"),
        *("bundled_files", "file_facts"),
        *("run", "onnx_model", "train", "inputs"),  # a page runs its model
    },
    "importing": {*LANGUAGE, "run"},
    "onnx_model": {*LANGUAGE, "run", "version"},
    "pytorch_source": {*LANGUAGE, "text", "importing"},
    "findings": {*LANGUAGE, "text", "importing", "pytorch_source", "run"},
    "train": {*LANGUAGE, "costs", "bundled_files", "models", "run"},
    "widget": {*LANGUAGE, "drawing", "export", "importing", "models", "run"},
    "jobs": {
        *(*LANGUAGE, "costs", "models", "run", "train"),
        # a visitor's source, read in a process of its own
        *("serial", "text", "pytorch_source", "findings"),
    },
    "answers": {*LANGUAGE, "costs", "models", "run", "text", "pytorch_source", "findings", "jobs"},
}
TOP = {"ncd", "__main__", "quiet_interrupt", "cli", "notebook", "view"}

# The folders of a part, lowest first: a file imports from its own folder and from those before it.
# "." is the files that lie in the part itself; its ``__init__`` may import them all.
FOLDERS: dict[str, tuple[str, ...]] = {
    "lang": (".", "types", "formulas", "terms", "circuits"),
    "ops": ("structure", "elementwise", "linear_maps", "along_axis", "windows", "torch_calls"),
    "drawing": (
        "base",
        "routing",
        "marks",
        "plan",
        "collapse",
        "backends",
        "placement",
        "fit",
        "overlays",
        "lint",
        ".",
    ),
    "export": (".", "page"),
    "static_site": ("runs", "."),
    "importing": ("base", "calls", "idioms", "naming", "."),
    "pytorch_source": ("base", "listed", "folding", "usual", "."),
    "run": ("base", "execution", "limits", "explain"),
    "models": (
        ".",
        "tensors",
        "linear_algebra",
        "learning",
        "attention",
        "language_models",
        "components",
        "recurrent_networks",
        "graphs",
        "images",
        "configs",
        "transformers",
        "learned_attention",
        "normalisation",
        "memory_levels",
    ),
    "view": (
        "base",
        "editor",
        "inputs",
        "runtime",
        "session",
        "arrays",
        "learning",
        "arithmetic",
        "diagram",
        "einops_lab",
        "quiz",
        "presenter",
        "panels/memory",
        "panels/attention",
        "panels/components",
        "panels/language_models",
        "panels/graphs",
        "panels/images",
        "panels/tensors",
        "panels/learning",
        "compare",
        "panels/common",
        "page",
        "server",
    ),
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
    "text",
)  # without torch


def dotted(path: Path) -> str:
    """The module of a file: ``ncd.ops.linear_maps.linear``, ``ncd.ops`` for its ``__init__.py``."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {dotted(path): path for path in FILES}


def part(module: str) -> str:
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
    return tuple(ast.walk(ast.parse(path.read_text())))


def nodes(path: Path, *kinds: type[ast.AST]) -> Iterator[ast.AST]:
    return (node for node in every_node(path) if isinstance(node, kinds))


# --- which way imports run -----------------------------------------------------------------------


def test_imports_run_one_way() -> None:
    for module, path in MODULES.items():
        name = part(module)
        if name in TOP:
            continue
        assert name in PARTS, f"{name} is no part yet: say in this test what it may import"
        assert {part(other) for other in own(path)} <= {*PARTS[name], name}, path


def folder(module: str) -> str:
    """Returns the folder of a module inside its part, "." for the part itself."""
    return str(MODULES[module].relative_to(ROOT / "ncd" / part(module)).parent)


DOORS = {f"ncd.{name}" for name in FOLDERS}  # their ``__init__`` may import every folder of theirs


@pytest.mark.parametrize("name", FOLDERS)
def test_the_folders_of_a_part_are_listed(name: str) -> None:
    inside = {m for m in MODULES if part(m) == name and MODULES[m].name != "__init__.py"}
    assert {folder(m) for m in inside} == set(FOLDERS[name])


def test_folders_import_only_lower_folders() -> None:
    for module, path in MODULES.items():
        if part(module) not in FOLDERS or module in DOORS:
            continue
        order = FOLDERS[part(module)]
        same = (name for name in own(path) - DOORS if part(name) == part(module))
        above = [name for name in same if order.index(folder(name)) > order.index(folder(module))]
        assert above == [], f"{path} imports from a higher folder"


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
    assert [m for m, path in MODULES.items() if part(m) not in TOP and "ncd" in own(path)] == []


def test_nothing_is_imported_for_types_only() -> None:
    """But in the package itself, whose names are imported when they are used."""
    typed = [path for path in FILES if "TYPE_CHECKING" in path.read_text()]
    assert typed == [ROOT / "ncd" / "__init__.py"]


def test_only_the_view_imports_streamlit() -> None:
    for module, path in MODULES.items():
        if any(name.split(".")[0] == "streamlit" for name in imports(path)):
            assert part(module) == "view", module


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
