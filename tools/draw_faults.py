"""Draws one-token mistakes at random from the code of ``ncd/``, by a seed."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from pathlib import Path

from tools.fault_list import Fault

ROOT = Path(__file__).resolve().parent.parent
OPERATORS: dict[type[ast.AST], tuple[str, str]] = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
    ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"),
    ast.Is: ("is", "is not"),
    ast.IsNot: ("is not", "is"),
    ast.And: ("and", "or"),
    ast.Or: ("or", "and"),
    ast.Add: ("+", "-"),
    ast.Sub: ("-", "+"),
    ast.Mult: ("*", "+"),
    ast.Div: ("/", "*"),
    ast.FloorDiv: ("//", "*"),
    ast.Mod: ("%", "//"),
}
FUNCTIONS = {"any": "all", "all": "any", "min": "max", "max": "min"}
NUMBERS = {0: "1", 1: "2", 2: "1"}
Span = tuple[int, int, str]  # first and last offset in the source, and what is put there


def draw(count: int, seed: int, folder: Path = ROOT / "ncd") -> tuple[Fault, ...]:
    """Returns so many faults, at most one a file; the same for the same seed and code."""
    chance = random.Random(seed)
    lines = {file: file.read_text().count("\n") + 1 for file in sorted(folder.rglob("*.py"))}
    chosen: list[Fault] = []
    while lines and len(chosen) < count:
        [file] = chance.choices([*lines], [*lines.values()])
        del lines[file]
        if spans := list(mistakes(file.read_text())):
            chosen.append(_fault(file, chance.choice(spans), folder))
    return tuple(chosen)


def mistakes(source: str) -> Iterator[Span]:
    """Yields every one-token mistake that can be made in the functions of a source.

    >>> source = "def f(a):\\n    return a[1:] if a and len(a) < 3 else None\\n"
    >>> [(source[i:j], new) for i, j, new in mistakes(source)]
    [('and', 'or'), ('<', '<='), ('1', '2')]
    """
    starts = [0]
    for row in source.encode().splitlines(keepends=True):
        starts.append(starts[-1] + len(row))
    text = source.encode()
    for node in _nodes(ast.parse(source)):
        for first, last, new in _tokens(node, text, starts):
            yield len(text[:first].decode()), len(text[:last].decode()), new


def _nodes(tree: ast.Module) -> Iterator[ast.AST]:
    """Yields what functions do, without their annotations and decorators."""
    for function in ast.walk(tree):
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
            todo: list[ast.AST] = list(function.body)
            while todo:
                node = todo.pop(0)
                if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                    continue  # met by the walk
                if isinstance(node, ast.JoinedStr):
                    continue  # before Python 3.12 the places in it are wrong
                if isinstance(node, ast.AnnAssign):
                    todo[:0] = [node.value] if node.value else []
                    continue
                yield node
                todo[:0] = ast.iter_child_nodes(node)


def _tokens(node: ast.AST, text: bytes, starts: list[int]) -> Iterator[Span]:
    """Yields the mistakes at one node, as offsets in bytes."""

    def at(line: int, column: int) -> int:
        return starts[line - 1] + column

    def begin(e: ast.expr) -> int:
        return at(e.lineno, e.col_offset)

    def end(e: ast.expr) -> int:
        return at(e.end_lineno or 0, e.end_col_offset or 0)

    def between(left: ast.expr, operator: ast.AST, right: ast.expr) -> Iterator[Span]:
        if (words := OPERATORS.get(type(operator))) is not None:
            place = text.find(words[0].encode(), end(left), begin(right))
            if place >= 0:
                yield place, place + len(words[0]), words[1]

    match node:
        case ast.Compare(left=left, ops=[operator, *_], comparators=[right, *_]):
            yield from between(left, operator, right)
        case ast.BoolOp(op=operator, values=[left, right, *_]):
            yield from between(left, operator, right)
        case ast.BinOp(left=left, op=operator, right=right):
            yield from between(left, operator, right)
        case ast.UnaryOp(op=ast.Not()):
            first = at(node.lineno, node.col_offset)
            rest = text[first + len("not") :]  # an operand may begin with a bracket
            yield first, len(text) - len(rest.lstrip()), ""
        case ast.Call(func=ast.Name(id=name)) if name in FUNCTIONS:
            yield begin(node.func), end(node.func), FUNCTIONS[name]
        case ast.Constant(value=int(value)) if type(value) is int and value in NUMBERS:
            if text[begin(node) : end(node)] == str(value).encode():
                yield begin(node), end(node), NUMBERS[value]


def _fault(file: Path, span: Span, folder: Path) -> Fault:
    """Returns a fault whose text, with as many lines around it as needed, occurs once."""
    source, (first, last, new) = file.read_text(), span
    i = source.rfind("\n", 0, first) + 1
    j = last + (source[last:] + "\n").find("\n")
    while source.count(source[i:j]) > 1:
        i = source.rfind("\n", 0, max(i - 1, 0)) + 1
        j += (source[j + 1 :] + "\n").find("\n") + 1
    old = source[i:j]
    return Fault(str(file.relative_to(folder)), old, source[i:first] + new + source[last:j])
