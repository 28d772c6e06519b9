"""Reads definitions of functions and classes, with their decorators, and imports."""

from __future__ import annotations

import ast
from typing import Any

from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_values import (
    Bound,
    ClassValue,
    Function,
    Marked,
    Scope,
    Unknown,
)
from ncd.pytorch_source.calls import call
from ncd.pytorch_source.class_values import class_value
from ncd.pytorch_source.function_values import function_value
from ncd.pytorch_source.libraries import imported, imported_name


def definition(machine: Machine, node: ast.FunctionDef, scope: Scope) -> None:
    made: Any = function_value(machine, node, scope)
    scope.home(node.name).names[node.name] = _decorated(machine, node, made, scope)


def class_definition(machine: Machine, node: ast.ClassDef, scope: Scope) -> None:
    machine.nested, before = 0, machine.nested
    try:
        made: Any = class_value(machine, node, scope)
    finally:
        machine.nested = before
    scope.home(node.name).names[node.name] = made
    made = _decorated(machine, node, made, scope)
    scope.home(node.name).names[node.name] = made


def _decorated(machine: Machine, node: Any, made: Any, scope: Scope) -> Any:
    """Applies the decorators of a function or class; unknown ones have no effect."""
    for decorator in reversed(node.decorator_list):
        if isinstance(decorator, ast.Name) and decorator.id in (
            "property",
            "staticmethod",
            "classmethod",
        ):
            made = Marked(decorator.id, made)
            continue
        if isinstance(decorator, ast.Attribute) and decorator.attr in ("setter", "getter"):
            continue
        with_this = machine.value(decorator, scope)
        if isinstance(with_this, Unknown):
            continue
        made = call(machine, with_this, (made,), {}, scope)
        if made is None or not isinstance(made, Function | ClassValue | Marked | Bound | Unknown):
            raise machine.refuse("this decorator gives neither a function nor a class")
    return made


def import_(machine: Machine, node: ast.Import, scope: Scope) -> None:
    for one in node.names:
        name, value = imported(machine, one.name, one.asname)
        scope.names[name] = value


def import_from(machine: Machine, node: ast.ImportFrom, scope: Scope) -> None:
    for one in node.names:
        path = "." * node.level + (node.module or "")
        listed = path.partition(".")[0] in machine.libraries
        for name, value in imported_name(machine, path, one.name, one.asname).items():
            ours = isinstance(scope.names.get(name), ClassValue | Function) and not listed
            if name not in scope.names or not (ours or isinstance(value, Unknown)):
                scope.names[name] = value  # files that are pasted one after the other
