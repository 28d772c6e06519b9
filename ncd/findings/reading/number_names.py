"""Names of the whole numbers in a text: of a variable, a default, or an argument of a layer."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator

from torch import nn

Spot = tuple[int, int]  # line and letters before it


def number_names(tree: ast.AST) -> dict[Spot, str]:
    """Returns what each whole number of a text is called, where something calls it by a name.

    >>> number_names(ast.parse("nn.Linear(64)"))
    {(1, 10): 'in_features'}
    """
    names: dict[Spot, str] = {}
    classes = {one.name: one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)}
    for node in ast.walk(tree):
        for value, name in (*defaults(node), *assigned(node)):
            _mark(names, value, name)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            for value, name in arguments(node, classes):
                _mark(names, value, name)
    return names


def _mark(names: dict[Spot, str], node: ast.AST, name: str) -> None:
    if isinstance(node, ast.Constant) and type(node.value) is int:
        names.setdefault((node.lineno, node.col_offset), name)


def defaults(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yields the defaults of a function's arguments."""
    if not isinstance(node, ast.FunctionDef | ast.Lambda):
        return
    takes = node.args
    plain = [*takes.posonlyargs, *takes.args]
    for argument, value in zip(plain[::-1], takes.defaults[::-1], strict=False):
        yield value, argument.arg
    for argument, default in zip(takes.kwonlyargs, takes.kw_defaults, strict=True):
        if default is not None:
            yield default, argument.arg


def assigned(node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
    """Yields the values of plain names and attributes."""
    if isinstance(node, ast.Assign) and len(node.targets) == 1:
        target, value = node.targets[0], node.value
        pairs = [(target, value)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
            pairs = [*zip(target.elts, value.elts, strict=False)]
        for one, given in pairs:
            if isinstance(one, ast.Name | ast.Attribute):
                yield given, one.id if isinstance(one, ast.Name) else one.attr
    elif isinstance(node, ast.AnnAssign) and node.value and isinstance(node.target, ast.Name):
        yield node.value, node.target.id


def arguments(node: ast.Call, classes: dict[str, ast.ClassDef]) -> Iterator[tuple[ast.AST, str]]:
    """Yields the arguments of a layer, or of a class of the text, with their names."""
    for word in node.keywords:
        if word.arg:
            yield word.value, word.arg
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    for parameter, value in zip(_parameters(name, classes), node.args, strict=False):
        if isinstance(value, ast.Starred):
            return
        yield value, parameter


def _parameters(name: str, classes: dict[str, ast.ClassDef]) -> list[str]:
    if name in classes:
        body = classes[name].body
        first = next((f for f in body if getattr(f, "name", "") == "__init__"), None)
        return [a.arg for a in first.args.args][1:] if isinstance(first, ast.FunctionDef) else []
    kind = getattr(nn, name, None)
    if not isinstance(kind, type) or not issubclass(kind, nn.Module):
        return []
    if issubclass(kind, nn.RNNBase):
        return ["input_size", "hidden_size", "num_layers"]
    return [*inspect.signature(kind).parameters]
