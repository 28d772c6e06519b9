"""Places in a line of source: where its syntax nodes stand, and the arrays that it makes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal, NamedTuple

MAKERS = ("randn", "rand", "zeros", "ones", "empty")  # of arrays, whose arguments are their sizes
Kind = Literal["value", "shape", "line", "mode"]  # a line is a shape such as 1x16#50257


class Place(NamedTuple):
    """A part of a line: the letters before it and before its end, its name and its kind."""

    start: int
    end: int
    name: str
    kind: Kind


class Offsets:
    """The letters of a text before its syntax nodes, whose columns are counted in bytes."""

    def __init__(self, text: str, blanks: int, lines: int = 0, column: int = 0) -> None:
        self.lines = text.strip().split("\n")
        self.first, self.column = lines, column  # where it begins in the text of the nodes
        self.before = [blanks]
        for each in self.lines:
            self.before.append(self.before[-1] + len(each) + 1)

    def start(self, node: ast.expr) -> int:
        """Returns the letters before a node."""
        return self._letters(node.lineno - self.first, node.col_offset)

    def end(self, node: ast.expr) -> int:
        """Returns the letters before the end of a node."""
        return self._letters(
            (node.end_lineno or node.lineno) - self.first, node.end_col_offset or 0
        )

    def _letters(self, line: int, column: int) -> int:
        column -= self.column if line == 1 else 0
        own = self.lines[line - 1].encode()[:column].decode(errors="ignore")
        return self.before[line - 1] + len(own)


def array_sizes(node: ast.Call) -> list[ast.expr] | None:
    """Returns the sizes in a call that makes an array; none if they are no plain numbers.

    Returns None for another call.
    """
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
    args: list[ast.expr] = node.args
    if name == "randint" and args and isinstance(args[-1], ast.Tuple | ast.List):
        args = args[-1:]
    elif name not in MAKERS:
        return None
    if len(args) == 1 and isinstance(args[0], ast.Tuple | ast.List):
        args = args[0].elts
    whole = all(isinstance(one, ast.Constant) and type(one.value) is int for one in args)
    blank = [one.value for one in args if isinstance(one, ast.Constant)] == [...]
    return args if whole or blank else []


def arrays_in(node: ast.expr, name: str) -> Iterator[tuple[ast.expr, str]]:
    """Yields the arrays in an argument, with their names: ``batch['mask']``, ``pair[0]``."""
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant):
                yield from arrays_in(value, f"{name}[{key.value!r}]")
    elif isinstance(node, ast.List | ast.Tuple):
        for i, value in enumerate(node.elts):
            yield from arrays_in(value, f"{name}[{i}]")
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "SimpleNamespace":
        for word in node.keywords:
            yield from arrays_in(word.value, f"{name}.{word.arg}")
    elif isinstance(node, ast.Call):
        yield from [(node, name)] * (array_sizes(node) is not None)
    elif isinstance(node, ast.Constant) and node.value is None:
        yield node, name
