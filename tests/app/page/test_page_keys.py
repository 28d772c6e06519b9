"""No axis of one's own system has the name of another element of the page."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import ncd
from ncd.app.page.own_page import PAGE_KEYS
from tests.app.page.test_pages import fine, opened

VIEW = Path(ncd.__file__).parent / "app"
OTHERS = {"gallery.py", "legend_page.py"}  # pages without axes
PLACES = {"map_component.render": 0, "html_panel.render": 1, "charts.render": 1}  # of the key


def keys(path: Path) -> Iterator[str]:
    """Yields the keys of elements in a file."""
    tree = ast.parse(path.read_text())
    named: dict[str, object] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name | ast.Tuple):
            try:
                value = ast.literal_eval(node.value)
            except ValueError:
                continue
            target = node.targets[0]
            pairs = [(target, value)] if isinstance(target, ast.Name) else zip(target.elts, value)  # noqa: B905
            named |= {ast.unparse(name): text for name, text in pairs}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            asked = [word.value for word in node.keywords if word.arg == "key"]
            place = PLACES.get(ast.unparse(node.func), len(node.args))
            for one in (*asked, *node.args[place : place + 1]):
                text = one.value if isinstance(one, ast.Constant) else named.get(ast.unparse(one))
                if isinstance(text, str) and text.isidentifier():
                    yield text


def test_every_key_is_known() -> None:
    paths = [path for path in VIEW.rglob("*.py") if path.name not in OTHERS]
    panels = VIEW / "panels"
    common = [path for path in paths if panels not in path.parents or "walk" in path.parts]
    found = {key for path in common for key in keys(path)}
    assert found - PAGE_KEYS == set()
    assert {"editor", "values", "header"} <= found  # it does look


@pytest.mark.parametrize("name", ["example", "field", "panels", "shapes"])
def test_an_axis_with_the_name_of_an_element_is_told(name: str) -> None:
    app = opened("pages/yours.py", text=f'Id("~y:5 {name}:8") >> Linear("{name} -> k:3", "W")')
    fine(app)
    assert not any(slider.key == name for slider in app.slider)
