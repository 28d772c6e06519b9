"""Assignments to names, to several of them, to attributes and to items."""

from __future__ import annotations

import ast
from typing import Any

from ncd.read.python_source.interpreter import Interpreter, Scope, UnknownValue
from ncd.read.python_source.other_files import usual_number


def assign(machine: Interpreter, target: ast.expr, value: Any, scope: Scope) -> None:
    """Assigns a value to a name, or to several."""
    if isinstance(target, ast.Name):
        if machine.building and (size := usual_number(value, target.id)) is not None:
            machine.assumed_values[target.id], value = str(size), size
        scope.home(target.id).names[target.id] = value
    elif isinstance(target, ast.Tuple | ast.List):
        _unpack(machine, target, value, scope)
    else:
        setter = machine.statements[type(target)]
        setter(machine, (target, value), scope)


def _unpack(machine: Interpreter, target: ast.Tuple | ast.List, value: Any, scope: Scope) -> None:
    """Gives each of several names its value."""
    if isinstance(value, UnknownValue) and not machine.tracing:
        for part in target.elts:
            assign(machine, part.value if isinstance(part, ast.Starred) else part, value, scope)
        return
    parts = target.elts
    one_of_several = any(value is one for one in machine.box_results)
    if one_of_several and len(value) != len(parts):  # each is assumed to be like the input
        value = [value] * len(parts)
    found = machine.items(value)
    star = next((i for i, part in enumerate(parts) if isinstance(part, ast.Starred)), None)
    if star is not None:
        after = len(parts) - star - 1
        end = len(found) - after
        found = [*found[:star], found[star:end], *found[end:]] if end >= star else found
    if len(found) != len(parts):
        error = ValueError(f"{len(found)} values for {len(parts)} names")
        raise machine.source_error(error, target)
    for part, item in zip(parts, found, strict=True):
        assign(machine, part.value if isinstance(part, ast.Starred) else part, item, scope)
