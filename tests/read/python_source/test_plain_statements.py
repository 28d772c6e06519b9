"""Plain statements on tensors are read as a class with a forward, and nothing else is."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
import torch

import ncd
from ncd.language.terms import Term
from ncd.notation.term_reader import TextError
from ncd.read.python_source.plain_statements import as_class
from ncd.read.python_source.source_reader import read_source

HEAD = """
import torch
import torch.nn.functional as F
B, T, C = 2, 6, 8
x = torch.randn(B, T, C)
tril = torch.tril(torch.ones(T, T))
wei = x @ x.transpose(-2, -1)
wei = wei.masked_fill(tril == 0, float('-inf'))
wei = F.softmax(wei, dim=-1)
out = wei @ x
print(out.shape)
"""
# The statements, the shapes of what is free, and of the result.
STATEMENTS: dict[str, tuple[str, list[tuple[int, ...]], tuple[int, ...]]] = {
    "one line": (
        "x = torch.randn(2,3); w = torch.randn(3,4); y = torch.softmax(x @ w, -1)",
        [(2, 3), (3, 4)],
        (2, 4),
    ),
    "a head of attention": (HEAD, [(2, 6, 8)], (2, 6, 8)),
    "several at once": (
        "q, k = torch.rand(2, 5, 4), torch.rand(2, 7, 4)\n(q @ k.mT).softmax(-1)",
        [(2, 5, 4), (2, 7, 4)],
        (2, 5, 7),
    ),
    "numbers that are not drawn": ("a = torch.ones(2, 3)\na + a.sum(0)", [(2, 3)], (2, 3)),
    "einops": (
        "from einops import rearrange\nx = torch.randn(2, 6, 4)\n"
        "y = rearrange(x, 'b (h w) c -> b c h w', h=2)",
        [(2, 6, 4)],
        (2, 4, 2, 3),
    ),
    "changed on the way": ("x = torch.randn(3, 4)\nx = x * 2\nx += 1\nx.shape", [(3, 4)], (3, 4)),
}


def run(text: str, inputs: list[torch.Tensor]) -> torch.Tensor:
    """Returns the result of the statements on these inputs, by Python itself."""
    names: dict[str, object] = {"torch": torch, "nn": torch.nn}
    given = iter(inputs)
    lines = []
    for node in as_class(ast.parse(text)).body:
        if isinstance(node, ast.Expr):
            call = node.value
            assert isinstance(call, ast.Call)
            for i in range(len(call.args)):
                names[f"given_{i}"] = next(given)
                call.args[i] = ast.Name(f"given_{i}", ast.Load())
            node = ast.Assign([ast.Name("result", ast.Store())], call)
        lines.append(node)
    tree = ast.fix_missing_locations(ast.Module(lines, []))
    exec(compile(tree, "statements", "exec"), names)
    found = names["result"]
    assert isinstance(found, torch.Tensor)
    return found


def shapes(term: Term) -> list[tuple[int, ...]]:
    return [array.shape for array in term.dom]


@pytest.mark.parametrize("name", STATEMENTS)
def test_statements_are_a_diagram_of_what_is_free(name: str) -> None:
    text, free, result = STATEMENTS[name]
    reading = read_source(text)
    assert reading.failure is None
    assert shapes(reading.term) == free and reading.shapes == (result,)
    inputs = [torch.randn(shape) for shape in free]
    torch.testing.assert_close(ncd.compile(reading.term)(*inputs), run(text, inputs))


def test_what_has_a_gradient_is_learned() -> None:
    text = "x = torch.randn(5, 3)\nw = torch.randn(3, 4, requires_grad=True)\ny = x @ w"
    term = read_source(text).term
    assert shapes(term) == [(5, 3)] and ncd.cost(term).parameters == 12


def test_a_line_that_fails_is_drawn_up_to_it() -> None:
    reading = read_source("x = torch.randn(2, 3)\nw = torch.randn(4, 5)\ny = x @ w")
    assert isinstance(reading.failure, TextError) and reading.failure.line == 3
    assert shapes(reading.term) == [(2, 3), (4, 5)]


def test_a_long_text_is_gone_through_once(monkeypatch: pytest.MonkeyPatch) -> None:
    walk, seen = ast.walk, []

    def counted(node: ast.AST) -> Iterator[ast.AST]:
        for part in walk(node):
            seen.append(part)
            yield part

    monkeypatch.setattr(ast, "walk", counted)
    counts = []
    for lines in (100, 1000):
        text = "x = torch.randn(2, 3)\n" + "x = torch.relu(x)\n" * lines
        seen.clear()
        assert as_class(ast.parse(text)).body
        counts.append(len(seen))
    assert counts[1] < 11 * counts[0]


@pytest.mark.parametrize(
    "text",
    [
        "nn.Linear(8, 3)(torch.randn(5, 8))",
        "layer = nn.Linear(8, 3)\nx = torch.randn(5, 8)\ny = layer(x)",
        "class Net(nn.Module):\n    pass\nx = torch.randn(2, 3)",
        "x = torch.randn(2, 3)",
        "a = 3\nb = a + 1",
        "for i in range(3):\n    x = torch.randn(2)\ny = 2",
    ],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    tree = ast.parse(text)
    assert as_class(tree) is tree


def test_one_statement_whose_arrays_are_drawn_within_it_is_read() -> None:
    text = "F.softmax(torch.randn(2, 3) @ torch.randn(3, 5), dim=-1)"
    assert read_source(text).shapes == ((2, 5),)
    two = "a = 2\ny = torch.randn(2, 3).relu() + torch.randn(a, 1)"
    assert read_source(two).shapes == ((2, 3),)
