"""Which layer takes an input first, the formats of inputs, and lists that a formula gives."""

from __future__ import annotations

import ast
import math
from typing import Any

import pytest
import torch
from torch import nn

from ncd.read.python_source import first_layers as firsts
from ncd.read.python_source import source_reader
from ncd.read.python_source.interpreter import Scope
from ncd.read.python_source.number_lists import number_list


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(13, 4), nn.Sequential(nn.ReLU(), nn.Linear(7, 4))
        self.n, self.r = nn.BatchNorm1d(5), nn.ReLU()


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ("return self.a(x)", {"x": 13}),
        ("return self.b(x)", {"x": 7}),
        ("return self.n(x)", {"x": 5}),
        ("x = self.b(x); return self.a(x)", {"x": 7}),
        ("a = self.a(x); return self.b(x)", {"x": 13}),
        ("\n    a_long_name = self.a(x)\n    b = self.b(x)", {"x": 13}),
        ("z = x.float().to(y); return self.a(z)", {"x": 13}),
        ("z = x + 1; return self.a(z)", {}),
        ("z = x; z = 3; return self.a(z)", {}),
        ("p, q = x, y; return self.a(q) + self.b(p)", {"y": 13, "x": 7}),
        ("return self.a(x['k'])", {"x.k": 13}),
        ("return self.a(x.get('k'))", {"x.k": 13}),
        ("return self.a(x.k.cuda())", {"x.k": 13}),
        ("return self.a(x['k']['l'])", {}),
        ("return self.a(x[0])", {}),
        ("return self.a(x.get())", {}),
        ("return self.a(z['k'])", {}),
        ("return self.r(x)", {}),
        ("return other.a(x)", {}),
        ("return self(x)", {}),
        ("return self.missing(x)", {}),
        ("return self.b.missing(x)", {}),
        ("return self.a()", {}),
        ("return self.a(3, x)", {}),
    ],
)
def test_the_first_layer_that_takes_an_input(body: str, found: dict[str, int]) -> None:
    layers = firsts.first_layers(ast.parse(f"def forward(self, x, y): {body}"), ["x", "y"], Net())
    widths = {
        name: getattr(layer, "in_features", getattr(layer, "num_features", 0))
        for name, layer in layers.items()
    }
    assert widths == found


def test_inputs_have_the_format_that_a_module_takes() -> None:
    real, whole = torch.ones(2, 5), torch.tensor([1])
    table = nn.Embedding(3, 8)
    (words,) = firsts.in_range(table, (real,))
    assert words.dtype == torch.int64 and words.shape == (2, 5) and int(words.max()) < 3
    own = type("Own", (nn.Module,), {})()
    own.table = table
    for model, given in (
        (table, (whole,)), (table, (real, real)), (nn.Linear(5, 2), (real,)), (own, (real,)),
    ):  # fmt: skip
        assert firsts.in_range(model, given) is given
    assert firsts.in_format(nn.ReLU(), (real,)) == (real,)
    found = firsts.in_format(nn.Linear(5, 2), (real.double(), whole, real))
    assert [x.dtype for x in found] == [torch.float32, torch.int64, torch.float32]
    short = {"a": real.half(), "b": [real.double(), whole]}
    longer = firsts.in_long_format(nn.Linear(5, 2), short)
    assert [longer["a"].dtype, *(x.dtype for x in longer["b"])] == (
        [torch.float32, torch.float64, torch.int64]
    )
    for model in (nn.Linear(5, 2).half(), nn.ReLU()):
        assert firsts.in_long_format(model, short) is short
    for layer, shape, axes in (
        (nn.GRU(5, 2), (7, 2, 5), {"input": "t b m"}), (nn.GRU(5, 2), (7, 5), {}),
        (nn.GRU(5, 2, batch_first=True), (2, 7, 5), {}), (nn.Linear(5, 2), (7, 2, 5), {}),
    ):  # fmt: skip
        assert firsts.steps_first(layer, (torch.ones(shape),)) == axes
    assert firsts.steps_first(nn.GRU(5, 2), ()) == {}


NAMES: dict[str, Any] = {"k": 3, "half": 0.5, "word": "x"}


@pytest.mark.parametrize(
    ("text", "listed"),
    [
        ("[i for i in range(16)]", True),
        ("[i for i in range(15)]", False),  # as quick by itself
        ("[i * 2 + 1 - i // 3 + i % 4 for i in range(3, 60, 2)]", True),
        ("[-i ** 2 / k for i in range(16)]", True),
        ("[math.sin(i * half) for i in range(20)]", True),
        ("[math.pow(2, i) + 2 ** i for i in range(16)]", True),
        ("[0 * i + k for i in range(16)]", True),
        ("[i for i in range(20) if i]", False),
        ("[i for i in [1] * 20]", False),
        ("[i + j for i in range(20) for j in range(2)]", False),
        ("[word for i in range(20)]", False),
        ("[i + word for i in range(20)]", False),
        ("[i + other for i in range(20)]", False),
        ("[abs(i) for i in range(20)]", False),
        ("[i if i else 1 for i in range(20)]", False),
        ("[~i for i in range(20)]", False),
    ],
)
def test_a_list_that_a_formula_gives_is_computed_as_in_python(text: str, listed: bool) -> None:
    machine, scope = source_reader.new_machine(), Scope()
    scope.names.update(NAMES)
    machine.run(ast.parse("import math").body, scope)
    node = ast.parse(text, mode="eval").body
    assert isinstance(node, ast.ListComp)
    found = number_list(machine, node, scope)
    assert found == (eval(text, {"math": math, **NAMES, "other": 0}) if listed else None)


def test_a_formula_of_many_operations_takes_more_steps() -> None:
    for operations, steps in ((7, 16), (8, 32)):
        machine, scope = source_reader.new_machine(), Scope()
        text = f"[i{' + i' * operations} for i in range(16)]"
        node = ast.parse(text, mode="eval").body
        assert isinstance(node, ast.ListComp)
        before = machine.steps
        number_list(machine, node, scope)
        assert steps <= machine.steps - before < steps + 16
