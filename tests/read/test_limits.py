"""Limits of what is read, at their edges."""

from __future__ import annotations

import ast

import pytest

from ncd.read.configs import config_reader
from ncd.read.python_source import source_tree, torch_names
from ncd.read.python_source.interpreter import Interpreter
from ncd.read.python_source.source_reader import new_machine
from tests.support.limits import Limit


def computed(machine: Interpreter, *tensors: int) -> None:
    for numbers in tensors:
        torch_names._count(machine, numbers)


CONFIG, SOURCE = '{"model_type": "gpt2"}', "x = [1, 2]"

LIMITS = (
    Limit(
        config_reader,
        "LONGEST",
        len(CONFIG),
        lambda: config_reader.read_config(CONFIG),
        "the text has 22 letters. Try 21 at most.",
    ),
    Limit(
        source_tree,
        "LONGEST",
        len(SOURCE),
        lambda: source_tree.syntax_tree(SOURCE),
        "line 1, column 1: it has 10 letters, at most 9 are read",
    ),
    Limit(
        source_tree,
        "NODES",
        len([*ast.walk(ast.parse(SOURCE))]),
        lambda: source_tree.syntax_tree(SOURCE),
        "parts. Try a shorter text.",
    ),
    Limit(
        torch_names,
        "NUMBERS",
        6,
        lambda: torch_names._count(new_machine(), 6),
        "it computes a tensor of 6 numbers. Try smaller sizes.",
    ),
    Limit(
        torch_names,
        "WORK",
        6,
        lambda: computed(new_machine(), 2, 4),
        "it computes a tensor of 4 numbers. Try smaller sizes.",
    ),
    Limit(
        torch_names,
        "NUMBERS",
        5,
        lambda: torch_names.limited_linspace(new_machine(), 0, 1, 5),
        "it is a tensor of more than 4 numbers",
    ),
    Limit(
        torch_names,
        "NUMBERS",
        5,
        lambda: torch_names.limited_arange(new_machine(), 5),
        "it is a tensor of more than 4 numbers",
    ),
)


@pytest.mark.parametrize("limit", LIMITS, ids=lambda limit: limit.name)
def test_what_is_larger_than_a_limit_is_refused(limit: Limit) -> None:
    limit.check()
