"""Reads expressions, with one function for each kind of syntax node."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from typing import Any

from torch import Tensor, nn

from ncd.errors import short_repr
from ncd.read.python_source.attributes import attribute, member
from ncd.read.python_source.functions_and_classes import call, lambda_value
from ncd.read.python_source.interpreter import (
    AssumedSettings,
    BuiltinFunction,
    ClassValue,
    Interpreter,
    NamedResults,
    Namespace,
    Scope,
    UnknownValue,
)
from ncd.read.python_source.number_lists import number_list
from ncd.read.python_source.other_files import (
    ExternalModule,
    assumed_setting,
    imported_from,
    no_number,
    several_results,
    usual_number,
)
from ncd.read.python_source.source_operators import (
    UNARY,
    binary_result,
    comparison_result,
    f_string_text,
    kind_name,
    truth,
)
from ncd.read.python_source.usual_sizes import NO_USUAL_VALUE, usual_value
from ncd.words import nearest_name


def _constant(machine: Interpreter, node: ast.Constant, scope: Scope) -> Any:
    if isinstance(node.value, bytes):
        raise machine.refuse("bytes are not understood here", "a text")
    return machine.checked_size(node.value)


KNOWN_LIBRARIES = ("collections", "functools", "typing")  # whose names mean the same everywhere


def _name(machine: Interpreter, node: ast.Name, scope: Scope) -> Any:
    found = scope.find(node.id)
    if found is not None:
        return found.names[node.id]
    if node.id in machine.names:
        return machine.names[node.id]
    if machine.star_import:
        spaces = (machine.libraries[one].names for one in KNOWN_LIBRARIES)
        for names in spaces:  # which such a file hands on as they are
            if node.id in names:
                return names[node.id]
        return UnknownValue(node.id, f"it may come from {machine.star_import}, which is not read")
    if (file := imported_from(machine.text).get(node.id)) is not None:
        why = f"it is imported from {file}, which is not read"
        return UnknownValue(node.id, why)  # where its library is there, or on another way
    known = [*scope.names, *scope.top.names, *machine.names]
    usual = "a name that is set above"
    cure = nearest_name(node.id, known, usual)
    find = machine.name_without_import
    value = find(machine, node.id, cure != usual) if find is not None else None
    if value is not None:
        return value
    raise machine.refuse(f"there is nothing called {short_repr(node.id)}", cure)


def _items(machine: Interpreter, nodes: list[ast.expr], scope: Scope) -> Iterator[Any]:
    for node in nodes:
        if isinstance(node, ast.Starred):
            yield from machine.items(machine.value(node.value, scope))
        else:
            yield machine.value(node, scope)


def _arguments(machine: Interpreter, nodes: list[ast.expr], scope: Scope) -> Iterator[Any]:
    """Yields the arguments of a call; several layers of another file are one that is not known."""
    for node in nodes:
        if isinstance(node, ast.Starred) and machine.building:
            value = machine.value(node.value, scope)
            yield from (value,) if isinstance(value, UnknownValue) else machine.items(value)
        else:
            yield from _items(machine, [node], scope)


def _tuple(machine: Interpreter, node: ast.Tuple, scope: Scope) -> Any:
    return tuple(_items(machine, node.elts, scope))


def _list(machine: Interpreter, node: ast.List, scope: Scope) -> Any:
    return list(_items(machine, node.elts, scope))


def _set(machine: Interpreter, node: ast.Set, scope: Scope) -> Any:
    return machine.attempt(set, list(_items(machine, node.elts, scope)))


def _dict(machine: Interpreter, node: ast.Dict, scope: Scope) -> Any:
    found: dict[Any, Any] = {}
    for key, value in zip(node.keys, node.values, strict=True):
        if key is None:
            found.update(mapping(machine, machine.value(value, scope)))
        else:
            name = machine.value(key, scope)
            machine.attempt(found.__setitem__, name, machine.value(value, scope))
    return found


def mapping(machine: Interpreter, value: Any) -> dict[Any, Any]:
    """Returns what ``**`` spreads."""
    if isinstance(value, UnknownValue):
        if machine.strict:
            machine.assumed_values[value.name] = "nothing"
        return {}
    if not isinstance(value, dict):
        raise machine.refuse(f"** stands before {kind_name(value)}, which is no dict", "a dict")
    return value


def _attribute(machine: Interpreter, node: ast.Attribute, scope: Scope) -> Any:
    return attribute(machine, machine.value(node.value, scope), node.attr)


def _call(machine: Interpreter, node: ast.Call, scope: Scope) -> Any:
    function = machine.value(node.func, scope)
    args = tuple(_arguments(machine, node.args, scope))
    named: dict[str, Any] = {}
    for word in node.keywords:
        value = machine.value(word.value, scope)
        given = mapping(machine, value) if word.arg is None else {word.arg: value}
        if twice := named.keys() & given.keys():
            raise machine.refuse(f"{short_repr(min(map(str, twice)))} is given twice")
        named.update(given)
    if type(function) in (int, bool):
        function = no_number(machine, node.func) or function
    return call(machine, function, args, named, scope)


def _subscript(machine: Interpreter, node: ast.Subscript, scope: Scope) -> Any:
    value = machine.value(node.value, scope)
    if isinstance(value, Namespace | BuiltinFunction | type | ClassValue):
        return value  # a type hint, such as tuple[int]
    if type(value) is int:
        value = no_number(machine, node.value) or value
    if isinstance(value, dict) and isinstance(node.slice, ast.Attribute):
        _assume_key(machine, value, node.slice, scope)
    return subscript(machine, value, machine.value(node.slice, scope))


def _assume_key(machine: Interpreter, table: Any, place: ast.Attribute, scope: Scope) -> None:
    """Takes the first key of a table for a setting that is not given: ``layers[config.kind]``."""
    settings = machine.value(place.value, scope)
    if isinstance(settings, AssumedSettings) and place.attr not in settings.own:
        first = next(iter(table), None)
        if isinstance(first, str | int):
            settings.own[place.attr] = first


WITH_ITEMS = (
    *(list, tuple, dict, str, range, Tensor, NamedResults, ExternalModule),
    *(nn.Sequential, nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict),
)


def subscript(machine: Interpreter, value: Any, place: Any) -> Any:
    """Returns ``value[place]``."""
    if isinstance(value, UnknownValue):
        return value
    if (own := member(machine, value, "__getitem__")) is not None:
        return own(place)
    if isinstance(value, AssumedSettings) and isinstance(place, str):
        return assumed_setting(machine, value, place)
    if isinstance(place, str) and any(value is one for one in machine.box_results):
        return value  # one of several results, each of which is assumed to be like the input
    if not isinstance(value, WITH_ITEMS):
        raise machine.refuse(f"{kind_name(value)} has no items")
    return machine.attempt(lambda: value[place])


def _slice(machine: Interpreter, node: ast.Slice, scope: Scope) -> Any:
    ends = (node.lower, node.upper, node.step)
    return slice(*(None if end is None else machine.value(end, scope) for end in ends))


def _binary(machine: Interpreter, node: ast.BinOp, scope: Scope) -> Any:
    left, right = machine.value(node.left, scope), machine.value(node.right, scope)
    return binary_result(machine, node.op, left, right)


def _unary(machine: Interpreter, node: ast.UnaryOp, scope: Scope) -> Any:
    value = machine.value(node.operand, scope)
    if isinstance(node.op, ast.Not):
        return not truth(machine, value)
    if isinstance(value, UnknownValue):
        return value
    if not isinstance(value, bool | int | float | Tensor):
        raise machine.refuse(f"{kind_name(value)} has no sign", "a number")
    return machine.attempt(UNARY[type(node.op)], value)


def _either(machine: Interpreter, node: ast.BoolOp, scope: Scope) -> Any:
    """Reads ``and`` and ``or``."""
    value: Any = None
    for part in node.values:
        value = machine.value(part, scope)
        if part is not node.values[-1] and truth(machine, value) is isinstance(node.op, ast.Or):
            break
    return value


def _compare(machine: Interpreter, node: ast.Compare, scope: Scope) -> Any:
    left: Any = machine.value(node.left, scope)
    found: Any = True
    for i, (kind, part) in enumerate(zip(node.ops, node.comparators, strict=True)):
        right = machine.value(part, scope)
        found = comparison_result(machine, kind, left, right)
        if i + 1 < len(node.ops) and not truth(machine, found):
            break
        left = right
    return found


def _choice(machine: Interpreter, node: ast.IfExp, scope: Scope) -> Any:
    chosen = node.body if condition(machine, node.test, scope) else node.orelse
    return machine.value(chosen, scope)


def condition(machine: Interpreter, node: ast.expr, scope: Scope) -> bool:
    """Returns whether a condition holds; an error is told at it."""
    for part in _truth_attributes(node):
        settings = machine.value(part.value, scope)
        if isinstance(settings, AssumedSettings) and usual_value(part.attr) is NO_USUAL_VALUE:
            settings.own.setdefault(part.attr, False)
    value = machine.value(node, scope)
    machine.node = node
    return truth(machine, value)


def _truth_attributes(node: ast.expr) -> Iterator[ast.Attribute]:
    """Yields the attributes of names whose truth a condition asks for."""
    if isinstance(node, ast.UnaryOp):
        yield from _truth_attributes(node.operand)
    elif isinstance(node, ast.BoolOp):
        for part in node.values:
            yield from _truth_attributes(part)
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name | ast.Attribute):
        yield node


def _f_string(machine: Interpreter, node: ast.JoinedStr, scope: Scope) -> Any:
    return machine.checked_size("".join(machine.value(part, scope) for part in node.values))


def _formatted_value(machine: Interpreter, node: ast.FormattedValue, scope: Scope) -> Any:
    spec = machine.value(node.format_spec, scope) if node.format_spec else ""
    exact = node.conversion in (ord("r"), ord("a"))
    return f_string_text(machine, machine.value(node.value, scope), spec, exact)


def _walrus(machine: Interpreter, node: ast.NamedExpr, scope: Scope) -> Any:
    value = machine.value(node.value, scope)
    scope.home(node.target.id).names[node.target.id] = value
    return value


def _lambda(machine: Interpreter, node: ast.Lambda, scope: Scope) -> Any:
    return lambda_value(machine, node, scope)


# comprehensions -----------------------------------------------------------------------------------


def _iteration_scopes(
    machine: Interpreter, node: Any, scope: Scope, parts: list[ast.comprehension]
) -> Iterator[Scope]:
    """Yields the scope for each iteration of a comprehension."""
    if not parts:
        yield scope
        return
    part, *rest = parts
    for item in machine.items(machine.value(part.iter, scope)):
        machine.step(node)
        assign(machine, part.target, item, scope)
        if all(truth(machine, machine.value(test, scope)) for test in part.ifs):
            yield from _iteration_scopes(machine, node, scope, rest)


def _comprehension(make: Callable[[list[Any]], Any]) -> Callable[..., Any]:
    def read(machine: Interpreter, node: Any, scope: Scope) -> Any:
        if make is list and (numbers := number_list(machine, node, scope)) is not None:
            return machine.checked_size(numbers)
        inner = Scope(scope, function=scope.function)
        turns = _iteration_scopes(machine, node, inner, node.generators)
        return make(machine.checked_size([machine.value(node.elt, each) for each in turns]))

    return read


def _dict_comprehension(machine: Interpreter, node: ast.DictComp, scope: Scope) -> Any:
    found: dict[Any, Any] = {}
    inner = Scope(scope, function=scope.function)
    for each in _iteration_scopes(machine, node, inner, node.generators):
        key = machine.value(node.key, each)
        machine.attempt(found.__setitem__, key, machine.value(node.value, each))
    return machine.checked_size(found)


# assignments --------------------------------------------------------------------------------------


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
    if any(value is one for one in machine.box_results):
        value = several_results(machine, value, len(parts))
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


EXPRESSIONS: dict[type[ast.AST], Any] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Tuple: _tuple,
    ast.List: _list,
    ast.Set: _set,
    ast.Dict: _dict,
    ast.Attribute: _attribute,
    ast.Call: _call,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _either,
    ast.Compare: _compare,
    ast.IfExp: _choice,
    ast.JoinedStr: _f_string,
    ast.FormattedValue: _formatted_value,
    ast.NamedExpr: _walrus,
    ast.Lambda: _lambda,
    ast.ListComp: _comprehension(list),
    ast.SetComp: _comprehension(set),
    ast.GeneratorExp: _comprehension(iter),
    ast.DictComp: _dict_comprehension,
}
