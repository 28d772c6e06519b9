"""Chooses the module of a source to draw: one that it runs, creates, or defines."""

from __future__ import annotations

import ast
import gc
from itertools import product
from typing import Any

from torch import nn

from ncd.lang.errors import shown
from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.model_classes import (
    builders,
    builders_of,
    by_completeness,
    left_to_others,
    module_classes,
    most_complete,
    place_of,
    whole_classes,
)
from ncd.pytorch_source.base.source_errors import NotKnown, Raised, Stopped, error_at, told
from ncd.pytorch_source.base.source_values import (
    Assumed,
    ClassValue,
    Function,
    Interpreted,
    Scope,
    parameters,
)
from ncd.pytorch_source.base.usual_sizes import UNKNOWN, usual
from ncd.pytorch_source.listed.elsewhere import Elsewhere
from ncd.pytorch_source.model_arguments import (
    arguments,
    changed_sizes,
    first_step,
    needed,
    sizes_of_calls,
    usual_size,
)
from ncd.pytorch_source.usual.assumed_call import call_of, of_other_values
from ncd.text.call_form import ModuleCall
from ncd.text.reader import TextError


def model_of(machine: Machine, tree: ast.Module, scope: Scope) -> nn.Module:
    """Returns the module that a source describes; raises TextError if it has none."""
    if (chosen := _named_last(tree, scope)) is not None:
        return _chosen_one(machine, tree, scope, chosen)
    alone = whole_classes(machine, tree, scope)
    if (tried := _tried(machine, alone)) is not None:
        return tried
    if machine.shown is not None:
        return machine.shown
    made = [value for value in scope.names.values() if isinstance(value, nn.Module)]
    if whole := _whole(made):
        return whole[-1]
    if not alone:
        cure = "class Net(nn.Module): …, or a layer such as nn.Linear(8, 3)"
        raise TextError("there is no module in it", 1, 1, cure=cure)
    return _made(machine, tree, scope, alone)


def _named_last(tree: ast.Module, scope: Scope) -> ClassValue | None:
    """Returns the class whose name is the last line of a source: it is the one to draw."""
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr) or not isinstance(last.value, ast.Name):
        return None
    value = scope.names.get(last.value.id)
    return value if isinstance(value, ClassValue) and value.is_module else None


def _chosen_one(machine: Machine, tree: ast.Module, scope: Scope, chosen: ClassValue) -> nn.Module:
    """Returns an object of a class; raises the error of making one, or the one for its sizes."""
    failures: list[Exception] = []
    if chosen.real not in machine.skipped:
        for usual_too in (False, True):
            if made := _ready(machine, tree, scope, [chosen], usual_too, failures):
                return made
    raise failures[0] if failures else _lacks(machine, tree, scope, chosen)


def _made(machine: Machine, tree: ast.Module, scope: Scope, alone: list[ClassValue]) -> nn.Module:
    """Returns an object of the first class that can be made, or what a function makes of one."""
    failures: list[Exception] = []
    most = most_complete(tree, alone)
    for name in left_to_others(machine, tree, scope):
        machine.instead.setdefault(name, "what it does stands in another file")
    for function in builders_of(tree, scope, alone[0].name):
        if (found := _result(machine, function, False, alone, failures)) is not None:
            return found
    for usual_too in (False, True):
        if not usual_too and (made := _ready(machine, tree, scope, most, False, failures)):
            return made
        for function in builders(tree, scope):
            if (found := _result(machine, function, usual_too, alone, failures)) is not None:
                return found
        wrong = next((x for x in failures if not isinstance(x, NotKnown)), None)
        if wrong is not None and not usual_too:
            raise wrong
        if usual_too and (made := _ready(machine, tree, scope, alone, True, failures)):
            return made
    if needs := [n for n, x in _sizes(machine, tree, scope, alone[0]).items() if x is UNKNOWN]:
        machine.instead.setdefault(alone[0].name, f"it needs {' and '.join(needs)}")
    inner = [one for one in module_classes(machine, scope) if one not in alone]
    for partly, classes in ((False, by_completeness(tree, inner)), (True, alone)):
        machine.partly = partly
        for one in classes:
            made = _ready(machine, tree, scope, [one], True, failures)
            if made is not None and (partly or learns(made)):
                return made
    raise failures[0] if failures else _lacks(machine, tree, scope, alone[0])


def _ready(
    machine: Machine,
    tree: ast.Module,
    scope: Scope,
    classes: list[ClassValue],
    usual_too: bool,
    failures: list[Exception],
) -> nn.Module | None:
    """Returns an object of the first class that can be made; an error of assumed sizes counts not.

    ``failures`` gets such errors, and those of what comes from other files.
    """
    changes = ("", "unset", "several", "wide") if usual_too else ("", "several", "wide")
    for each, change in product(classes, changes):
        before, presumed = dict(machine.taken), dict(machine.presumed)
        given = arguments(machine, tree, each, scope, usual_too)
        first = first_step(machine, each)
        changed = changed_sizes(given or {}, change, first.defaults if first else {})
        if given is None or (change and not changed):
            machine.taken = before
            continue
        if failures and any(isinstance(x, Assumed) for x in given.values()):
            continue
        if change:
            machine.taken[each.name] = given = {**given, **changed}
        try:
            made = _built(machine, tree, each, given)
            machine.maker = made, each.name, given
            machine.instead.pop(each.name, None)
            return made
        except (Raised, TextError) as error:
            assumed = machine.taken.keys() - before.keys()
            if isinstance(error, Stopped) or (usual_too and not assumed):
                raise
            machine.failure = None
            failures.append(error.with_traceback(None))
            machine.taken, machine.presumed = before, presumed
            machine.instead.setdefault(each.name, _fact(error))
            gc.collect()
    return None


def _fact(error: Raised | TextError) -> str:
    """Returns an error with its line, as part of a sentence."""
    found = told(error) if isinstance(error, Raised) else error
    return f"line {found.line}: {found.fact}"


def _tried(machine: Machine, alone: list[ClassValue]) -> nn.Module | None:
    """Returns the last module that the source runs on an input: no part of another, no loss."""
    whole = tuple(each.real for each in alone)
    ran = [module for module, _, _ in machine.ran]
    direct = [module for module in ran if not alone or id(module) in machine.direct]
    for one in reversed(ran):
        while id(one) not in machine.direct and id(one) in machine.parents:
            one = machine.parents[id(one)]
        if isinstance(one, whole) and any(True for _ in one.parameters()):
            return one
    return max(reversed(direct), key=lambda one: any(True for _ in one.parameters()), default=None)


def _result(
    machine: Machine,
    function: Function,
    usual_too: bool,
    alone: list[ClassValue],
    failures: list[Exception],
) -> nn.Module | None:
    """Returns the module that a function creates or tries out, or None."""
    given = {name: usual(name) for name in parameters(function)[1]}
    if any(type(value) is tuple for value in given.values()):
        return None
    if UNKNOWN in given.values() or bool(given) is not usual_too:
        return None
    machine.node = function.node
    try:
        value = function(**given)
    except (Raised, TextError) as error:
        if not given and getattr(error, "inside", False):
            failures.append(error.with_traceback(None))
        value = None
    if (tried := _tried(machine, alone)) is not None:
        return tried
    machine.ran.clear()
    kinds = tuple(each.real for each in alone) if given else (nn.Module,)
    if isinstance(value, nn.Module) and any(isinstance(x, kinds) for x in value.modules()):
        machine.taken.update({function.name: given} if given else {})
        machine.maker = value, function.name, given
        return value
    gc.collect()  # the parts made so far, which refer to each other
    return None


def learns(model: nn.Module) -> bool:
    """Returns whether a module has weights, here or in a box: others say little of a source."""
    parts = (*model.parameters(), *model.modules())
    return any(isinstance(one, nn.Parameter | Elsewhere) for one in parts)


def _whole(modules: list[nn.Module]) -> list[nn.Module]:
    """Returns the modules that are not part of another; the source's own classes come first."""
    own = [one for one in modules if isinstance(one, Interpreted)] or modules
    inner = {id(part) for one in own for part in list(one.modules())[1:]}
    losses = [one for one in own if type(one).__name__.endswith("Loss")]
    return [one for one in own if id(one) not in inner and one not in losses]


def _built(
    machine: Machine, tree: ast.Module, value: ClassValue, given: dict[str, Any]
) -> nn.Module:
    machine.node = place_of(tree, value.name)
    try:
        made = value(**given)
    except Stopped:
        raise
    except (Raised, TextError) as raised:
        if not machine.taken:
            raise
        raise of_other_values(machine, raised, value.name, given) from None
    assert isinstance(made, nn.Module)
    return made


def _sizes(machine: Machine, tree: ast.Module, scope: Scope, value: ClassValue) -> dict[str, Any]:
    """Returns the usual values of the arguments that a class needs; UNKNOWN for what has none."""
    names = needed(machine, value) or ["in_features", "out_features"]
    first, sizes = first_step(machine, value), sizes_of_calls(machine, tree, value)
    return {n: usual_size(machine, first, n, scope, sizes) if first else usual(n) for n in names}


def _lacks(machine: Machine, tree: ast.Module, scope: Scope, value: ClassValue) -> TextError:
    """Returns the error for a class whose arguments are not known."""
    known = _sizes(machine, tree, scope, value)
    words = ", ".join(f"{n}={'…' if v is UNKNOWN else repr(v)}" for n, v in known.items())
    fact = f"{shown(value.name).strip(chr(39))} needs {', '.join(known)}"
    line = getattr(place_of(tree, value.name), "lineno", 1)
    spot = ast.Pass(lineno=line, col_offset=0, end_lineno=line, end_col_offset=6 + len(value.name))
    error = error_at(spot, fact, f"a last line model = {value.name}({words})")
    given = {name: ... if each is UNKNOWN else each for name, each in known.items()}
    error.call = ModuleCall(call_of(value.name, given, machine), tuple(known), (), value.name)
    return error
