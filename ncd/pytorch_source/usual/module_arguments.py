"""Modules that a class takes as arguments, and a source does not give: boxes."""

from __future__ import annotations

import ast
import re
from typing import Any

from torch import nn

from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_errors import Raised
from ncd.pytorch_source.base.source_values import ClassValue, Function, Scope, Unknown
from ncd.pytorch_source.base.usual_sizes import UNKNOWN, usual
from ncd.pytorch_source.listed.elsewhere import Elsewhere, is_class_name
from ncd.text.reader import TextError

NAMES = re.compile(
    r"(.*_)?(net|network|model|module|encoder|decoder|backbone|transformer|layer|block|generator|"
    r"embed|embedding|trunk|body|head|neck|attention|attn|ff|feed_forward|fn|sublayer|vit|unet)"
)
NUMBERS = {"float": 0.1, "bool": False}  # by the type hint
WHY = "it is a module that the source does not make"


def is_part(machine: Machine, first: Function, name: str, scope: Scope) -> bool:
    """Returns whether an argument of an ``__init__`` is a module, by its type hint or its name."""
    hint = _hint(machine, first, name, scope)
    if hint is not None:
        return _is_class(hint)
    named = NAMES.fullmatch(name.lower()) is not None or _is_called(first, name)
    return usual(name) is UNKNOWN and named


def _is_called(first: Function, name: str) -> bool:
    """Returns whether an object keeps an argument and a method of it calls what is kept."""
    kept = {
        ast.unparse(target)
        for one in ast.walk(first.node)
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.Name) and one.value.id == name
        for target in one.targets
    }
    methods = first.owner.names.values() if first.owner else ()
    nodes = [one.node for one in methods if isinstance(one, Function) and one is not first]
    calls = (one.func for node in nodes for one in ast.walk(node) if isinstance(one, ast.Call))
    return any(isinstance(f, ast.Attribute) and ast.unparse(f) in kept for f in calls)


def of_hint(first: Function, name: str) -> Any:
    """Returns a usual number for an argument of which only the type hint tells; else UNKNOWN."""
    hint = _annotation(first, name)
    return NUMBERS.get(hint.id, UNKNOWN) if isinstance(hint, ast.Name) else UNKNOWN


def as_hinted(first: Function, name: str, value: Any) -> Any:
    """Returns an assumed value, several sizes as a list where the type hint says so."""
    node = _annotation(first, name)
    listed = isinstance(node, ast.Subscript) and ast.unparse(node.value).lower().endswith("list")
    return list(value) if listed and type(value) is tuple else value


def _annotation(first: Function, name: str) -> ast.expr | None:
    given = first.node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    return next((one.annotation for one in every if one.arg == name), None)


def part(machine: Machine, first: Function, name: str, scope: Scope) -> nn.Module:
    """Returns a box for such an argument, with the name of its class where a hint says it."""
    hint = _hint(machine, first, name, scope)
    title = hint.name if isinstance(hint, ClassValue | Unknown) else name
    with machine.made():
        return Elsewhere(machine, Unknown(title, WHY))


def _is_class(hint: Any) -> bool:
    """Returns whether a type hint is a class of modules, or one of another file."""
    if isinstance(hint, ClassValue):
        return hint.is_module
    return hint is nn.Module or (isinstance(hint, Unknown) and is_class_name(hint))


def _hint(machine: Machine, first: Function, name: str, scope: Scope) -> Any:
    """Returns the value of the type hint of an argument; None if it has none that is known."""
    node = _annotation(first, name)
    if not isinstance(node, ast.Name | ast.Attribute):
        return None
    try:
        return machine.value(node, first.scope)
    except (Raised, TextError):
        return None
