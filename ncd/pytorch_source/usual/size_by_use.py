"""Usual values of arguments whose names say nothing, by the layers that are given them."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from typing import Any

from torch import nn

from ncd.pytorch_source.base.source_values import ClassValue, Function, Scope, parameters
from ncd.pytorch_source.base.usual_sizes import UNKNOWN, usual

LOOPS, TURNS = "range", 2  # a number of turns
LAYERS: dict[str, Any] = {"p": 0.0, "normalized_shape": 64, "groups": 1}  # arguments of torch.nn
DEEP = 3  # classes inside of each other

Begins = Callable[[ClassValue], Function | None]


def size_of(name: str, function: Function, scope: Scope, begins: Begins, deep: int = DEEP) -> Any:
    """Returns the usual value of an argument: by its name, else by what it is given to.

    Args:
        name: The argument.
        function: The function that has it.
        scope: The names of the source.
        begins: Returns the ``__init__`` of a class.
        deep: How many classes may hand it on.

    Returns:
        The value, the largest of several numbers; UNKNOWN where nothing tells.
    """
    named = usual(name)
    if deep == 0 or (named is not UNKNOWN and len(name) > 1):  # a letter says little
        return named
    found = [
        value
        for kind, place in dict.fromkeys(_uses(function.node, name))
        if (value := _of_use(kind, place, scope, begins, deep)) is not UNKNOWN
    ]
    numbers = [one for one in found if type(one) in (int, float)]
    return max(numbers) if numbers else (*found, named)[0]


def _uses(node: ast.AST, name: str) -> Iterator[tuple[str, int | str]]:
    """Yields the classes and functions that are given an argument as it is, and its place there."""
    for call in ast.walk(node):
        if not isinstance(call, ast.Call):
            continue
        kind = call.func.attr if isinstance(call.func, ast.Attribute) else None
        kind = call.func.id if isinstance(call.func, ast.Name) else kind
        given = [*enumerate(call.args), *((word.arg, word.value) for word in call.keywords)]
        for place, value in given:
            if kind and place is not None and isinstance(value, ast.Name) and value.id == name:
                yield kind, place


def _of_use(kind: str, place: int | str, scope: Scope, begins: Begins, deep: int) -> Any:
    """Returns the usual value of what stands at a place of a call, or UNKNOWN."""
    if kind == LOOPS:
        return TURNS
    value, layer = scope.names.get(kind), getattr(nn, kind, None)
    if isinstance(value, ClassValue):
        inner = begins(value)
        names = parameters(inner)[0] if inner else []
    elif isinstance(layer, type) and issubclass(layer, nn.Module):
        inner, names = None, [*inspect.signature(layer).parameters]
    else:
        return UNKNOWN
    own = place if isinstance(place, str) else (*names, *[""] * 99)[place]
    if inner is not None:
        return size_of(own, inner, scope, begins, deep - 1)
    return LAYERS.get(own, usual(own))
