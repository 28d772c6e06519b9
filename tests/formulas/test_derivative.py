"""Derivatives of formulas are those of torch, also at corners."""

from __future__ import annotations

import pytest
import torch

import ncd
from ncd import Axes, Id, Map
from ncd.formulas.derivative import derivative
from ncd.formulas.formula import FUNCTIONS, parse

ONE = [f"{name}($1)" for name, count in FUNCTIONS.items() if count == 1]
TWO = [
    *("$1 + $2", "$1 - $2 * 3", "$1 * $2 * $1", "$1 / $2", "$1 % ($2 + 2)", "abs($1) ** $2"),
    *("$1 ** 3", "$2 ** -2 + $1", "$1 ** 0.5 * $2", "max($1, $2)", "min($1, $2)", "max($1, 1)"),
    *("min(2, $1) * $2", "where($1 > $2, $1 * $2, -$2)", "-(-$1) * $2", "$1 // 2 * $2"),
    *("clamp($1, 0.5, 2) * $2", "clamp($1, $2, 2)", "clamp($2, n_x / 8, $1)", "elu($1 - 1)"),
    *("exp(-$1 ** 2 / $2)", "($1 > 1) * $2", "2 ** $1 - $2", "max($1 / n_x, x / 2) + $2"),
    *("max($1, x * 3 / n_x) * $2", "$2 * tanh($1)"),
]


@pytest.mark.parametrize("text", [*ONE, *TWO])
def test_a_derivative_is_that_of_torch(text: str) -> None:
    arrays = 2 if "$2" in text else 1
    dom = ", ".join(["x:6"] * arrays)
    term = Axes(x=6)(Map(f"{', '.join('x' * arrays)} -> x", text))
    points = torch.tensor([0.25, 0.5, 1.0, 1.5, 2.0, 3.0], dtype=torch.float64)
    inputs = [points.clone().requires_grad_(), torch.full((6,), 1.5).double().requires_grad_()]
    pull = torch.linspace(1, 2, 6, dtype=torch.float64)
    value = ncd.compile(term).double()(*inputs[:arrays])
    wanted = torch.autograd.grad(
        value, inputs[:arrays], pull, allow_unused=True, materialize_grads=True
    )
    back = ncd.compile(ncd.gradient(Id(dom) >> term)).double()
    found = back(*[x.detach() for x in inputs[:arrays]], pull)
    torch.testing.assert_close(found if arrays > 1 else (found,), wanted)


@pytest.mark.parametrize(
    ("text", "slope"),
    [
        ("$1 ** 2", "2 * $1"),
        ("$1 * $2", "$2"),
        ("3 * $1 + $2", "3"),
        ("-$1", "-1"),
        ("$1 - $2", "1"),
        ("$2 - $1", "-1"),
        ("1 / $1", "-(1 / $1 ** 2)"),
        ("$1 - $1 ** 2", "1 - 2 * $1"),
        ("$1 ** 2 + tanh($1)", "2 * $1 + (1 - tanh($1) ** 2)"),
        ("$1 - tanh($1)", "1 - (1 - tanh($1) ** 2)"),
        ("$2 * tanh($1)", "$2 * (1 - tanh($1) ** 2)"),
        ("$1 ** 1", "1"),
        ("$1 ** 0.5", "0.5 * $1 ** -0.5"),
        ("$1 ** 3", "3 * $1 ** 2"),
        ("$2 - ($1 ** 2 - $1 ** 3)", "-(2 * $1 - 3 * $1 ** 2)"),
        ("$1 + ($1 ** 2 - $1 ** 3)", "1 + (2 * $1 - 3 * $1 ** 2)"),
        ("2 * log($1)", "2 / $1"),
        ("floor($1)", "0"),
        ("relu(2 * $1)", "(2 * $1 > 0) * 2"),
        ("clamp($1, 0, 6)", "where($1 >= 0 and $1 <= 6, 1, 0)"),
    ],
)
def test_a_derivative_is_short(text: str, slope: str) -> None:
    assert str(derivative(parse(text), 1)) == slope
