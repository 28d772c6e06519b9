"""Docstrings: plain first lines everywhere, and a complete description of every public name."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import ncd
from tests.test_layering import FILES, ROOT

RIDDLES = "All that|As|How|Of|Such|That|Those|What|Where|Which|Who|Whose"
RIDDLE = re.compile(rf"(\w+: )?({RIDDLES}|{RIDDLES.lower()})\b")
NAMES = sorted({*ncd.__all__, "compile"})
# Names that only hold data, or accept whatever their types permit.
RAISES_NOTHING = {
    *("Cell", "Cost", "Dag", "Drawing", "Fence", "Loop", "Sample", "Site", "Trace", "Value"),
    "Thumbnail",
    *("Array", "Signature", "Knob", "devices", "plain", "seq", "space", "track"),
    *(
        "Answer",
        "Cure",
        "Finding",
        "Box",
        "Cache",
        "Checkpoints",
        "Imported",
        "Result",
        "Saved",
        "SavedArray",
        "ShardedResult",
        "Sharding",
        "Stream",
    ),
    *(
        "ImportFailed",
        "LimitError",
        "LookAheadError",
        "MismatchError",
        "NCDError",
        "ParseError",
        "SizeError",
        "TextError",
        "UnknownNameError",
    ),
}


def described(name: str) -> tuple[object, str]:
    """A public name with its docstring, which is that of its class for the catalogue."""
    value = inspect.unwrap(getattr(ncd, name))
    home = value if inspect.isclass(value) or inspect.isfunction(value) else type(value)
    return home, inspect.getdoc(home) or ""


def parameters(value: object) -> list[str]:
    """The parameters of a function or of a class's own constructor."""
    if inspect.isclass(value) and not {"__init__", "__new__"} & set(vars(value)):
        return []
    return [p for p in inspect.signature(value).parameters if p != "self"]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", NAMES)
def test_a_public_name_is_described(name: str) -> None:
    value, doc = described(name)
    lacks = [p for p in parameters(value) if not re.search(rf"^    \*{{0,2}}{p}: \S", doc, re.M)]
    assert not lacks, "parameters without a description"
    assert ("Raises:\n    " in doc) != (name in RAISES_NOTHING), "Raises:"
    error = inspect.isclass(value) and issubclass(value, Exception)
    assert error or "\nSource: " in doc, "Source:"
    assert "\n>>> " in doc, "an example"


def first_lines(path: Path) -> Iterator[tuple[str, str]]:
    """Yields the place and the first paragraph of every docstring in a file."""
    kinds = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    for node in ast.walk(ast.parse(path.read_text())):
        doc = ast.get_docstring(node) if isinstance(node, kinds) else None
        if doc is not None:
            place = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 1)}"
            yield place, doc.partition("\n\n")[0].replace("\n", " ")


@pytest.mark.catalogue
def test_first_lines_are_plain() -> None:
    """They are sentences or noun phrases that end in a full stop, not questions or riddles."""
    lines = [line for path in FILES for line in first_lines(path)]
    assert [line for line in lines if RIDDLE.match(line[1])] == []
    assert [line for line in lines if not line[1].endswith((".", ":"))] == []
