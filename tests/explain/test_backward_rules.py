"""The rules of the backward pass are right: each formula among them is computed, beside torch."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from ncd.explain.autograd_dag import RULES, rule

Numbers = tuple[Tensor, ...]
WRITTEN = {"·": "*", "−": "-", "²": "**2", "³": "**3", "ⁿ⁻¹": "**(n - 1)", "√a": "a.sqrt()"}
WRITTEN |= {"⌊a / b⌋": "(a / b).floor()", "(2 z)": "(2 * z)", "bᵀ": "b.mT", "aᵀ": "a.mT"}
WRITTEN |= {"G b.mT": "G @ b.mT", "a.mT G": "a.mT @ G"}
KNOWN = {name: getattr(torch, name) for name in ("cos", "sigmoid", "sign", "sin", "softmax")}

# What each function of torch does, of one or two positive arrays; n is 3.
FUNCTIONS: dict[str, Callable[..., Tensor]] = {
    "Abs": torch.abs,
    "Bmm": lambda a, b: torch.bmm(a[None], b.mT[None])[0],
    "Cos": torch.cos,
    "Div": lambda a, b: a / b,
    "Exp": torch.exp,
    "Log": torch.log,
    "Mm": lambda a, b: a @ b.mT,
    "Mul": lambda a, b: a * b,
    "Neg": lambda a: -a,
    "Pow": lambda a: a**3,
    "Remainder": lambda a, b: a % b,
    "Rsqrt": torch.rsqrt,
    "Sigmoid": torch.sigmoid,
    "Sin": torch.sin,
    "Softplus": torch.nn.functional.softplus,
    "Sqrt": torch.sqrt,
    "Tanh": torch.tanh,
}


def computed(text: str, names: dict[str, Tensor]) -> Tensor:
    """Computes a formula as it is written in a rule."""
    for sign, code in WRITTEN.items():
        text = text.replace(sign, code)
    found = eval(text, {"__builtins__": {}}, {**KNOWN, **names, "n": 3})
    assert isinstance(found, Tensor)
    return found


def two() -> Numbers:
    made = torch.Generator().manual_seed(0)
    a, b = 0.3 + 2 * torch.rand(2, 4, 4, generator=made, dtype=torch.float64)
    return a.requires_grad_(), b.requires_grad_()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_formula_gives_the_gradient_of_torch(name: str) -> None:
    function = FUNCTIONS[name]
    given = two()[: function.__code__.co_argcount if hasattr(function, "__code__") else 1]
    z = function(*given)
    gradient = torch.linspace(-1, 2, z.numel(), dtype=z.dtype).view_as(z)
    wanted = torch.autograd.grad(z, given, gradient)
    matrices = name in ("Bmm", "Mm")
    a, b = given[0], given[-1].mT if matrices else given[-1]
    names = {"G": gradient, "a": a, "b": b, "z": z}
    said = dict(re.findall(r"∇([ab]) = (.*?)(?=\.$|, | and ∇)", rule(name)))
    assert sorted(said) == ["a", "b"][: len(given)]
    for text, grad, part in zip((said[key] for key in sorted(said)), wanted, given, strict=True):
        found = computed(text, names)
        torch.testing.assert_close(found.mT if matrices and part is given[1] else found, grad)


def test_the_rule_of_softmax() -> None:
    (a, _), (G, *_) = two(), torch.rand(1, 4, 4, dtype=torch.float64)
    z = a.softmax(-1)
    (wanted,) = torch.autograd.grad(z, a, G)
    formula, words = rule("Softmax").removeprefix("∇a = ").split(", where s is ")
    assert words == "the sum of G · z along the axis of the softmax."
    names = {"G": G, "z": z, "s": (G * z).sum(-1, keepdim=True)}
    torch.testing.assert_close(computed(formula, names), wanted)


def test_every_formula_of_one_or_two_arrays_is_computed() -> None:
    """The rules that say ∇a in letters, but for those of several arrays, sums or a mean."""
    letters = {name for name, text in RULES.items() if "∇a = " in text}
    others = {"Addmm", "Baddbmm", "Gelu", "LogSoftmax", "MseLoss", "Mv", "Silu", "Softmax"}
    assert letters - others == set(FUNCTIONS)
