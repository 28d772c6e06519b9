"""No name and no text from outside breaks the source of a term."""

from __future__ import annotations

import pytest

from ncd import (
    Add,
    Block,
    Copy,
    Einsum,
    Group,
    Id,
    Linear,
    Named,
    Param,
    Repeat,
    Scan,
    Softmax,
    Split,
)
from tests.support.sampling import sample
from tests.write.torch_source.agreement import agree

KEYWORDS = ["class", "None", "True", "lambda", "match", "type"]
BUILTINS = ["range", "float", "print", "super", "int", "zip", "tuple", "getattr"]
IMPORTED = ["torch", "math", "nn", "F", "Tensor", "einsum", "rearrange", "tensor", "pattern"]
OF_MODULES = ["self", "forward", "training", "half", "step", "layer", "layers", "like", "device"]
UNUSUAL = ["a_", "½", "ﬁ", "fi", "2c", "n2c", "x/s", "x_s", "λ", "é", "日本", "l", "O", "a__b"]
TAKEN = ["x", "out", "n_class", "class_2", "x_h"]
LAYERS = ["forward", "training", "state_dict", "T_destination", "like", "step", "x", "self"]
LAYERS += ["F", "nn", "torch", "print", "l", "O", "λ", "ﬁ"]


@pytest.mark.parametrize("name", KEYWORDS + BUILTINS + IMPORTED + OF_MODULES + UNUSUAL + TAKEN)
def test_axes_of_any_name(name: str) -> None:
    others = {"n2c", "x_s", "fi", "n_class", "class", "range", "m"} - {name}
    for a, b in sample(((name, other) for other in sorted(others)), 2, name):
        agree(Linear(f"{a}:3 -> {b}:4 k:2", "Q") >> Linear(f"{b} k -> {a}:3 j:2", "O"))
        agree(Einsum(f"{a}:2 {b}:3, {b} j:2 -> {a} j") >> Softmax(a))
        agree(Group(f"{a}:2 {b}:3 -> z") >> Split(f"z -> {b}:3 {a}:2"))


def test_identifiers_that_collide_stay_apart() -> None:
    agree(Einsum("2c:3 n2c:2, n2c k:2 -> 2c k"))
    agree(Einsum("x/s:3 x_s:2, x_s k:2 -> x/s k"))
    agree(Einsum("x:2x2 x_h:2, x_h x_w:3 -> x x_w") >> Linear("x -> x/s:3 x_s:2", "M"))


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_any_name(name: str) -> None:
    body, cell = Linear("m:3 -> m:3", name), Id("m, m") >> Add() >> Linear("m -> m", name)
    scan = Id("m:3, t:2 m") >> Scan(cell >> Copy("m"), "t", name)
    parts = (
        body >> Linear("m -> m", name),
        Repeat((body, body), name),
        Repeat((body, body), name, shared=True),
        Block(body, name=name),
        Param("m:3", name) >> Softmax("m"),
        scan,
    )
    for term in parts:
        agree(term)


@pytest.mark.parametrize("title", ["a\\", '"""', "' # \\N{BULLET}", "日本", "#", "x" * 150])
def test_text_from_outside_stays_text(title: str) -> None:
    first = Block(Linear("m:3 -> k:2", "Q"), title)
    term = first >> Named("k", title) >> Softmax("k")
    agree(term)
    agree(Repeat((Block(term >> Linear("k -> m:3", "back"), title),) * 2))
    agree(Block(term, title, name="part"))


def test_long_names_do_not_split_a_text() -> None:
    names = [letter * 30 for letter in "abcde"]
    term = Group(f"{' '.join(f'{name}:2' for name in names)} -> z")
    agree(term)
