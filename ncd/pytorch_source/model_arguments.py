"""Arguments for a class of modules: settings objects, or values usual for their names."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from functools import partial
from typing import Any

from ncd.pytorch_source.base.machine import Machine
from ncd.pytorch_source.base.source_values import Assumed, ClassValue, Function, Scope, parameters
from ncd.pytorch_source.base.usual_sizes import UNKNOWN, usual
from ncd.pytorch_source.class_values import Missing, every_field
from ncd.pytorch_source.usual.call_sizes import call_sizes
from ncd.pytorch_source.usual.module_arguments import as_hinted, is_part, of_hint, part
from ncd.pytorch_source.usual.size_by_use import size_of

CONFIGS = ("config", "cfg", "args", "conf", "params", "hparams", "model_args", "opt", "configs")
CHANNELS = ("channels", "in_channels", "out_channels", "num_channels")
WIDE = 64
SEVERAL = ("depth", "depths", "num_blocks", "layers")  # that may be one for each stage
UNSET = -1  # a size that is "defined later"


def arguments(
    machine: Machine, tree: ast.Module, value: ClassValue, scope: Scope, usual_too: bool
) -> dict[str, Any] | None:
    """Returns the arguments that a class needs, or None if one is not known.

    Args:
        machine: The interpretation; ``taken`` gets what is assumed.
        tree: The source.
        value: The class.
        scope: The names of the source.
        usual_too: Whether values that are usual for the names of the arguments are taken.
    """
    first = first_step(machine, value)
    if first is None:
        return None if _needs_sizes(value.real) else {}
    sizes = sizes_of_calls(machine, tree, value) if usual_too else {}
    given: dict[str, Any] = {}
    assumed: dict[str, Any] = {}
    for name in parameters(first)[1]:
        if (config := _config(machine, first, name, scope)) is not None:
            fields = _missing(machine, config)
            if fields is None or (fields and not usual_too):
                return None
            given[name] = _filled(machine, config, fields, name)
        elif usual_too and name not in CONFIGS and is_part(machine, first, name, scope):
            if not machine.partly:
                return None
            given[name] = part(machine, first, name, scope)
        elif usual_too and (name in CONFIGS or _is_settings(first, name)):
            given[name] = Assumed(name)
            machine.taken[name] = given[name].own
        elif usual_too and (size := usual_size(machine, first, name, scope, sizes)) is not UNKNOWN:
            given[name] = assumed[name] = as_hinted(first, name, size)
        else:
            return None
    if assumed:
        machine.taken[value.name] = assumed
    return given


def _is_settings(first: Function, name: str) -> bool:
    """Returns whether an ``__init__`` reads only sizes of an argument: ``data.num_classes``."""
    read = [
        one.attr
        for one in ast.walk(first.node)
        if isinstance(one, ast.Attribute) and isinstance(one.value, ast.Name)
        if one.value.id == name
    ]
    return bool(read) and usual(name) is UNKNOWN and all(usual(x) is not UNKNOWN for x in read)


def sizes_of_calls(machine: Machine, tree: ast.Module, value: ClassValue) -> dict[str, Any]:
    """Returns the numbers that the source itself gives to a class, by their names."""
    first = first_step(machine, value)
    return call_sizes(tree, value.name, parameters(first)[0]) if first else {}


def usual_size(
    machine: Machine, first: Function, name: str, scope: Scope, sizes: Mapping[str, Any]
) -> Any:
    """Returns the usual value of an argument of an ``__init__``, or UNKNOWN.

    A number of the source that has the name of the argument comes first, as ``n_embd = 384``;
    then one of ``sizes``, which the source gives elsewhere.
    """
    for known in (name, name.upper()):
        if type(value := scope.names.get(known)) in (int, float):
            return value
    if name in sizes:
        return sizes[name]
    size = size_of(name, first, scope, partial(first_step, machine))
    return of_hint(first, name) if size is UNKNOWN else size


def _needs_sizes(real: type) -> bool:
    """Returns whether the layer of torch that a class extends cannot be made without arguments."""
    takes = list(inspect.signature(real).parameters.values())
    plain = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return any(one.default is one.empty and one.kind in plain for one in takes)


def changed_sizes(
    given: Mapping[str, Any], change: str, defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """Returns other values for assumed sizes: one for each stage, channels that groups divide, or
    sizes whose default is None.
    """
    if change == "unset":
        unset = (name for name, default in defaults.items() if default is None)
        return {name: usual(name) for name in unset if type(usual(name)) is int}
    if change == "several":
        return {name: (value,) * 4 for name, value in given.items() if name in SEVERAL}
    channels = CHANNELS if change == "wide" else ()
    return {name: WIDE for name, value in given.items() if name in channels and value < WIDE}


def needed(machine: Machine, value: ClassValue) -> list[str]:
    """Returns the names of the arguments that a class needs."""
    first = first_step(machine, value)
    return parameters(first)[1] if first else []


def first_step(machine: Machine, value: ClassValue) -> Function | None:
    """Returns the ``__init__`` of a class."""
    for real in value.real.__mro__:
        own = machine.classes.get(real)
        if own and isinstance(found := own.names.get("__init__"), Function):
            return found
    return None


def _config(machine: Machine, first: Function, name: str, scope: Scope) -> ClassValue | None:
    """Returns the settings class for an argument, by its type hint or its name."""
    shared = [*machine.shared.values()]
    whole = {
        value.name: value
        for value in scope.names.values()
        if isinstance(value, ClassValue) and not value.is_module and value not in shared
        if _missing(machine, value) is not None
    }
    every = [*first.node.args.posonlyargs, *first.node.args.args, *first.node.args.kwonlyargs]
    hint = next((one.annotation for one in every if one.arg == name), None)
    words = {n.id for n in ast.walk(hint) if isinstance(n, ast.Name)} if hint else set()
    if isinstance(hint, ast.Constant):
        words = {str(hint.value)}
    if by_hint := words & whole.keys():
        return whole[min(by_hint)]
    return next(iter(whole.values())) if name in CONFIGS and len(whole) == 1 else None


def _missing(machine: Machine, value: ClassValue) -> dict[str, Any] | None:
    """Returns usual values of the settings without a default, or None if one has none."""
    if value.fields is None:
        names = needed(machine, value) if first_step(machine, value) else ["an __init__"]
    else:
        fields = every_field(machine, value)
        names = [name for name, default in fields.items() if isinstance(default, Missing)]
    found = {name: usual(name) for name in names}
    return None if UNKNOWN in found.values() else found


def _filled(machine: Machine, config: ClassValue, fields: dict[str, Any], name: str) -> Any:
    """Returns an object of a settings class; sizes that are to be set later have usual values."""
    made = config(**fields)
    taken = dict(fields)
    for field, value in made.own.items():
        if type(value) is int and value == UNSET and usual(field) is not UNKNOWN:
            made.own[field] = taken[field] = usual(field)
    if taken:
        machine.taken[name] = taken
    return made
