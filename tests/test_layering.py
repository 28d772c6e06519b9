"""Imports run one way, and the house rules hold; read from the source, with nothing imported."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted((ROOT / "ncd").rglob("*.py"))
PAGES = sorted((ROOT / "pages").glob("*.py"))

# Each floor of the house, with the floors it may stand on besides itself.
GROUND = {"errors", "axes", "binding"}
LANGUAGE = {*GROUND, "terms", "op", "circuit", "ops"}
FLOORS: dict[str, set[str]] = {
    "errors": {"axes", "terms"},  # names of types only, under TYPE_CHECKING
    "axes": {"errors"},
    "binding": GROUND,
    "terms": LANGUAGE,
    "op": LANGUAGE,
    "circuit": LANGUAGE,
    "ops": LANGUAGE,
    "serial": LANGUAGE,
    "cost": LANGUAGE,
    "draw": LANGUAGE,
    "source": LANGUAGE,
    "run": {*LANGUAGE, "cost"},  # the guard counts before it runs
    "autograd": {*LANGUAGE, "cost", "run", "draw"},  # the colours of the diagram
    "models": LANGUAGE,
}
ABOVE = {"__init__", "__main__", "bench", "check", "terminal", "view"}  # may stand on all of it


def floor(path: Path) -> str:
    """The file or folder of ``ncd`` that a file belongs to; source_text.py stands on source's."""
    return named(path.relative_to(ROOT / "ncd").parts[0].removesuffix(".py"))


def named(module: str) -> str:
    return {"dag": "autograd"}.get(module, module.split("_")[0] if module[0] != "_" else module)


def imports(path: Path) -> set[str]:
    """Every module that a file imports, wherever the import stands in it."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom) and node.module:
            assert node.level == 0, f"{path}: a relative import"
            found |= {node.module} - {"ncd"}
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def own(path: Path) -> set[str]:
    """The floors that a file imports from."""
    parts = [name.split(".") for name in imports(path) if name.split(".")[0] == "ncd"]
    modules = {path.name.removesuffix(".py") for path in (ROOT / "ncd").iterdir()}
    return {named(part[1]) for part in parts if len(part) > 1 and part[1] in modules}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_run_one_way(path: Path) -> None:
    name = floor(path)
    if name in ABOVE:
        return
    assert name in FLOORS, f"{name} has no floor yet: give it one in this test"
    assert own(path) <= {*FLOORS[name], name}


def test_the_engine_never_imports_the_whole() -> None:
    """``import ncd`` from below would make a circle."""
    below = [path for path in FILES if floor(path) not in ABOVE]
    assert [path for path in below if "ncd" in imports(path)] == []


def test_only_the_view_imports_streamlit() -> None:
    for path in FILES:
        if any(name.split(".")[0] == "streamlit" for name in imports(path)):
            assert floor(path) == "view", path


def test_an_op_imports_no_interpreter() -> None:
    for path in (ROOT / "ncd" / "ops").glob("*.py"):
        assert own(path) <= {*GROUND, "op", "ops", "terms"}, path


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_nothing_is_evaluated_or_unpickled(path: Path) -> None:
    tree = ast.parse(path.read_text())
    functions = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    called = {function.id for function in functions if isinstance(function, ast.Name)}
    assert not called & {"eval", "exec", "__import__"}
    assert not {name.split(".")[0] for name in imports(path)} & {"pickle", "marshal", "shelve"}
    attributes = {
        f"{n.value.id}.{n.attr}"
        for n in ast.walk(tree)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name)
    }
    assert not attributes & {"torch.load", "torch.save", "os.system"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_global_randomness(path: Path) -> None:
    """Weights and inputs come from a generator made from the seed."""
    text = path.read_text()
    assert "torch.manual_seed" not in text
    assert "random" not in {name.split(".")[0] for name in imports(path)}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_page_is_thin(path: Path) -> None:
    assert len(path.read_text().splitlines()) <= 60


def test_every_file_says_what_it_is() -> None:
    for path in FILES:
        assert ast.get_docstring(ast.parse(path.read_text())), path


def test_the_public_names_are_there() -> None:
    import ncd

    functions = "autograd compile cost devices draw elaborate example_inputs from_json source"
    for name in f"{functions} to_json trace".split():  # a module of this name must not hide it
        assert callable(getattr(ncd, name)), name
