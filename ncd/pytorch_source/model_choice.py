"""Chooses the module of a source to draw: one that it runs, creates, or defines."""

from __future__ import annotations

import ast
from typing import Any

from torch import nn

from ncd.lang.errors import shown
from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_errors import Raised, error_at
from ncd.pytorch_source.base.source_values import Bound, ClassValue, Function, Interpreted, Scope
from ncd.pytorch_source.class_values import Missing, every_field
from ncd.pytorch_source.function_values import parameters
from ncd.text.reader import TextError

CONFIGS = ("config", "cfg", "args", "conf", "params", "hparams", "model_args")


def model_of(machine: Machine, tree: ast.Module, scope: Scope) -> nn.Module:
    """Returns the module that a source describes; raises TextError if it has none."""
    if machine.ran:
        return machine.ran[-1][0]
    if machine.shown is not None:
        return machine.shown
    made = [value for value in scope.names.values() if isinstance(value, nn.Module)]
    if whole := _whole(made):
        return whole[-1]
    kinds = _classes(tree, scope)
    if not kinds:
        raise TextError("there is no module in it", 1, 1, cure="class Net(nn.Module): …")
    for made_by in kinds:
        if (given := _arguments(machine, made_by, scope)) is not None:
            return _built(machine, tree, made_by, given)
    for function in _builders(tree, scope, kinds[0].name):
        machine.node = function.node
        try:
            value = function()
        except (Raised, TextError):
            continue
        if isinstance(value, nn.Module):
            return value
        if machine.ran:  # a function that tries a module out
            return machine.ran[-1][0]
    raise _lacks(machine, tree, kinds[0])


def _whole(modules: list[nn.Module]) -> list[nn.Module]:
    """Returns the modules that are not part of another; the source's own classes come first."""
    own = [one for one in modules if isinstance(one, Interpreted)] or modules
    inner = {id(part) for one in own for part in list(one.modules())[1:]}
    losses = [one for one in own if type(one).__name__.endswith("Loss")]
    return [one for one in own if id(one) not in inner and one not in losses]


def _classes(tree: ast.Module, scope: Scope) -> list[ClassValue]:
    """Returns the module classes that can run; those that no other class uses come first."""
    found = [
        value
        for value in scope.names.values()
        if isinstance(value, ClassValue) and value.is_module and _forward(value)
    ]
    used = {
        name.id
        for part in tree.body
        if isinstance(part, ast.ClassDef)
        for name in ast.walk(part)
        if isinstance(name, ast.Name) and name.id != part.name
    }
    unused = [one for one in found if one.name not in used]
    return [*reversed(unused), *(one for one in reversed(found) if one not in unused)][:20]


def _forward(value: ClassValue) -> bool:
    layers = nn.Sequential in value.real.__mro__
    return layers or getattr(value.real, "forward", None) is not nn.Module.forward


def _place(tree: ast.Module, name: str) -> ast.AST:
    kinds = (ast.ClassDef, ast.FunctionDef)
    every = (node for node in ast.walk(tree) if isinstance(node, kinds) and node.name == name)
    return next(every, tree)


def _first(value: ClassValue, machine: Machine) -> Function | None:
    """Returns the ``__init__`` of a class."""
    for real in value.real.__mro__:
        own = machine.classes.get(real)
        if own and isinstance(found := own.names.get("__init__"), Function):
            return found
    return None


def _arguments(machine: Machine, value: ClassValue, scope: Scope) -> dict[str, Any] | None:
    """Returns the arguments for a class: none, or an object of a settings class."""
    first = _first(value, machine)
    if first is None:
        return {} if not issubclass(value.real, _BARE) else None
    _, needed = parameters(first)
    given: dict[str, Any] = {}
    for name in needed:
        config = _config(machine, first, name, scope)
        if config is None:
            return None
        given[name] = config()
    return given


_BARE = (nn.Linear, nn.Conv2d, nn.LayerNorm, nn.Embedding, nn.BatchNorm2d)  # they need sizes


def _config(machine: Machine, first: Function, name: str, scope: Scope) -> ClassValue | None:
    """Returns the settings class for an argument, by its type hint or its name."""
    whole = {
        value.name: value
        for value in scope.names.values()
        if isinstance(value, ClassValue) and not value.is_module and _has_defaults(machine, value)
    }
    every = [*first.node.args.posonlyargs, *first.node.args.args, *first.node.args.kwonlyargs]
    hint = next((one.annotation for one in every if one.arg == name), None)
    words = {n.id for n in ast.walk(hint) if isinstance(n, ast.Name)} if hint else set()
    if isinstance(hint, ast.Constant):
        words = {str(hint.value)}
    if by_hint := words & whole.keys():
        return whole[min(by_hint)]
    return next(iter(whole.values())) if name in CONFIGS and len(whole) == 1 else None


def _has_defaults(machine: Machine, value: ClassValue) -> bool:
    if value.fields is None:
        first = _first(value, machine)
        return first is not None and not parameters(first)[1]
    return not any(isinstance(one, Missing) for one in every_field(machine, value).values())


def _built(
    machine: Machine, tree: ast.Module, value: ClassValue, given: dict[str, Any]
) -> nn.Module:
    machine.node = _place(tree, value.name)
    made = value(**given)
    assert isinstance(made, nn.Module)
    return made


def _builders(tree: ast.Module, scope: Scope, name: str) -> list[Function]:
    """Returns the functions that need no arguments and may create a module."""
    found = []
    for node in tree.body:
        value = scope.names.get(node.name) if isinstance(node, ast.FunctionDef) else None
        value = value.function if isinstance(value, Bound) else value
        if isinstance(value, Function) and not parameters(value)[1]:
            found.append(value)
    return found[:10]


def _lacks(machine: Machine, tree: ast.Module, value: ClassValue) -> TextError:
    """Returns the error for a class whose arguments are not known."""
    first = _first(value, machine)
    needed = parameters(first)[1] if first else ["in_features", "out_features"]
    words = ", ".join(f"{name}=…" for name in needed)
    fact = f"{shown(value.name).strip(chr(39))} needs {', '.join(needed)}"
    place = _place(tree, value.name)
    line = getattr(place, "lineno", 1)
    spot = ast.Pass(lineno=line, col_offset=0, end_lineno=line, end_col_offset=6 + len(value.name))
    return error_at(spot, fact, f"a last line model = {value.name}({words})")
