"""Sizes with which a source itself makes its classes, in functions that are not called."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

Scopes = tuple[ast.Module | ast.FunctionDef, ...]  # around a call, the outer ones first
LARGEST = 2**16  # of a size


def call_sizes(tree: ast.Module, kind: str, names: Sequence[str]) -> dict[str, Any]:
    """Returns the numbers that a source gives to a class, in the call that gives most of them.

    Args:
        tree: The source.
        kind: The name of the class.
        names: The names of its arguments, in their order.

    Returns:
        Numbers by the names of the arguments. Each stands in the call, or is the value or the
        default of a name of the function around it.

    >>> text = "def make(n=5):\\n    width = 8\\n    return Net(width, n, other)"
    >>> call_sizes(ast.parse(text), "Net", ("dim", "depth", "kind"))
    {'dim': 8, 'depth': 5}
    """
    found = [_sizes(call, around, names) for call, around in _calls(tree).get(kind, ())]
    return max(found, key=len, default={})


@lru_cache(maxsize=1)
def _calls(tree: ast.Module) -> dict[str, list[tuple[ast.Call, Scopes]]]:
    """Returns the calls by the names of what they call, with what stands around each."""
    found: dict[str, list[tuple[ast.Call, Scopes]]] = defaultdict(list)
    waiting: list[tuple[ast.AST, Scopes]] = [(tree, ())]
    while waiting:
        node, around = waiting.pop()
        if isinstance(node, ast.Module | ast.FunctionDef):
            around = (*around, node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found[node.func.id].append((node, around))
        waiting += [(child, around) for child in ast.iter_child_nodes(node)]
    return found


def _sizes(call: ast.Call, around: Scopes, names: Sequence[str]) -> dict[str, Any]:
    by_place = zip(names, call.args, strict=False)
    by_name = ((word.arg, word.value) for word in call.keywords if word.arg in names)
    every = ((str(name), _number(value, around)) for name, value in (*by_place, *by_name))
    return {name: number for name, number in every if number is not None}


def _number(node: ast.expr, around: Scopes) -> int | float | None:
    """Returns the number that an expression is known to have; None if it is not known."""
    if isinstance(node, ast.Constant):
        fits = type(node.value) in (int, float) and 0 <= node.value < LARGEST  # type: ignore[operator]
        return node.value if fits else None  # type: ignore[return-value]
    if not isinstance(node, ast.Name):
        return None
    values = [each for scope in around for each in _values(scope, node.id)]
    return _number(values[-1], ()) if values else None


def _values(scope: ast.Module | ast.FunctionDef, name: str) -> Iterator[ast.expr]:
    """Yields the default of an argument, and what is assigned to a name in a function's body."""
    if isinstance(scope, ast.FunctionDef):
        given = scope.args
        plain = [*given.posonlyargs, *given.args]
        yield from _default(plain[len(plain) - len(given.defaults) :], given.defaults, name)
        yield from _default(given.kwonlyargs, given.kw_defaults, name)
    lines = ast.walk(scope) if isinstance(scope, ast.FunctionDef) else scope.body
    for line in (one for one in lines if isinstance(one, ast.Assign)):
        if any(isinstance(one, ast.Name) and one.id == name for one in line.targets):
            yield line.value


def _default(
    given: Sequence[ast.arg], defaults: Sequence[ast.expr | None], name: str
) -> Iterator[ast.expr]:
    pairs = zip(given, defaults, strict=True)
    yield from (value for one, value in pairs if one.arg == name and value is not None)
