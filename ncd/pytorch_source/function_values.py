"""Functions of a source: their creation, and their calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from typing import Any

from ncd.lang.errors import shown
from ncd.lang.near_names import nearest_name
from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_errors import Raised
from ncd.pytorch_source.base.source_values import ClassValue, Function, Scope
from ncd.text.text_errors import TextError

INITIAL = re.compile(
    r"_*(re)?(init|initiali[sz]e|reset)_?(all_)?(parameters?|weights?|params)_?|local_init"
)  # names of functions that set numbers only


class Returned(Exception):
    """The end of a function, with its result."""

    def __init__(self, value: Any) -> None:
        super().__init__()
        self.value = value


class Left(Exception):
    """``break`` or ``continue``; ``loop`` says whether the whole loop ends."""

    def __init__(self, loop: bool) -> None:
        super().__init__()
        self.loop = loop


def lambda_value(machine: Machine, node: ast.Lambda, scope: Scope) -> Function:
    """Returns the function of a ``lambda``."""
    return _function(machine, "lambda", node, scope, None)


def function_value(
    machine: Machine, node: ast.FunctionDef, scope: Scope, owner: ClassValue | None = None
) -> Function:
    """Returns the function of a ``def``, without its decorators."""
    return _function(machine, node.name, node, scope, owner)


def _function(
    machine: Machine,
    name: str,
    node: ast.FunctionDef | ast.Lambda,
    scope: Scope,
    owner: ClassValue | None,
) -> Function:
    given = node.args
    places = [*given.posonlyargs, *given.args]
    last = places[len(places) - len(given.defaults) :]
    defaults = {
        one.arg: machine.value(value, scope)
        for one, value in zip(last, given.defaults, strict=True)
    }
    for one, word in zip(given.kwonlyargs, given.kw_defaults, strict=True):
        if word is not None:
            defaults[one.arg] = machine.value(word, scope)

    def interpret(function: Function, args: Any, named: Any) -> Any:
        return _called(machine, function, args, named)

    return Function(name, node, scope, interpret, defaults, owner)


def _called(
    machine: Machine, function: Function, args: tuple[Any, ...], named: Mapping[str, Any]
) -> Any:
    """Returns the result of a function."""
    scope = Scope(function.scope, bound(machine, function, args, named), function=function)
    if INITIAL.fullmatch(function.name) and not machine.tracing:
        return _initialised(machine, function, scope)
    return _ran(machine, function, scope)


def _initialised(machine: Machine, function: Function, scope: Scope) -> Any:
    """Returns the result of a function that only sets numbers; an error in it does not matter."""
    try:
        return _ran(machine, function, scope)
    except (Raised, TextError):
        if machine.steps > machine.most:
            raise
        return None


def _ran(machine: Machine, function: Function, scope: Scope) -> Any:
    """Returns the result of the body of a function."""
    with machine.inside():
        if isinstance(function.node, ast.Lambda):
            return machine.value(function.node.body, scope)
        yields = _yields(function.node)
        given: list[Any] = []
        if yields:
            scope.names["yield"] = given  # no name, so that the source cannot reach it
        try:
            machine.run(function.node.body, scope)
        except Returned as end:
            return iter(given) if yields else end.value
        except Left:
            raise machine.refuse("a loop is left outside of one", "return") from None
        return iter(given) if yields else None


def _yields(node: ast.FunctionDef) -> bool:
    """Returns whether a function is a generator; it then runs to its end at once."""
    waiting: list[ast.AST] = [*node.body]
    while waiting:
        one = waiting.pop()
        if isinstance(one, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(one, ast.FunctionDef | ast.Lambda | ast.ClassDef):
            waiting += ast.iter_child_nodes(one)
    return False


def bound(
    machine: Machine, function: Function, args: tuple[Any, ...], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns the arguments of a call by name; raises Python's errors if they do not match."""
    given = function.node.args
    places = [one.arg for one in (*given.posonlyargs, *given.args)]
    found: dict[str, Any] = dict(zip(places, args, strict=False))
    if given.vararg:
        found[given.vararg.arg] = tuple(args[len(places) :])
    elif len(args) > len(places):
        raise _misfit(machine, f"{function.name}() takes {len(places)} arguments, not {len(args)}")
    words = {*places, *(one.arg for one in given.kwonlyargs)} - {
        one.arg for one in given.posonlyargs
    }
    more = {name: value for name, value in named.items() if name not in words}
    for name in named.keys() & found.keys() & words:
        raise _misfit(machine, f"{function.name}() is given {name} twice")
    found.update((name, value) for name, value in named.items() if name in words)
    if given.kwarg:
        found[given.kwarg.arg] = more
    elif more:
        name = min(more)
        near = nearest_name(name, sorted(words))
        fact = f"{function.name}() has no argument {shown(name)}"
        raise _misfit(machine, f"{fact}{near and f'; try {near}'}")
    found = {**function.defaults, **found}
    wanted = [*places, *(one.arg for one in given.kwonlyargs)]
    if missing := [name for name in wanted if name not in found]:
        raise _misfit(machine, f"{function.name}() lacks {', '.join(missing)}")
    return found


def _misfit(machine: Machine, words: str) -> Exception:
    return machine.raised(TypeError(words), machine.node)
