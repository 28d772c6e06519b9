"""The classes and functions of a source that may be its model, the most complete ones first."""

from __future__ import annotations

import ast
from functools import lru_cache

from torch import nn

from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_values import (
    Bound,
    ClassValue,
    Function,
    Scope,
    Unknown,
    parameters,
)


def whole_classes(machine: Machine, tree: ast.Module, scope: Scope) -> list[ClassValue]:
    """Returns the module classes that can run and that no other class uses; else all of them."""
    found = module_classes(machine, scope)
    used = {
        name.id
        for part in tree.body
        if isinstance(part, ast.ClassDef)
        for name in ast.walk(part)
        if isinstance(name, ast.Name) and name.id != part.name
    }
    alone = [one for one in found if one.name not in used]
    return by_completeness(tree, alone or found)[:10]


def module_classes(machine: Machine, scope: Scope) -> list[ClassValue]:
    """Returns the module classes of a source that can run, without those of other files."""
    shared = [*machine.shared.values()]
    shared += [value for parts in machine.parts.values() for value in parts.values()]
    return [
        value
        for value in scope.names.values()
        if isinstance(value, ClassValue) and value.is_module and _forward(value)
        if value not in shared and value.real not in machine.skipped
    ]


def by_completeness(tree: ast.Module, classes: list[ClassValue]) -> list[ClassValue]:
    """Returns classes, those first that are built of most other classes and functions; then the
    last ones.
    """
    reached = _reached(tree)
    last = classes[::-1]
    return sorted(last, key=lambda one: -len(reached.get(one.name, ())))


def most_complete(tree: ast.Module, classes: list[ClassValue]) -> list[ClassValue]:
    """Returns the classes of which none is built of more than another."""
    counts = {name: len(parts) for name, parts in _reached(tree).items()}
    most = max((counts.get(one.name, 0) for one in classes), default=0)
    return [one for one in classes if counts.get(one.name, 0) == most]


@lru_cache(maxsize=1)
def _reached(tree: ast.Module) -> dict[str, set[str]]:
    """Returns the classes and functions of which each one is built, with itself."""
    uses = {
        node.name: {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
        for node in tree.body
        if isinstance(node, ast.ClassDef | ast.FunctionDef)
    }
    reached: dict[str, set[str]] = {}
    for name in uses:
        found, waiting = {name}, [name]
        while waiting:
            new = (uses[waiting.pop()] & uses.keys()) - found
            found |= new
            waiting += new
        reached[name] = found
    return reached


def left_to_others(machine: Machine, tree: ast.Module, scope: Scope) -> list[str]:
    """Returns the names of classes that make a module of the source, and run another file's code.

    Such a class has no ``forward`` of its own, and a base that is not known.
    """
    modules = {one.name for one in module_classes(machine, scope)}
    bases = {
        name: [base for base in value.bases if isinstance(base, Unknown)]
        for name, value in scope.names.items()
        if isinstance(value, ClassValue) and not value.is_module
    }
    making = {
        name
        for name in bases
        for node in ast.walk(place_of(tree, name) if bases[name] else ast.Pass())
        if isinstance(node, ast.FunctionDef) and node.name == "__init__"
        if any(isinstance(x, ast.Call) and _called(x) in modules for x in ast.walk(node))
    }
    return [name for name in bases if name in making]


def _called(call: ast.Call) -> str:
    """Returns the name of what is called; empty for what has none."""
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _forward(value: ClassValue) -> bool:
    layers = nn.Sequential in value.real.__mro__
    return layers or getattr(value.real, "forward", None) is not nn.Module.forward


def place_of(tree: ast.Module, name: str) -> ast.AST:
    """Returns the node of a class or function; the whole source if it has none of that name."""
    kinds = (ast.ClassDef, ast.FunctionDef)
    every = (node for node in ast.walk(tree) if isinstance(node, kinds) and node.name == name)
    return next(every, tree)


def builders_of(tree: ast.Module, scope: Scope, name: str) -> list[Function]:
    """Returns the functions without required arguments that return what they make of a class."""
    reached = _reached(tree)
    return [
        one
        for one in builders(tree, scope)
        if name in reached.get(one.name, ()) and not parameters(one)[1]
        if any(isinstance(node, ast.Return) and node.value for node in ast.walk(one.node))
    ]


def builders(tree: ast.Module, scope: Scope) -> list[Function]:
    """Returns the functions that may create a module."""
    found = []
    for node in tree.body:
        value = scope.names.get(node.name) if isinstance(node, ast.FunctionDef) else None
        value = value.function if isinstance(value, Bound) else value
        if isinstance(value, Function):
            found.append(value)
    return found[:40]


def candidates(machine: Machine, tree: ast.Module, scope: Scope) -> tuple[str, ...]:
    """Returns the names of the classes that can be drawn, the most complete one first."""
    return tuple(
        dict.fromkeys(x.name for x in by_completeness(tree, module_classes(machine, scope)))
    )
