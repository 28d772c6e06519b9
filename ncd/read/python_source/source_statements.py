"""Statements and definitions, one function for each kind of syntax node."""

from __future__ import annotations

import ast
from typing import Any

from torch import Tensor, nn

from ncd.errors import short_repr
from ncd.read.python_source.attributes import member, other_base, set_attribute
from ncd.read.python_source.functions_and_classes import (
    ERRORS,
    LoopExit,
    ReturnSignal,
    call,
    class_value,
    function_value,
)
from ncd.read.python_source.interpreter import (
    BoundFunction,
    BuiltinFunction,
    ClassValue,
    DecoratedFunction,
    Interpreter,
    Scope,
    SourceException,
    SourceFunction,
    SourceModule,
    UnknownValue,
    UnknownValueError,
    error_at,
)
from ncd.read.python_source.libraries import imported_library, imported_name
from ncd.read.python_source.other_files import ExternalModule
from ncd.read.python_source.source_expressions import assign, condition, subscript
from ncd.read.python_source.source_operators import (
    NumbersUnknown,
    binary_result,
    is_placeholder,
    kind_name,
    unknown_result,
)

# --- Reads definitions of functions and classes, with their decorators, and imports


DECORATORS = {  # of methods, with what they make of one
    **{name: name for name in ("property", "staticmethod", "classmethod")},
    **dict.fromkeys(("cached_property", "functools.cached_property"), "property"),
    **dict.fromkeys(("torch.jit.unused_property", "abc.abstractproperty"), "property"),
}


def definition(machine: Interpreter, node: ast.FunctionDef, scope: Scope) -> None:
    made: Any = function_value(machine, node, scope)
    scope.home(node.name).names[node.name] = _apply_decorators(machine, node, made, scope)


def class_definition(machine: Interpreter, node: ast.ClassDef, scope: Scope) -> None:
    machine.nesting_depth, before = 0, machine.nesting_depth
    try:
        made: Any = class_value(machine, node, scope)
    finally:
        machine.nesting_depth = before
    scope.home(node.name).names[node.name] = made
    if any(isinstance(x, BuiltinFunction) and x.name == "NamedTuple" for x in made.bases):
        defaults = [made.names[name] for name in made.annotated_names if name in made.names]
        make = machine.libraries["collections"].names["namedtuple"]
        made = call(machine, make, (made.name, made.annotated_names, defaults), {}, scope)
    made = _apply_decorators(machine, node, made, scope)
    scope.home(node.name).names[node.name] = made


def _apply_decorators(machine: Interpreter, node: Any, made: Any, scope: Scope) -> Any:
    """Applies the decorators of a function or class; unknown ones have no effect."""
    for decorator in reversed(node.decorator_list):
        if (kind := DECORATORS.get(ast.unparse(decorator))) is not None:
            made = DecoratedFunction(kind, made)
            continue
        if isinstance(decorator, ast.Attribute) and decorator.attr == "setter":
            read = machine.value(decorator.value, scope)
            if isinstance(read, DecoratedFunction):
                made = DecoratedFunction(read.kind, read.function, made)
            continue
        with_this = machine.value(decorator, scope)
        if isinstance(with_this, UnknownValue):
            continue
        made = call(machine, with_this, (made,), {}, scope)
        if made is None or not isinstance(
            made, SourceFunction | ClassValue | DecoratedFunction | BoundFunction | UnknownValue
        ):
            raise machine.refuse("this decorator gives neither a function nor a class")
    return made


def import_(machine: Interpreter, node: ast.Import, scope: Scope) -> None:
    for one in node.names:
        name, value = imported_library(machine, one.name, one.asname)
        scope.names[name] = value


def import_from(machine: Interpreter, node: ast.ImportFrom, scope: Scope) -> None:
    for one in node.names:
        path = "." * node.level + (node.module or "")
        listed = path.partition(".")[0] in machine.libraries
        for name, value in imported_name(machine, path, one.name, one.asname).items():
            ours = isinstance(scope.names.get(name), ClassValue | SourceFunction) and not listed
            if name not in scope.names or not (ours or isinstance(value, UnknownValue)):
                scope.names[name] = value  # files that are pasted one after the other


# --- Reads statements, with one function for each kind of syntax node

ARRAYS = 4  # of a line whose shapes are noted


def _expression(machine: Interpreter, node: ast.Expr, scope: Scope) -> None:
    if isinstance(node.value, ast.Constant):
        return  # a docstring, or an ellipsis
    if isinstance(node.value, ast.Yield | ast.YieldFrom):
        _yield(machine, node.value, scope)
        return
    value = machine.value(node.value, scope)
    if isinstance(value, nn.Module) and not machine.strict:
        machine.last_value_module, machine.last_value = value, node
    elif isinstance(value, UnknownValue):
        machine.unknown_line = error_at(node, value.reason)


def _yield(machine: Interpreter, node: ast.Yield | ast.YieldFrom, scope: Scope) -> None:
    """Stores a value that a generator yields."""
    home: Scope | None = scope
    while home is not None and "yield" not in home.names:
        home = home.outer
    if home is None:
        raise machine.refuse("yield stands outside of a function")
    value = machine.value(node.value, scope) if node.value else None
    home.names["yield"] += machine.items(value) if isinstance(node, ast.YieldFrom) else [value]
    machine.checked_size(home.names["yield"])


def _assignment(machine: Interpreter, node: ast.Assign, scope: Scope) -> None:
    value = _note_shapes(machine, node, machine.value(node.value, scope))
    for target in node.targets:
        assign(machine, target, value, scope)


def _annotated_assignment(machine: Interpreter, node: ast.AnnAssign, scope: Scope) -> None:
    if node.value is not None:
        assign(machine, node.target, machine.value(node.value, scope), scope)


def _augmented_assignment(machine: Interpreter, node: ast.AugAssign, scope: Scope) -> None:
    """Reads ``x += 1``; a list or tensor changes in place."""
    target = node.target
    right = machine.value(node.value, scope)
    old = machine.value(_load_node(target), scope)
    value = binary_result(machine, node.op, old, right, in_place=True)
    assign(machine, target, _note_shapes(machine, node, value), scope)


def _load_node(target: Any) -> ast.expr:
    kinds = {ast.Name: ("id",), ast.Attribute: ("value", "attr"), ast.Subscript: ("value", "slice")}
    given = [getattr(target, name) for name in kinds[type(target)]]
    return ast.copy_location(type(target)(*given, ast.Load()), target)


def _set_attribute(machine: Interpreter, given: Any, scope: Scope) -> None:
    """Assigns to ``a.b``."""
    target, value = given
    machine.node = target
    set_attribute(machine, machine.value(target.value, scope), target.attr, value)


def _set_item(machine: Interpreter, given: Any, scope: Scope) -> None:
    """Assigns to ``a[b]``."""
    target, value = given
    machine.node = target
    held, place = machine.value(target.value, scope), machine.value(target.slice, scope)
    for one in (held, value):
        if isinstance(one, UnknownValue):
            unknown_result(machine, one)
            return
    if isinstance(held, Tensor) and is_placeholder(held) and not machine.tracing:
        return  # the numbers of weights do not matter
    if (own := member(machine, held, "__setitem__")) is not None:
        own(place, value)
        return
    kinds = (list, dict, Tensor, nn.ModuleList, nn.ModuleDict, nn.Sequential, nn.ParameterDict)
    if not isinstance(held, kinds):
        raise machine.refuse(f"an item of {kind_name(held)} cannot be set", "a list or a dict")
    machine.attempt(held.__setitem__, place, value)
    machine.checked_size(held)


def _return(machine: Interpreter, node: ast.Return, scope: Scope) -> None:
    value = None if node.value is None else machine.value(node.value, scope)
    raise ReturnSignal(_note_shapes(machine, node, value))


def _note_shapes(machine: Interpreter, node: ast.stmt, value: Any) -> Any:
    """Notes the shapes of the arrays that a line makes while a module runs; returns the value."""
    parts = value if isinstance(value, tuple | list) else (value,)
    if machine.tracing and len(parts) <= ARRAYS:
        shapes = tuple(tuple(x.shape) for x in parts if isinstance(x, Tensor))
        plain = all(type(n) is int for shape in shapes for n in shape)
        if shapes and plain and len(shapes) == len(parts):
            machine.line_shapes[node.lineno] = shapes
    return value


def _if(machine: Interpreter, node: ast.If, scope: Scope) -> None:
    chosen = node.body if condition(machine, node.test, scope) else node.orelse
    machine.run(chosen, scope)


def _for_loop(machine: Interpreter, node: ast.For, scope: Scope) -> None:
    for item in machine.items(machine.value(node.iter, scope)):
        assign(machine, node.target, item, scope)
        try:
            machine.run(node.body, scope)
        except LoopExit as left:
            if left.loop:
                return
    machine.run(node.orelse, scope)


def _while(machine: Interpreter, node: ast.While, scope: Scope) -> None:
    while condition(machine, node.test, scope):
        try:
            machine.run(node.body, scope)
        except LoopExit as left:
            if left.loop:
                return
    machine.run(node.orelse, scope)


def _break(machine: Interpreter, node: ast.Break, scope: Scope) -> None:
    raise LoopExit(loop=True)


def _continue(machine: Interpreter, node: ast.Continue, scope: Scope) -> None:
    raise LoopExit(loop=False)


def _pass(machine: Interpreter, node: ast.AST, scope: Scope) -> None:
    pass


def _assert(machine: Interpreter, node: ast.Assert, scope: Scope) -> None:
    before, machine.assumed_values = machine.assumed_values, {}
    try:
        holds = condition(machine, node.test, scope) or bool(machine.assumed_values)
    except (UnknownValueError, NumbersUnknown):
        holds = True  # as a right source has it
    finally:
        machine.assumed_values = before
    if not holds and not (
        _assume_asserted(machine, node.test) or _asks_of_box(machine, node.test, scope)
    ):
        words = machine.value(node.msg, scope) if node.msg else ast.unparse(node.test)
        words = words if isinstance(words, str) else ast.unparse(node.test)
        raise machine.source_error(AssertionError(short_repr(words).strip("'\"")), node)


def _assume_asserted(machine: Interpreter, test: ast.expr) -> bool:
    """Takes a setting for true that is asserted and was assumed to be false.

    Returns whether the test is one.
    """
    owner = ast.unparse(test.value) if isinstance(test, ast.Attribute) else ""
    settings = machine.assumed_settings.get(owner, {})
    if not isinstance(test, ast.Attribute) or settings.get(test.attr) is not False:
        return False
    settings[test.attr] = True
    return True


def _asks_of_box(machine: Interpreter, test: ast.expr, scope: Scope) -> bool:
    """Returns whether a test asks for the class of a box, which is not known."""
    calls = (one for one in ast.walk(test) if isinstance(one, ast.Call) and one.args)
    asked = [one.args[0] for one in calls if ast.unparse(one.func) == "isinstance"]
    plain = (one for one in asked if isinstance(one, ast.Name | ast.Attribute))
    return any(isinstance(machine.value(one, scope), ExternalModule) for one in plain)


def _raise(machine: Interpreter, node: ast.Raise, scope: Scope) -> None:
    begin = machine.steps
    error = machine.value(node.exc, scope) if node.exc else RuntimeError("raised again")
    machine.raising_steps += machine.steps - begin
    if isinstance(error, type) and error in ERRORS:
        error = error()
    if not isinstance(error, Exception):
        error = RuntimeError(f"{kind_name(error)} is raised")
    raise machine.source_error(error, node)


def _try(machine: Interpreter, node: ast.Try, scope: Scope) -> None:
    before, machine.optional = machine.optional, any(map(_expects_none, node.handlers))
    try:
        machine.run(node.body, scope)
    except SourceException as raised:
        machine.optional = before
        handler = next(
            (one for one in node.handlers if _catches(machine, one, raised, scope)), None
        )
        if handler is None:
            raise
        machine.failure = None
        if handler.name:
            scope.names[handler.name] = raised.error
        machine.run(handler.body, scope)
    else:
        machine.run(node.orelse, scope)
    finally:
        machine.optional = before
        machine.run(node.finalbody, scope)


def _expects_none(handler: ast.ExceptHandler) -> bool:
    """Returns whether an exception handler does without a missing library."""
    if any(isinstance(one, ast.Raise) for one in handler.body):
        return False
    words = "Exception" if handler.type is None else ast.unparse(handler.type)
    return any(name in words for name in ("ImportError", "ModuleNotFoundError", "Exception"))


def _catches(
    machine: Interpreter, handler: ast.ExceptHandler, raised: SourceException, scope: Scope
) -> bool:
    kinds = (Exception,) if handler.type is None else machine.value(handler.type, scope)
    every = kinds if isinstance(kinds, tuple) else (kinds,)
    return isinstance(raised.error, tuple(one for one in every if isinstance(one, type)))


def _with_block(machine: Interpreter, node: ast.With, scope: Scope) -> None:
    for item in node.items:
        value = machine.value(item.context_expr, scope)
        if item.optional_vars is not None:
            assign(machine, item.optional_vars, value, scope)
    machine.run(node.body, scope)


def _delete(machine: Interpreter, node: ast.Delete, scope: Scope) -> None:
    for target in node.targets:
        if isinstance(target, ast.Name):
            scope.home(target.id).names.pop(target.id, None)
        elif isinstance(target, ast.Attribute):
            if (held := _module(machine, target, scope)) is not None:
                machine.attempt(delattr, held, target.attr)
        elif isinstance(target, ast.Subscript):
            held = machine.value(target.value, scope)
            subscript(machine, held, place := machine.value(target.slice, scope))
            machine.attempt(held.__delitem__, place)


def _module(machine: Interpreter, target: ast.Attribute, scope: Scope) -> nn.Module | None:
    """Returns the module of which a part is deleted; None if its class in another file has it."""
    held = machine.value(target.value, scope)
    if isinstance(held, UnknownValue | ExternalModule):
        return None
    parts = {**held._modules, **held._parameters} if isinstance(held, nn.Module) else {}
    if isinstance(held, SourceModule) and target.attr not in parts and other_base(machine, held):
        return None
    if not isinstance(held, nn.Module) or target.attr not in parts:
        raise machine.refuse(f"{target.attr} cannot be deleted", "a part of a module")
    return held


def _global(machine: Interpreter, node: ast.Global, scope: Scope) -> None:
    scope.declared_scopes.update(dict.fromkeys(node.names, scope.top))


def _nonlocal(machine: Interpreter, node: ast.Nonlocal, scope: Scope) -> None:
    for name in node.names:
        outer = scope.outer
        while outer is not None and name not in outer.names:
            outer = outer.outer
        scope.declared_scopes[name] = outer or scope


STATEMENTS: dict[type[ast.AST], Any] = {
    ast.Expr: _expression,
    ast.Assign: _assignment,
    ast.AnnAssign: _annotated_assignment,
    ast.AugAssign: _augmented_assignment,
    ast.Attribute: _set_attribute,  # as targets
    ast.Subscript: _set_item,
    ast.Return: _return,
    ast.If: _if,
    ast.For: _for_loop,
    ast.While: _while,
    ast.Break: _break,
    ast.Continue: _continue,
    ast.Pass: _pass,
    ast.Assert: _assert,
    ast.Raise: _raise,
    ast.Try: _try,
    ast.With: _with_block,
    ast.Delete: _delete,
    ast.Global: _global,
    ast.Nonlocal: _nonlocal,
    ast.FunctionDef: definition,
    ast.ClassDef: class_definition,
    ast.Import: import_,
    ast.ImportFrom: import_from,
}
