"""Places and edits of a source: over several lines, around letters of several bytes."""

from __future__ import annotations

import ast

import pytest

from ncd.findings.reading.finding import apply_edits
from ncd.findings.reading.source_text import SourceText, called_name

TEXT = "é = f(\n    a,\n    b,\n) + g(ö, k=1)\nclass B(A):\n    def m(self): return h()"


@pytest.fixture
def source() -> SourceText:
    return SourceText(TEXT, ast.parse(TEXT))


def call(source: SourceText, name: str) -> ast.Call:
    return next(n for n in source.nodes if isinstance(n, ast.Call) and called_name(n) == name)


def test_an_edit_may_reach_over_several_lines(source: SourceText) -> None:
    edits = source.node_edits(call(source, "f"), "z")
    assert apply_edits(TEXT, edits).split("\n")[:4] == ["é = z", "", "", " + g(ö, k=1)"]


def test_places_are_counted_in_letters(source: SourceText) -> None:
    node = call(source, "g")
    assert (source.start(node), source.end(node)) == ((4, 4), (4, 13))
    assert source.letters(node) == "g(ö, k=1)"
    assert (
        apply_edits(TEXT, source.wrapping_edits(node, "[", "]")).split("\n")[3] == ") + [g(ö, k=1)]"
    )


@pytest.mark.parametrize(
    ("text", "cured"),
    [
        ("f()", "f(k=2)"),
        ("f(a)", "f(a, k=2)"),
        ("f(k=1)", "f(k=2)"),
        ("f(j=1)", "f(j=1, k=2)"),
        ("f(a, )", "f(a, k=2)"),
        ("f(a,)", "f(a, k=2)"),
        ("f((ö), (é))", "f((ö), (é), k=2)"),
        ("f(\n    a,\n)", "f(\n    a,\nk=2)"),
        ("f(\n    a\n)", "f(\n    a\n, k=2)"),
        ("f(\n    a  # b, c\n)", "f(\n    a  # b, c\n, k=2)"),
        ("f(\n    a,  # b\n    )", "f(\n    a,  # b\n    k=2)"),
    ],
)
def test_a_call_gets_an_argument_or_another_value(text: str, cured: str) -> None:
    tree = ast.parse(text)
    source = SourceText(text, tree)
    assert apply_edits(text, source.argument(call(source, "f"), "k", "2")) == cured


def test_what_stands_around_a_node(source: SourceText) -> None:
    node = call(source, "h")
    function, owner = source.function(node), source.class_of(node)
    assert function is not None and function.name == "m"
    assert owner is not None and owner.name == "B"
    assert isinstance(source.statement(node), ast.Return)
    assert source.function(call(source, "f")) is None and source.class_of(owner) is None
    assert source.statement(source.tree) is source.tree
    assert [type(one).__name__ for one in source.enclosing_nodes(node)] == [
        "Return", "FunctionDef", "ClassDef", "Module"
    ]  # fmt: skip


def test_a_class_comes_before_those_that_it_inherits_from() -> None:
    text = "class A: pass\nclass B(A, nn.Module): pass\nclass C(B, A): pass"
    source = SourceText(text, ast.parse(text))
    assert [one.name for one in source.classes("C")] == ["C", "B", "A"]
    assert source.classes("D") == []
