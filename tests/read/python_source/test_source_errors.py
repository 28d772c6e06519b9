"""Errors of pasted sources: what, where, and what would work."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from ncd.notation.term_reader import TextError
from ncd.read.python_source.interpreter import error_at
from ncd.read.python_source.source_reader import read_source

HEAD = """import torch
from torch import nn
class Net(nn.Module):
    def __init__(self, width=4):
        super().__init__()
        self.layer = nn.Linear(width, 2)
        {first}
    def forward(self, x):
        {second}
        return self.layer(x)
Net()(torch.ones(3, 4))
"""


def told(first: str = "pass", second: str = "pass") -> str:
    with pytest.raises(TextError) as error:
        read_source(HEAD.format(first=first, second=second))
    return str(error.value)


IN_INIT = {
    "self.a = nn.Linaer(2, 3)": "column 18: Linaer of torch.nn is not understood here. Try Linear.",
    "self.a = torch.lod('a')": "column 18: lod of torch is not understood here. Try log.",
    "self.a = torch.zerso(3)": "column 18: zerso of torch is not understood here. Try zeros.",
    "self.a = widht": "column 18: there is nothing called 'widht'. Try width.",
    "assert width > 9, f'{width} is low'": "column 9: AssertionError: 4 is low.",
    "raise ValueError('no')": "column 9: ValueError: no.",
    "self.a = 10 ** 9 ** 9": "column 18: a whole number has more than 256 bits. Try a smaller one.",
    "self.a = [0] * 10 ** 6": "column 18: it is repeated too often. Try fewer repetitions.",
    "self.a = self.layer.__dict__": (
        "column 18: '__dict__' is not understood here. Try a plain attribute."
    ),
    "self.a = self.__dict__": (
        "column 18: '__dict__' is not understood here. Try a plain attribute."
    ),
    "self.a = eval('a')": (
        "column 18: there is nothing called 'eval'. Try a name that is set above."
    ),
    "while True: pass": "column 15: it takes more than 400,000 steps. Try shorter loops.",
    "self.a = self.lair": "column 18: AttributeError: 'Net' object has no attribute 'lair'.",
    "self.a = width[0]": "column 18: int has no items.",
    "self.a = width(3)": "column 18: int is not called here. Try a listed function.",
    "self.a = nn.Linear(2)": (
        "column 18: Linear lacks out_features. Try Linear(in_features=…, out_features=…)."
    ),
    "async def f(): pass": (
        "column 9: an asynchronous function is not understood here. Try plain Python."
    ),
}


@pytest.mark.parametrize(("line", "words"), IN_INIT.items(), ids=IN_INIT)
def test_an_error_while_the_module_is_made(line: str, words: str) -> None:
    said = told(first=line)
    assert said.startswith("line 7, ")
    assert said.removeprefix("line 7, ") == words


IN_FORWARD = {
    "if x.sum() > 0: x = -x": (
        "column 12: this condition depends on the numbers of a tensor, which are not known. "
        "Try torch.where, or a condition on its shape."
    ),
    "n = x.max().item()": (
        "column 13: item() depends on the numbers, which are not known. Try its shape."
    ),
    "n = int(x[0, 0])": "column 13: this number depends on those of a tensor. Try its shape.",
    "x = x.reluu()": "column 13: reluu of a tensor is not understood here. Try relu.",
    "x = x.register_hook(print)": "column 13: register_hook of a tensor is not understood here.",
}


def test_the_full_stop_of_torch_s_message_is_not_doubled() -> None:
    text = (
        "class Net(nn.Module):\n  def forward(self, x, y):\n    return torch.mm(x, y)\n"
        "Net()(torch.ones(4, 32), torch.ones(16, 8))"
    )
    assert str(read_source(text).failure) == (
        "line 3, column 12: RuntimeError: a and b must have same reduction dim, "
        "but got [4, 32] X [16, 8]."
    )


@pytest.mark.parametrize(("line", "words"), IN_FORWARD.items(), ids=IN_FORWARD)
def test_an_error_while_the_module_runs(line: str, words: str) -> None:
    assert told(second=line).startswith(f"line 9, {words}")


def test_a_class_that_needs_arguments_says_which_line_to_add() -> None:
    head = "class Net(nn.Module):\n  def __init__(self, a, b=2): self.a = a.size + a.kind()\n"
    text = f"{head}  def forward(self, x): return x"
    with pytest.raises(TextError) as error:
        read_source(text)
    assert str(error.value) == ("line 1, column 1: Net needs a. Try a last line model = Net(a=…).")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("class Net(nn.Module)\n  pass", "line 1, column 21: expected ':'. Try class Net(nn"),
        (
            "nn.Linear(3, 4))",
            "line 1, column 16: unmatched ')'. Try nn.Linear(3, 4)(torch.randn(2, 3)).",
        ),
        ("import torch\nx = 1", "line 1, column 1: there is no module in it. Try class Net(nn"),
        (
            "class N(nn.Module):\n  def forward(self, x): return x.view(7, 11)",
            "line 1, column 1: no shape of",
        ),
        (
            "class N(nn.Module):\n  def forward(self, x, y): return x.view(7, 11)",
            "line 1, column 1: N takes inputs (x, y), of which no shape is given. Try a last line",
        ),
        (
            "class N(nn.Module):\n  def forward(self, x): return x\n99999x99999",
            "line 3, column 1: an input has more than 16,777,216 numbers. Try 1x3x64x64.",
        ),
        ("a" * 200_001, "line 1, column 1: it has 200,001 letters, at most 200,000 are read."),
        ("x = " + "1+" * 20_000 + "1", "line 1, column 1: it is nested too deep, or holds a"),
        ("x = " + "1, " * 20_000 + "1", "line 1, column"),
    ],
)
def test_a_text_without_a_module_that_runs(text: str, words: str) -> None:
    with pytest.raises(TextError) as error:
        read_source(text)
    assert str(error.value).startswith(words)


@pytest.mark.parametrize(
    ("places", "told"),
    [
        ({}, (1, 1, (1, 1))),
        ({"lineno": 3, "col_offset": 4}, (3, 5, (3, 5))),
        ({"lineno": 3, "col_offset": 4, "end_lineno": 5, "end_col_offset": 6}, (3, 5, (5, 7))),
        ({"lineno": 3, "col_offset": 4, "end_lineno": None}, (3, 5, (3, 5))),
    ],
)
def test_an_error_stands_where_its_part_of_the_text_does(
    places: dict[str, Any], told: tuple[int, int, tuple[int, int]]
) -> None:
    error = error_at(ast.Pass(**places), "it", "other")
    assert (error.line, error.column, error.end) == told
    assert (error.fact, error.cure) == ("it", "other")


def test_the_range_of_an_error_is_told() -> None:
    with pytest.raises(TextError) as error:
        read_source(HEAD.format(first="self.a = nn.Linaer(2, 3)", second="pass"))
    assert (error.value.line, error.value.column, error.value.end) == (7, 18, (7, 27))
